"""Jobs that wait for other jobs, and jobs that belong together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import GroupHandle, Holdfast, InvalidInput, JobCancelled, JobHandle, NotFound, Retry, StateName, Task
from holdfast.core.messages.jobs import Cancelling
from holdfast.core.values.group import GroupStatus
from holdfast.testing import ManualClock
from tests.client.acts import WAIT, Crowd, Gate

DONE, FAILED, CANCELLED = StateName.DONE, StateName.FAILED, StateName.CANCELLED


class Diary:
    """A task that writes down that it ran, and fails where it is told to."""

    def __init__(self, hf: Holdfast, **options: Any) -> None:
        self.lines: list[str] = []
        self.task: Task[..., str] = hf.task(name="write", **options)(self._write)

    def _write(self, line: str, fail: bool = False) -> str:
        self.lines.append(line)
        if fail:
            raise ValueError(line)
        return line


@pytest.fixture
def diary(hf: Holdfast) -> Diary:
    return Diary(hf)


def states(handles: list[JobHandle[str]]) -> list[StateName]:
    return [handle.state for handle in handles]


def test_a_job_runs_after_the_ones_it_waits_for(hf: Holdfast, diary: Diary) -> None:
    one, two = diary.task.options(priority=-1).enqueue("one"), diary.task.options(priority=-2).enqueue("two")
    last = diary.task.options(after=[one, two.id]).enqueue("last")
    assert last.state is StateName.SCHEDULED
    assert hf.drain() == 3
    assert diary.lines[-1] == "last"


def test_after_an_ended_job_there_is_nothing_to_wait_for(hf: Holdfast, diary: Diary) -> None:
    one = diary.task.enqueue("one")
    hf.drain()
    assert diary.task.options(after=one).enqueue("two").state is StateName.QUEUED


def test_a_job_is_cancelled_when_the_one_it_waits_for_fails(hf: Holdfast, diary: Diary) -> None:
    one = diary.task.enqueue("one", fail=True)
    two = diary.task.options(after=one).enqueue("two")
    three = diary.task.options(after=two).enqueue("three")
    hf.drain()
    assert states([one, two, three]) == [FAILED, CANCELLED, CANCELLED]
    with pytest.raises(JobCancelled, match=f"predecessor {one.id} ended as FAILED"):
        two.result()
    late = diary.task.options(after=one).enqueue("late")
    assert late.state is CANCELLED


def test_a_job_may_wait_for_the_end_whatever_it_is(hf: Holdfast, diary: Diary) -> None:
    failing, cancelled = diary.task.enqueue("fails", fail=True), diary.task.enqueue("cancelled")
    cleanup = diary.task.options(after_ended=[failing, cancelled]).enqueue("cleanup")
    cancelled.cancel()
    hf.drain()
    assert (cleanup.state, diary.lines) == (DONE, ["fails", "cleanup"])


def test_a_job_waits_for_the_last_link_of_a_chain(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    tries: list[int] = []

    @hf.task(retry=Retry(1, mode="chain"))
    def flaky() -> None:
        tries.append(len(tries))
        if len(tries) == 1:
            raise ConnectionError

    first = flaky.enqueue()
    follower = Diary(hf).task.options(after=first).enqueue("follower")
    hf.drain()
    assert follower.state is StateName.SCHEDULED
    clock.advance(60)
    hf.drain()
    assert follower.state is DONE


def test_a_delay_and_a_predecessor_are_both_waited_for(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)
    diary = Diary(hf)
    first = diary.task.enqueue("first")
    both = diary.task.options(after=first, delay=60).enqueue("both")
    hf.drain()
    assert both.state is StateName.SCHEDULED
    clock.advance(60)
    hf.drain()
    assert both.state is DONE


def test_a_parallel_group_runs_together_and_is_judged_as_one(hf: Holdfast) -> None:
    gate = Gate()
    group = hf.create_group("release")

    @hf.task
    def member() -> None:
        gate.pass_through()

    with hf:
        handles = member.options(group=group).enqueue_many([{}] * 3)
        gate.await_arrival(3)
        assert group.view().status is GroupStatus.OPEN
        gate.open()
        for handle in handles:
            handle.wait(timeout=WAIT)
    view = hf.find_group(group.id).view()
    assert (view.status, view.group.name) == (GroupStatus.COMPLETED, "release")
    assert view.members == {handle.id: DONE for handle in handles}
    assert {job.id for job in hf.jobs(group=group).jobs} == view.members.keys()


def test_a_sequential_group_runs_one_after_the_other(hf: Holdfast) -> None:
    crowd, seen = Crowd(), []
    group = hf.create_group(mode="sequential")

    @hf.task
    def member(number: int) -> None:
        with crowd.inside():
            seen.append(number)

    with hf:
        joined = member.options(group=group)
        handles = [joined.options(priority=number).enqueue(number=number) for number in range(5)]
        assert handles[-1].wait(timeout=WAIT) is DONE
    assert (seen, crowd.most) == ([0, 1, 2, 3, 4], 1)


@pytest.mark.parametrize(
    ("on_failure", "ended", "status"),
    [
        ("stop", [FAILED, CANCELLED, CANCELLED], GroupStatus.CANCELLED),
        ("continue", [FAILED, DONE, DONE], GroupStatus.PARTIAL),
        ("skip", [FAILED, CANCELLED, DONE], GroupStatus.PARTIAL),
    ],
)
def test_a_failed_member_means_what_the_group_says(
    hf: Holdfast, diary: Diary, on_failure: str, ended: list[StateName], status: GroupStatus
) -> None:
    group = hf.create_group(mode="sequential", on_failure=on_failure)
    joined = diary.task.options(group=group)
    handles = [joined.enqueue("one", fail=True), joined.enqueue("two"), joined.enqueue("three")]
    hf.drain()
    assert states(handles) == ended
    assert group.view().status is status


def test_a_group_is_cancelled_as_a_whole(hf: Holdfast, diary: Diary) -> None:
    group = hf.create_group(mode="sequential")
    handles = [diary.task.options(group=group).enqueue(str(number)) for number in range(3)]
    assert group.cancel() == Cancelling(cancelled=3)
    assert states(handles) == [CANCELLED] * 3
    assert (group.view().status, hf.drain()) == (GroupStatus.CANCELLED, 0)


def test_an_empty_group_is_complete(hf: Holdfast) -> None:
    assert hf.create_group().view().status is GroupStatus.COMPLETED


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "random"}, "mode 'random' is not valid: use one of 'parallel', 'sequential'"),
        ({"on_failure": "panic"}, "on_failure 'panic' is not valid: use one of 'stop', 'continue', 'skip'"),
        ({"name": "a\x00"}, "name .* is not valid"),
        ({"name": 5}, "name 5 is not valid"),
    ],
)
def test_a_wrong_group_is_refused(hf: Holdfast, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        hf.create_group(**settings)


def test_a_group_that_does_not_exist_is_said_to(hf: Holdfast) -> None:
    nowhere = GroupHandle(hf._access, "nowhere")
    for call in (lambda: hf.find_group("nowhere"), nowhere.view, nowhere.cancel, nowhere.retry, nowhere.wait):
        with pytest.raises(NotFound, match="there is no group 'nowhere'"):
            call()
    with pytest.raises(InvalidInput, match="5 is not a job or group"):
        hf.find_group(5)  # type: ignore[arg-type]


def test_the_twins_of_a_group(hf: Holdfast, diary: Diary) -> None:
    async def main() -> tuple[GroupStatus, Cancelling, GroupStatus]:
        group = await hf.acreate_group(mode="sequential")
        await diary.task.options(group=group).aenqueue("x")
        return (await group.aview()).status, await group.acancel(), (await group.aview()).status

    assert asyncio.run(main()) == (GroupStatus.OPEN, Cancelling(cancelled=1), GroupStatus.CANCELLED)
