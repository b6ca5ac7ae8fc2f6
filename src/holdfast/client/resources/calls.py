"""Calls: tasks with their arguments that are not enqueued yet, for groups and chains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import structs

from holdfast.core.errors import InvalidInput
from holdfast.core.jobs.requests import NewJob
from holdfast.core.rules import limits
from holdfast.core.values.filling import gaps
from holdfast.core.values.group import Dependency, GroupMode, Needs, OnFailure, check_count
from holdfast.store.engine import Engine, Ids

R = TypeVar("R")

MOST_DEPENDENCIES = 10_000  # in all: each job of a step waits for each of the step before


class Call(Generic[R]):
    """A task with its arguments and options. Nothing is stored before it is given to `hf.group` or `hf.chain`.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double.options(priority=5).call(x=21)
    <Call double>
    """

    def __init__(self, engine: Engine, job: NewJob) -> None:
        self.engine = engine
        self.job = job

    def __repr__(self) -> str:
        return f"<Call {self.job.task}>"


Step: TypeAlias = Call[Any] | Sequence[Call[Any]]


class GroupPlan(msgspec.Struct, frozen=True):
    """The jobs of a group, in their order, and the rules of the group."""

    mode: GroupMode
    jobs: list[NewJob]


def plan_group(engine: Engine, new_id: Ids, calls: Sequence[Call[Any]], mode: GroupMode, group_id: str) -> GroupPlan:
    """A group of calls, side by side or one after the other."""
    if not calls:
        raise InvalidInput("a group needs at least one call; hf.create_group() makes one that jobs join later")
    jobs = [_job(engine, new_id, call, group_id) for call in calls]
    _check(jobs, mode is GroupMode.SEQUENTIAL)
    return GroupPlan(mode, jobs)


def plan_chain(engine: Engine, new_id: Ids, steps: Sequence[Step], on_failure: OnFailure, group_id: str) -> GroupPlan:
    """A chain of calls. A list in it runs side by side. Then the jobs depend on each other without the group."""
    if all(isinstance(step, Call) for step in steps):
        return plan_group(engine, new_id, [step for step in steps if isinstance(step, Call)], _SEQUENCE, group_id)
    if on_failure is OnFailure.SKIP:
        raise InvalidInput("on_failure 'skip' leaves out one member: it needs a chain of single calls, without lists")
    needs = Needs.DONE if on_failure is OnFailure.STOP else Needs.ENDED
    jobs: list[NewJob] = []
    before: tuple[Dependency, ...] = ()
    dependencies = 0
    for step in steps:
        calls = [step] if isinstance(step, Call) else _calls(step)
        dependencies += len(calls) * len(before)
        if dependencies > MOST_DEPENDENCIES:
            raise InvalidInput(
                f"a step of {len(calls)} jobs behind one of {len(before)} is too much: each waits for each, and a "
                f"chain may have {MOST_DEPENDENCIES} such pairs; put a single call between the two steps"
            )
        side_by_side = [_job(engine, new_id, call, group_id, before) for call in calls]
        _check(side_by_side, is_chain=False)
        jobs += side_by_side
        before = tuple(Dependency(job.id, needs) for job in side_by_side)
    check_count(jobs)
    return GroupPlan(GroupMode.PARALLEL, jobs)


_SEQUENCE = GroupMode.SEQUENTIAL


def _calls(step: object) -> list[Call[Any]]:
    if not isinstance(step, list | tuple) or not step:
        raise InvalidInput(f"{limits.shown(step)} is not a step of a chain: give task.call(…), or a list of such calls")
    return list(step)


def _job(
    engine: Engine, new_id: Callable[[], str], call: object, group_id: str, after: tuple[Dependency, ...] = ()
) -> NewJob:
    if not isinstance(call, Call):
        raise InvalidInput(f"{limits.shown(call)} is not a call: give task.call(…), which is not enqueued yet")
    if call.engine is not engine:
        raise InvalidInput(f"{call!r} belongs to another database; a group is in one")
    if call.job.group_id is not None:
        raise InvalidInput(f"{call!r} has a group already; leave out options(group=…)")
    return structs.replace(call.job, id=new_id(), group_id=group_id, after=(*call.job.after, *after))


def _check(jobs: list[NewJob], is_chain: bool) -> None:
    check_count(jobs)
    for number, job in enumerate(jobs):
        if not job.after and not (is_chain and number):
            check_gaps(job)


def check_gaps(job: NewJob) -> None:
    """Refuse `PREVIOUS` in a job that comes after no other."""
    for name in gaps(job.payload):
        raise InvalidInput(
            f"argument {name!r} of task {job.task!r} is PREVIOUS, but no job comes before it; use it in a chain, or "
            "with options(after=…)"
        )
