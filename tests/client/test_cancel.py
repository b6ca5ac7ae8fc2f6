"""Cancelling: waiting jobs end at once, running ones are asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from holdfast import Context, Holdfast, JobCancelled, NotFound, Retry, RunStatus, StateName, Task
from holdfast.core.messages.jobs import Cancelling
from holdfast.testing import ManualClock
from tests.client.acts import WAIT, Gate, both_engines, wait_until


@pytest.fixture
def quick(hf: Holdfast) -> Task[..., int]:
    @hf.task
    def quick(x: int = 0) -> int:
        return x

    return quick


@both_engines
def test_a_waiting_job_is_cancelled_at_once_and_has_no_run(hf: Holdfast, quick: Task[..., int]) -> None:
    queued, scheduled = quick.enqueue(), quick.options(delay=60).enqueue()
    assert [handle.cancel() for handle in (queued, scheduled)] == [Cancelling(cancelled=1)] * 2
    assert {queued.state, scheduled.state} == {StateName.CANCELLED}
    assert hf.drain() == 0
    assert queued.runs == []
    with pytest.raises(JobCancelled, match="it is CANCELLED: cancelled on request"):
        queued.result()


@both_engines
def test_a_job_that_has_ended_stays_as_it_is(hf: Holdfast, quick: Task[..., int]) -> None:
    handle = quick.enqueue(x=5)
    hf.drain()
    assert handle.cancel() == Cancelling(ended=1)
    assert handle.result(timeout=WAIT) == 5


@both_engines
def test_a_running_coroutine_is_stopped(hf: Holdfast) -> None:
    started = threading.Event()

    @hf.task(retry=5)
    async def endless() -> None:
        started.set()
        await asyncio.Event().wait()

    with hf:
        handle = endless.enqueue()
        assert started.wait(WAIT)
        assert handle.cancel() == Cancelling(requested=1)
        assert handle.wait(timeout=WAIT) is StateName.CANCELLED
    assert [run.status for run in handle.runs] == [RunStatus.CANCELLED]


@both_engines
def test_a_function_that_takes_no_notice_returns_and_is_done(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task
    def stubborn() -> str:
        gate.pass_through()
        return "done all the same"

    with hf:
        handle = stubborn.enqueue()
        gate.await_arrival()
        handle.cancel()
        gate.open()
        assert handle.result(timeout=WAIT) == "done all the same"


@both_engines
def test_a_function_that_fails_after_it_was_cancelled_is_not_tried_again(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task(retry=Retry(5, initial=0))
    def failing() -> None:
        gate.pass_through()
        raise ConnectionError

    with hf:
        handle = failing.enqueue()
        gate.await_arrival()
        handle.cancel()
        gate.open()
        assert handle.wait(timeout=WAIT) is StateName.CANCELLED
    assert [run.status for run in handle.runs] == [RunStatus.FAILED]


def test_a_coroutine_that_swallows_its_cancellation_is_done(hf: Holdfast) -> None:
    started = threading.Event()

    @hf.task
    async def tidy() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "tidied up"
        return "never"

    with hf:
        handle = tidy.enqueue()
        assert started.wait(WAIT)
        handle.cancel()
        assert handle.result(timeout=WAIT) == "tidied up"


@both_engines
def test_a_job_is_cancelled_by_another_program(make_holdfast: Callable[..., Holdfast]) -> None:
    works, watches = make_holdfast(), make_holdfast()
    started = threading.Event()

    @works.task
    def patient(ctx: Context) -> None:
        started.set()
        assert wait_until(lambda: ctx.cancelled)
        ctx.check()

    with works:
        handle = patient.enqueue()
        assert started.wait(WAIT)
        watches.job(handle.id).cancel()
        assert handle.wait(timeout=WAIT) is StateName.CANCELLED


@both_engines
def test_every_job_with_a_tag_is_cancelled(hf: Holdfast, quick: Task[..., int]) -> None:
    tagged = quick.options(tag="nightly").enqueue_many([{}] * 3)
    other = quick.options(tag="daily").enqueue()
    tagged[0].cancel()
    assert hf.cancel(tag="nightly") == Cancelling(cancelled=2)
    assert {handle.state for handle in tagged} == {StateName.CANCELLED}
    assert other.state is StateName.QUEUED
    with pytest.raises(JobCancelled, match="cancelled by tag nightly"):
        tagged[1].result()


@both_engines
def test_a_job_between_two_tries_is_cancelled(make_holdfast: Callable[..., Holdfast]) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)

    @hf.task(retry=5)
    def failing() -> None:
        raise ConnectionError

    handle = failing.enqueue()
    hf.drain()
    assert handle.cancel() == Cancelling(cancelled=1)
    clock.advance(60)
    assert hf.drain() == 0


def test_a_job_that_does_not_exist_cannot_be_cancelled(hf: Holdfast) -> None:
    with pytest.raises(NotFound, match="there is no job 'nowhere'"):
        hf.job("nowhere").cancel()


def test_the_twins_cancel_too(hf: Holdfast, quick: Task[..., int]) -> None:
    async def main() -> list[Cancelling]:
        one = await quick.aenqueue()
        await quick.options(tag="a").aenqueue()
        return [await one.acancel(), await hf.acancel(tag="a")]

    assert asyncio.run(main()) == [Cancelling(cancelled=1)] * 2
