"""Bounds in time: of one run, of the time a job is ready, and of the job itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Context, Holdfast, JobCancelled, JobFailed, Retry, RunStatus, StateName
from holdfast.testing import ManualClock
from tests.client.acts import WAIT, Gate, both_engines, wait_until

START = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def hf(make_holdfast: Callable[..., Holdfast], clock: ManualClock) -> Holdfast:
    return make_holdfast(clock=clock)


@both_engines
def test_a_coroutine_that_takes_too_long_is_stopped_and_tried_again(hf: Holdfast, clock: ManualClock) -> None:
    started = threading.Semaphore(0)

    @hf.task(timeout=30, retry=Retry(1, initial=5))
    async def slow(ctx: Context) -> int:
        started.release()
        if ctx.attempt == 1:
            await asyncio.Event().wait()
        return ctx.attempt

    with hf:
        handle = slow.enqueue()
        assert started.acquire(timeout=WAIT)
        clock.advance(29)
        assert handle.state is StateName.RUNNING
        clock.advance(1)
        assert wait_until(lambda: handle.state is StateName.SCHEDULED)
        clock.advance(10)
        assert handle.result(timeout=WAIT) == 2
    run = handle.runs[0]
    assert (run.status, run.error_kind, run.error_code) == (RunStatus.FAILED, "transient", "ERR_TIMEOUT")


@both_engines
def test_a_function_that_heeds_its_time_out_fails_with_it(hf: Holdfast, clock: ManualClock) -> None:
    started = threading.Event()

    @hf.task(timeout=30)
    def slow(ctx: Context) -> None:
        started.set()
        assert wait_until(lambda: ctx.cancelled)
        ctx.check()

    with hf:
        handle = slow.enqueue()
        assert started.wait(WAIT)
        clock.advance(30)
        with pytest.raises(JobFailed, match="it took longer than its time-out") as raised:
            handle.result(timeout=WAIT)
    assert raised.value.error_code == "ERR_TIMEOUT"


@both_engines
def test_a_function_that_ignores_its_time_out_keeps_its_run_open_and_its_return_counts(
    hf: Holdfast, clock: ManualClock
) -> None:
    started, gate = threading.Event(), Gate()

    @hf.task(timeout=30)
    def stubborn(ctx: Context) -> str:
        started.set()
        assert wait_until(lambda: ctx.cancelled)
        gate.pass_through()
        return "late"

    with hf:
        handle = stubborn.enqueue()
        assert started.wait(WAIT)
        clock.advance(30)
        gate.await_arrival()
        assert handle.state is StateName.RUNNING
        assert [run.status for run in handle.runs] == [None]
        gate.open()
        assert handle.result(timeout=WAIT) == "late"
    assert [run.status for run in handle.runs] == [RunStatus.COMPLETED]


@both_engines
@pytest.mark.parametrize("heeds", ["coroutine", "function"])
def test_a_running_job_is_stopped_at_its_deadline(hf: Holdfast, clock: ManualClock, heeds: str) -> None:
    started = threading.Event()

    @hf.task(retry=5)
    async def coroutine() -> None:
        started.set()
        await asyncio.Event().wait()

    @hf.task(retry=5)
    def function(ctx: Context) -> None:
        started.set()
        assert wait_until(lambda: ctx.cancelled)
        ctx.check()

    deadline = START + timedelta(minutes=1)
    with hf:
        task = coroutine if heeds == "coroutine" else function
        handle = task.options(deadline=deadline, timeout=3600).enqueue()
        assert started.wait(WAIT)
        clock.advance(60)
        with pytest.raises(JobCancelled, match="it is SKIPPED_DEADLINE: stopped at its deadline"):
            handle.result(timeout=WAIT)
    assert [(run.status, run.error_code) for run in handle.runs] == [(RunStatus.FAILED, "ERR_DEADLINE")]


@both_engines
def test_a_job_that_waits_past_its_deadline_never_runs(hf: Holdfast, clock: ManualClock) -> None:
    @hf.task
    def late() -> None: ...

    handle = late.options(deadline=START + timedelta(seconds=1)).enqueue()
    scheduled = late.options(deadline=START + timedelta(seconds=1), delay=5).enqueue()
    at_once = late.options(deadline=START).enqueue()
    clock.advance(1)
    assert hf.drain() == 0
    assert {job.state for job in (handle, scheduled, at_once)} == {StateName.SKIPPED_DEADLINE}
    assert handle.runs == []


@both_engines
def test_a_job_that_is_ready_for_too_long_is_skipped(hf: Holdfast, clock: ManualClock) -> None:
    @hf.task(ttl=10)
    def fresh() -> None: ...

    early, late = fresh.enqueue(), fresh.options(delay=5).enqueue()
    clock.advance(10)
    assert hf.drain() == 1
    assert (early.state, late.state) == (StateName.SKIPPED_TTL, StateName.DONE)
    with pytest.raises(JobCancelled, match="it was ready for longer than its time to live"):
        early.result()


@both_engines
def test_a_waiter_hears_that_a_job_was_skipped(hf: Holdfast, clock: ManualClock) -> None:
    @hf.task(ttl=10)
    def fresh() -> None: ...

    hf.pause("default")
    with hf:
        handle = fresh.enqueue()
        clock.advance(10)
        assert handle.wait(timeout=WAIT) is StateName.SKIPPED_TTL


def test_a_time_out_by_the_machines_own_clock(make_holdfast: Callable[..., Holdfast]) -> None:
    hf = make_holdfast()

    @hf.task(timeout=0.05)
    async def slow() -> None:
        await asyncio.Event().wait()

    with hf, pytest.raises(JobFailed, match="it took longer than its time-out"):
        slow.enqueue().result(timeout=WAIT)


def test_a_run_within_its_bounds_is_left_alone(hf: Holdfast) -> None:
    @hf.task(timeout=30, ttl=30)
    async def quick(ctx: Context) -> bool:
        return ctx.cancelled

    handle = quick.options(deadline=START + timedelta(hours=1)).enqueue()
    hf.drain()
    assert handle.result(timeout=WAIT) is False
