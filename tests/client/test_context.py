"""What a task sees of its run, and what others see of it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from holdfast import Context, Holdfast, InvalidPayload, JobFailed, Retry, StateName, Transient
from holdfast.testing import ManualClock
from tests.client.acts import WAIT, Gate, wait_until


def test_the_context_tells_which_job_and_run_it_is(hf: Holdfast) -> None:
    seen: list[Context] = []

    @hf.task(queue="build", tag="nightly", subject="a::{x}")
    def look(ctx: Context, x: int) -> None:
        seen.append(ctx)

    handle = look.enqueue(x=5)
    hf.drain()
    [ctx] = seen
    job = handle.job
    assert (ctx.job.id, ctx.job.number, ctx.job.task, ctx.job.queue) == (job.id, job.number, "look", "build")
    assert (ctx.job.tag, ctx.job.subject, ctx.job.generation) == ("nightly", "a::5", 1)
    assert (ctx.attempt, ctx.job.attempt, ctx.job.checkpoint, ctx.run_id) == (1, 1, None, handle.runs[0].id)


def test_log_records_carry_the_ids(hf: Holdfast, caplog: pytest.LogCaptureFixture) -> None:
    @hf.task
    def talk(ctx: Context) -> str:
        ctx.log.info("half of %d done", 10, extra={"colour": "red"})
        return ctx.run_id

    caplog.set_level(logging.INFO, "holdfast.task")
    handle = talk.enqueue()
    hf.drain()
    [record] = [record for record in caplog.records if record.name == "holdfast.task.talk"]
    said: Any = record
    assert record.getMessage() == "half of 10 done"
    assert (said.job_id, said.run_id, said.task) == (handle.id, handle.result(timeout=WAIT), "talk")
    assert (said.attempt, said.colour) == (1, "red")


def test_progress_is_visible_while_the_job_runs(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task
    def work(ctx: Context) -> None:
        ctx.progress(0.25)
        ctx.progress(0.5, "half ✓ \x00")
        gate.pass_through()

    with hf:
        handle = work.enqueue()
        gate.await_arrival()
        assert wait_until(lambda: (handle.job.progress, handle.job.progress_text) == (0.5, "half ✓ \\0"))
        gate.open()
        assert handle.wait(timeout=WAIT) is StateName.DONE


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), "half", True, None])
def test_progress_is_a_fraction(hf: Holdfast, fraction: Any) -> None:
    @hf.task
    def work(ctx: Context) -> None:
        ctx.progress(fraction)

    handle = work.enqueue()
    hf.drain()
    with pytest.raises(JobFailed, match="is not valid: use a number from 0 to 1"):
        handle.result(timeout=WAIT)


@pytest.mark.parametrize("mode", ["requeue", "chain"])
def test_a_checkpoint_survives_to_the_next_run(make_holdfast: Callable[..., Holdfast], mode: str) -> None:
    clock = ManualClock()
    hf = make_holdfast(clock=clock)

    @hf.task(retry=Retry(2, mode=mode))
    def steps(ctx: Context) -> list[int]:
        done: list[int] = ctx.job.checkpoint or []
        ctx.checkpoint([*done, ctx.attempt])
        if ctx.attempt < 3:
            raise Transient("not yet")
        return done

    handle = steps.enqueue()
    for _ in range(3):
        hf.drain()
        clock.advance(60)
    assert handle.result(timeout=WAIT) == [1, 2]


def test_a_coroutine_can_await_its_checkpoint(hf: Holdfast) -> None:
    @hf.task
    async def work(ctx: Context) -> None:
        await ctx.acheckpoint({"page": 5, "text": "\x00"})

    handle = work.enqueue()
    hf.drain()
    assert handle.state is StateName.DONE
    assert msgspec.json.decode(handle.job.checkpoint or "") == {"page": 5, "text": "\x00"}


def test_a_checkpoint_that_is_not_json_is_refused(hf: Holdfast) -> None:
    @hf.task
    def work(ctx: Context) -> None:
        ctx.checkpoint(object())

    handle = work.enqueue()
    hf.drain()
    assert handle.runs[0].error_code == InvalidPayload.__name__
    assert (handle.runs[0].error or "").startswith("the checkpoint is not JSON")


def test_a_function_sees_that_it_is_cancelled_and_ends_at_the_check(hf: Holdfast) -> None:
    seen: list[tuple[bool, bool]] = []
    started, cancelled = threading.Event(), threading.Event()

    @hf.task
    def work(ctx: Context) -> None:
        seen.append((ctx.cancelled, ctx.should_yield))
        ctx.check()
        started.set()
        assert cancelled.wait(WAIT)
        assert wait_until(lambda: ctx.cancelled)
        seen.append((ctx.cancelled, ctx.should_yield))
        ctx.check()
        raise AssertionError("the check lets nobody by")

    with hf:
        handle = work.enqueue()
        assert started.wait(WAIT)
        handle.cancel()
        cancelled.set()
        assert handle.wait(timeout=WAIT) is StateName.CANCELLED
    assert seen == [(False, False), (True, True)]


def test_a_coroutine_is_cancelled_where_it_awaits(hf: Holdfast) -> None:
    seen: list[tuple[bool, bool]] = []
    started = threading.Event()

    @hf.task
    async def work(ctx: Context) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append((ctx.cancelled, ctx.should_yield))

    with hf:
        handle = work.enqueue()
        assert started.wait(WAIT)
        handle.cancel()
        assert handle.wait(timeout=WAIT) is StateName.CANCELLED
    assert seen == [(True, True)]


def test_a_stop_asks_to_yield_and_not_to_cancel(hf: Holdfast) -> None:
    seen: list[tuple[bool, bool]] = []
    started = threading.Event()

    @hf.task
    def work(ctx: Context) -> None:
        if ctx.attempt > 1:
            return
        started.set()
        assert wait_until(lambda: ctx.should_yield)
        seen.append((ctx.cancelled, ctx.should_yield))
        ctx.check()

    hf.start()
    handle = work.enqueue()
    assert started.wait(WAIT)
    hf.stop(short=0, grace=WAIT)
    assert seen == [(False, True)]
    assert (handle.state, hf.drain(), handle.state) == (StateName.QUEUED, 1, StateName.DONE)


@pytest.mark.parametrize("is_coroutine", [False, True])
def test_a_child_knows_its_parent_and_shares_its_trace(hf: Holdfast, is_coroutine: bool) -> None:
    @hf.task
    def child(x: int) -> int:
        return x

    @hf.task
    def parent(ctx: Context) -> str:
        return str(ctx.enqueue(child.options(tag="of a function"), 1).id)

    @hf.task
    async def aparent(ctx: Context) -> str:
        return str((await ctx.aenqueue(child, x=1)).id)

    handle = (aparent if is_coroutine else parent).options(trace_id="abc").enqueue()
    assert hf.drain() == 2
    job = hf.job(handle.result(timeout=WAIT)).job
    assert (job.parent_job_id, job.trace_id, job.payload) == (handle.id, "abc", '{"x":1}')
    trigger = msgspec.json.decode(job.trigger or "")
    assert trigger == {"kind": "parent", "job_id": handle.id, "run_id": handle.runs[0].id}


def test_only_a_task_can_be_a_child(hf: Holdfast) -> None:
    @hf.task
    def parent(ctx: Context) -> None:
        ctx.enqueue(print, "x")  # type: ignore[arg-type]

    handle = parent.enqueue()
    hf.drain()
    with pytest.raises(JobFailed, match="<built-in function print> is not a task"):
        handle.result(timeout=WAIT)


def test_a_child_may_have_a_trace_of_its_own(hf: Holdfast) -> None:
    @hf.task
    def child() -> None: ...

    @hf.task
    def parent(ctx: Context) -> str:
        return str(ctx.enqueue(child.options(trace_id="its own")).id)

    handle = parent.options(trace_id="abc").enqueue()
    hf.drain()
    assert hf.job(handle.result(timeout=WAIT)).job.trace_id == "its own"
