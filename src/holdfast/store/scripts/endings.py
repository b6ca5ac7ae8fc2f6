"""What the end of a job means for those that wait for it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from holdfast.core.group import Needs, OnFailure, Turn, dependency_turn, next_turn
from holdfast.core.job import JobId, Millis, StateName
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

GROUP_RULE = "group"


class Dependent(Struct, frozen=True):
    """A job that waits for another one's end."""

    job_id: JobId
    key: str
    value: str
    on_failure: str


class Counted(Struct, frozen=True):
    """A job after one of its conditions came true."""

    state: str
    queue: str


def after_key(job_id: JobId) -> str:
    """The condition "after that job"."""
    return f"after:{job_id}"


def group_key(job_id: JobId) -> str:
    """The condition "next in the group, behind that job"."""
    return f"group:{job_id}"


def end_waiting(tx: Tx, job_id: JobId, state: StateName, reason: str, now: Millis) -> bool:
    """End a job that is not running, and tell whoever waits for it. False if it was not waiting any more."""
    if not tx.run(sql.end_waiting_job, job_id=job_id, state=state, reason=reason, now=now):
        return False
    announce_ended(tx, [(job_id, state)], now)
    return True


def announce_ended(tx: Tx, ended: Iterable[tuple[JobId, StateName]], now: Millis) -> None:
    """Start or cancel what waited for these jobs, and what waited for those in turn."""
    todo = list(ended)
    tx.changes.ended.update(job_id for job_id, _ in todo)
    if not tx.value(sql.any_open_condition):
        return
    while todo:
        job_id, state = todo.pop()
        keys = {"after_key": after_key(job_id), "group_key": group_key(job_id)}
        for dependent in tx.all(sql.dependents, Dependent, **keys):
            todo += _take_turn(tx, dependent, state, now)


def _take_turn(tx: Tx, dependent: Dependent, predecessor: StateName, now: Millis) -> list[tuple[JobId, StateName]]:
    if dependent.value == GROUP_RULE:
        turn = next_turn(OnFailure(dependent.on_failure), predecessor)
    else:
        turn = dependency_turn(Needs(dependent.value), predecessor)
    if turn is Turn.START:
        satisfy(tx, dependent.job_id, dependent.key, now)
        return []
    reason = f"predecessor {dependent.key.partition(':')[2]} ended as {predecessor}"
    ended = tx.run(sql.end_waiting_job, job_id=dependent.job_id, state=StateName.CANCELLED, reason=reason, now=now)
    if not ended:
        return []
    tx.changes.ended.add(dependent.job_id)
    # `skip` leaves out one member only: for those behind it, it counts as done.
    passed_on = StateName.DONE if turn is Turn.CANCEL and dependent.value == GROUP_RULE else StateName.CANCELLED
    return [(dependent.job_id, passed_on)]


def satisfy(tx: Tx, job_id: JobId, key: str, now: Millis) -> None:
    """One condition of a job has come true."""
    tx.run(sql.satisfy_condition, job_id=job_id, key=key, now=now)
    counted = tx.one(sql.count_down_conditions, Counted, job_id=job_id, now=now)
    if counted is not None and counted.state == StateName.QUEUED:
        tx.changes.ready.add(counted.queue)
    tx.changes.due = True
