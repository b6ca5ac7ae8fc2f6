"""What `holdfast.testing` gives to users for their own tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast import Context, Holdfast, InvalidInput, JobFailed, Retry, StateName, Task
from holdfast.testing import ManualClock, assert_emitted, assert_enqueued, assert_not_enqueued, drain, inline
from tests.client.acts import WAIT

START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def hf(make_holdfast: Callable[..., Holdfast], clock: ManualClock) -> Holdfast:
    return make_holdfast(clock=clock)


@pytest.fixture
def double(hf: Holdfast) -> Task[..., int]:
    @hf.task(retry=1)
    def double(x: int) -> int:
        if x < 0:
            raise ValueError(x)
        return 2 * x

    return double


def test_inline_runs_each_job_before_its_enqueue_returns(hf: Holdfast, double: Task[..., int]) -> None:
    with inline(hf) as same:
        assert same is hf
        one = double.enqueue(x=1)
        assert one.state is StateName.DONE
        many = double.enqueue_many([{"x": 2}, {"x": 3}])
        assert [handle.result(timeout=0) for handle in (one, *many)] == [2, 4, 6]
        assert one.retry().state is StateName.DONE
    assert double.enqueue(x=4).state is StateName.QUEUED


def test_inline_runs_what_a_task_enqueues_too(hf: Holdfast, double: Task[..., int]) -> None:
    @hf.task
    def parent(ctx: Context) -> list[str]:
        return [double.enqueue(x=1).id, ctx.enqueue(double, x=2).id]

    @hf.task
    async def aparent(ctx: Context) -> list[str]:
        return [(await double.aenqueue(x=3)).id, (await ctx.aenqueue(double, x=4)).id]

    with inline(hf):
        children = [*parent.enqueue().result(timeout=0), *aparent.enqueue().result(timeout=0)]
    assert [hf.job(child).result(timeout=0) for child in children] == [2, 4, 6, 8]


def test_a_task_can_wait_for_its_child_inline(hf: Holdfast, double: Task[..., int]) -> None:
    @hf.task
    def parent() -> int:
        return double.enqueue(x=21).result(timeout=WAIT)

    @hf.task
    async def aparent() -> int:
        return await (await double.aenqueue(x=21))

    with inline(hf):
        assert parent.enqueue().result(timeout=0) == 42
        assert aparent.enqueue().result(timeout=0) == 42


def test_inline_works_inside_an_event_loop(hf: Holdfast, double: Task[..., int]) -> None:
    async def main() -> list[int]:
        with inline(hf):
            return [double.enqueue(x=1).result(timeout=0), await (await double.aenqueue(x=2)).aresult(timeout=0)]

    assert asyncio.run(main()) == [2, 4]


def test_inline_forgets_nobody_who_enqueues_from_other_threads(hf: Holdfast, double: Task[..., int]) -> None:
    with inline(hf), ThreadPoolExecutor(8) as threads:
        handles = list(threads.map(lambda number: double.enqueue(x=number), range(40)))
        assert [handle.result(timeout=WAIT) for handle in handles] == [2 * number for number in range(40)]


def test_inline_leaves_a_holdfast_that_runs_to_itself(hf: Holdfast, double: Task[..., int]) -> None:
    with hf, inline(hf):
        assert double.enqueue(x=1).result(timeout=WAIT) == 2


def test_inline_ends_when_the_test_fails(hf: Holdfast, double: Task[..., int]) -> None:
    with pytest.raises(ZeroDivisionError), inline(hf):
        raise ZeroDivisionError
    assert double.enqueue(x=1).state is StateName.QUEUED


def test_a_retry_inline_waits_for_the_clock(hf: Holdfast, double: Task[..., int], clock: ManualClock) -> None:
    with inline(hf):
        handle = double.enqueue(x=-1)
        assert handle.state is StateName.SCHEDULED
        clock.advance(60)
        assert drain(hf) == 1
        with pytest.raises(JobFailed):
            handle.result(timeout=0)


def test_drain_runs_what_is_ready_by_the_clock_and_counts_it(
    hf: Holdfast, double: Task[..., int], clock: ManualClock
) -> None:
    double.enqueue_many([{"x": 1}, {"x": 2}, {"x": 3}])
    double.options(delay=10).enqueue(x=4)
    double.options(at=START + timedelta(minutes=1)).enqueue(x=5)
    assert drain(hf) == 3
    assert drain(hf) == 0
    clock.advance(timedelta(seconds=10))
    assert drain(hf) == 1
    clock.advance(49.999)
    assert drain(hf) == 0
    clock.advance(0.001)
    assert drain(hf) == 1


def test_drain_counts_every_run_and_not_every_job(hf: Holdfast) -> None:
    @hf.task(retry=Retry(3, initial=0))
    def flaky(ctx: Context) -> int:
        if ctx.attempt < 3:
            raise ConnectionError
        return ctx.attempt

    handle = flaky.enqueue()
    assert drain(hf) == 3
    assert handle.result(timeout=0) == 3


def test_drain_lets_what_waited_too_long_expire(hf: Holdfast, double: Task[..., int], clock: ManualClock) -> None:
    skipped = double.options(ttl=5).enqueue(x=1)
    overdue = double.options(deadline=START + timedelta(seconds=5)).enqueue(x=1)
    clock.advance(5)
    assert drain(hf) == 0
    assert (skipped.state, overdue.state) == (StateName.SKIPPED_TTL, StateName.SKIPPED_DEADLINE)


def test_a_clock_that_is_moved_wakes_what_runs(hf: Holdfast, double: Task[..., int], clock: ManualClock) -> None:
    with hf:
        handle = double.options(delay=timedelta(days=365)).enqueue(x=21)
        clock.advance(timedelta(days=365))
        assert handle.result(timeout=WAIT) == 42
    assert handle.job.created_at == START.timestamp() * 1000


def test_time_does_not_pass_backwards_but_a_clock_can_be_set(clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="time cannot pass backwards"):
        clock.advance(-1)
    clock.step(-3_600)
    assert (clock.now() - START.timestamp() * 1000, clock.monotonic()) == (-3_600_000, 0.0)


@pytest.mark.parametrize("clock", [ManualClock, 5, "now"])
def test_what_is_no_clock_is_refused(make_holdfast: Callable[..., Holdfast], clock: Any) -> None:
    with pytest.raises(InvalidInput, match=r"is not a clock: give an object like ManualClock\(\)"):
        make_holdfast(clock=clock)


def test_assert_enqueued_finds_jobs_by_task_and_arguments(hf: Holdfast, double: Task[..., int]) -> None:
    handles = double.enqueue_many([{"x": 1}, {"x": 1}, {"x": 2}])
    drain(hf)
    assert [job.id for job in assert_enqueued(hf, double, x=2)] == [handles[2].id]
    assert len(assert_enqueued(hf, "double")) == 3
    assert len(assert_enqueued(hf, double, count=2, x=1)) == 2
    assert len(assert_enqueued(hf, double.options(delay=1))) == 3
    assert_not_enqueued(hf, double, x=3)
    assert_not_enqueued(hf, "another")


def test_assert_enqueued_looks_beyond_the_first_page(hf: Holdfast, double: Task[..., int]) -> None:
    double.enqueue_many({"x": number} for number in range(1_001))
    assert_enqueued(hf, double, x=0)
    assert_enqueued(hf, double, count=1_001)


def test_assert_enqueued_compares_values_as_they_are_stored(hf: Holdfast) -> None:
    @hf.task
    def remind(when: datetime, task: str, tags: list[str]) -> None: ...

    remind.enqueue(when=START, task="call", tags=["a"])
    assert_enqueued(hf, remind, when=START, task="call", tags=["a"])
    assert_not_enqueued(hf, remind, when=START + timedelta(seconds=1))


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (
            lambda hf, task: assert_enqueued(hf, task, x=5),
            'expected a job of task \'double\' with x=5, found 0; its jobs are:\n  double {"x":2}\n  double {"x":1}',
        ),
        (
            lambda hf, task: assert_enqueued(hf, task, count=2, x=1),
            'expected 2 jobs of task \'double\' with x=1, found 1; its jobs are:\n  double {"x":2}\n  double {"x":1}',
        ),
        (
            lambda hf, task: assert_not_enqueued(hf, task, x=1),
            'expected no job of task \'double\' with x=1, found 1; its jobs are:\n  double {"x":2}\n  double {"x":1}',
        ),
        (
            lambda hf, task: assert_enqueued(hf, "another", count=1),
            "expected 1 job of task 'another', found 0; its jobs are: none",
        ),
    ],
)
def test_a_failed_assertion_says_what_is_there(
    hf: Holdfast, double: Task[..., int], check: Callable[..., object], message: str
) -> None:
    double.enqueue_many([{"x": 1}, {"x": 2}])
    with pytest.raises(AssertionError) as raised:
        check(hf, double)
    assert str(raised.value) == message


def test_an_event_that_was_emitted_is_found_and_another_is_told_apart(hf: Holdfast) -> None:
    hf.emit("order:packed", order=7, by="ada")
    hf.emit("order:packed", order=8)
    assert [event.attributes["order"] for event in assert_emitted(hf, "order:*", count=2)] == ["8", "7"]
    assert_emitted(hf, "order:packed", count=1, order=7)
    with pytest.raises(AssertionError, match="expected an event 'order:sent', found 0; these were emitted: none"):
        assert_emitted(hf, "order:sent")
    with pytest.raises(AssertionError, match=r"expected 1 events 'order:\*' with order='9', found 0"):
        assert_emitted(hf, "order:*", count=1, order=9)
