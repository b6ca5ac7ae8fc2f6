"""An orderly stop: short work ends, long work yields, and nobody is charged for it."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast import Context, Holdfast, InvalidInput, JobFailed, Retry, RunStatus, StateName
from holdfast.store.scripts.sessions.sessions import running_sessions
from tests.client.acts import WAIT, Gate, both_engines, wait_until


@both_engines
def test_short_work_ends_before_the_stop_does_and_nothing_new_starts(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task
    def work() -> str:
        gate.pass_through()
        return "ended"

    hf.start()
    handle = work.enqueue()
    gate.await_arrival()
    with ThreadPoolExecutor(1) as thread:
        stopping = thread.submit(hf.stop, short=WAIT, grace=0)
        assert wait_until(lambda: is_stopping(hf))
        waiting = work.enqueue()
        gate.open()
        stopping.result(timeout=WAIT)
    assert handle.result(timeout=0) == "ended"
    assert waiting.state is StateName.QUEUED


def is_stopping(hf: Holdfast) -> bool:
    """Whether the session has said that it stops; it claims nothing from then on."""
    return all(session.stop_requested_at is not None for session in hf._access.read(running_sessions))


@both_engines
@pytest.mark.parametrize("kind", ["coroutine", "function"])
def test_long_work_yields_uncharged_and_goes_on_later(hf: Holdfast, kind: str) -> None:
    started = threading.Event()

    @hf.task(retry=Retry(0, infra=0))
    async def coroutine(ctx: Context) -> int:
        if ctx.attempt == 1:
            started.set()
            await asyncio.Event().wait()
        return ctx.attempt

    @hf.task(retry=Retry(0, infra=0))
    def function(ctx: Context) -> int:
        if ctx.attempt == 1:
            started.set()
            assert wait_until(lambda: ctx.should_yield)
            ctx.check()
        return ctx.attempt

    hf.start()
    handle = (coroutine if kind == "coroutine" else function).enqueue()
    assert started.wait(WAIT)
    hf.stop(short=0, grace=WAIT)
    assert (handle.state, [run.status for run in handle.runs]) == (StateName.QUEUED, [RunStatus.YIELDED])
    with hf:
        assert handle.result(timeout=WAIT) == 2
    assert (handle.job.tries.transient, handle.job.tries.infra) == (0, 0)


@both_engines
def test_a_function_that_takes_no_notice_keeps_its_run_and_its_late_return_counts(
    hf: Holdfast, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()

    @hf.task
    def stuck() -> str:
        gate.pass_through()
        return "late"

    hf.start()
    handle = stuck.enqueue()
    gate.await_arrival()
    with caplog.at_level(logging.WARNING, "holdfast"):
        hf.stop(short=0, grace=0)
    assert f"stuck (job {handle.id}) ignores being asked to stop" in caplog.text
    assert handle.state is StateName.RUNNING
    assert hf.doctor() == []
    assert hf.drain() == 0
    gate.open()
    assert handle.result(timeout=WAIT) == "late"
    assert [run.status for run in handle.runs] == [RunStatus.COMPLETED]


@both_engines
def test_a_job_can_still_be_cancelled_during_a_stop(hf: Holdfast) -> None:
    started = threading.Event()

    @hf.task
    def work(ctx: Context) -> None:
        started.set()
        assert wait_until(lambda: ctx.cancelled)
        ctx.check()

    hf.start()
    handle = work.enqueue()
    assert started.wait(WAIT)
    with ThreadPoolExecutor(1) as thread:
        stopping = thread.submit(hf.stop, short=WAIT)
        assert wait_until(lambda: is_stopping(hf))
        handle.cancel()
        stopping.result(timeout=WAIT)
    assert handle.state is StateName.CANCELLED


@both_engines
def test_a_second_stop_waits_for_the_first(hf: Holdfast) -> None:
    gate = Gate()

    @hf.task
    def work() -> None:
        gate.pass_through()

    hf.start()
    handle = work.enqueue()
    gate.await_arrival()
    with ThreadPoolExecutor(2) as threads:
        stops = [threads.submit(hf.stop, short=WAIT), threads.submit(hf.stop)]
        assert wait_until(lambda: not hf.is_running)
        assert not any(stop.done() for stop in stops)
        gate.open()
        for stop in stops:
            stop.result(timeout=WAIT)
    assert handle.state is StateName.DONE


def test_stopping_what_does_not_run_is_harmless(hf: Holdfast) -> None:
    hf.stop()
    with hf:
        hf.stop()
        hf.stop()
    hf.close()
    hf.close()


def test_a_holdfast_runs_once_at_a_time(hf: Holdfast) -> None:
    with hf:
        with pytest.raises(InvalidInput, match="this Holdfast runs already"):
            hf.start()
        with pytest.raises(InvalidInput, match="this Holdfast runs already"):
            hf.drain()
    hf.start()
    assert hf.is_running


@pytest.mark.parametrize("patience", [{"short": -1}, {"grace": "long"}, {"short": True}])
def test_a_stop_that_is_refused_changes_nothing(hf: Holdfast, patience: dict[str, Any]) -> None:
    with hf:
        with pytest.raises(InvalidInput, match=r"short|grace"):
            hf.stop(**patience)
        assert hf.is_running


def test_an_error_inside_the_block_stops_and_comes_out(hf: Holdfast) -> None:
    with pytest.raises(ZeroDivisionError), hf:
        raise ZeroDivisionError
    assert not hf.is_running


def test_a_coroutine_task_cannot_wait_for_its_own_end(hf: Holdfast) -> None:
    @hf.task
    async def last_one() -> None:
        hf.stop()

    with hf, pytest.raises(JobFailed, match="or it would wait for itself"):
        last_one.enqueue().result(timeout=WAIT)


@both_engines
def test_run_ends_with_a_stop_elsewhere(hf: Holdfast) -> None:
    @hf.task
    def work() -> int:
        return 5

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(hf.run)
        assert work.enqueue().result(timeout=WAIT) == 5
        hf.stop()
        running.result(timeout=WAIT)
    assert not hf.is_running


@both_engines
def test_arun_ends_in_order_when_it_is_cancelled(hf: Holdfast) -> None:
    @hf.task
    async def work() -> None: ...

    async def main() -> StateName:
        running = asyncio.create_task(hf.arun())
        state = await (await work.aenqueue()).await_(timeout=WAIT)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return state

    assert asyncio.run(main()) is StateName.DONE
    assert not hf.is_running


PROGRAM = """
import sys, threading
from holdfast import Context, Holdfast

hf = Holdfast(sys.argv[1])

@hf.task
def endless(ctx: Context) -> None:
    print("started", flush=True)
    while not ctx.should_yield:
        threading.Event().wait(0.01)
    ctx.check()

endless.enqueue()
hf.run()
print("ended in order", flush=True)
"""


def test_signals_end_run_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "faulthandler", "-c", PROGRAM, str(tmp_path / "run.db")]
    program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "started\n"
    program.send_signal(signal.SIGTERM)
    # The first one gives the job five seconds to end by itself; the second one cuts that short.
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=WAIT)
    assert (out, program.returncode) == ("ended in order\n", 0), err
    hf = Holdfast(tmp_path / "run.db")
    hf.drain()
    assert [run.status for run in hf.job(1).runs] == [RunStatus.YIELDED]
    hf.close()


FORGETFUL_PROGRAM = """
import asyncio, sys, threading
from holdfast import Holdfast

hf = Holdfast(sys.argv[1])
started = threading.Event()

@hf.task
async def endless() -> None:
    started.set()
    await asyncio.Event().wait()

hf.start()
endless.enqueue()
started.wait()
"""


def test_a_program_that_ends_without_a_stop_stops_in_order(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORGETFUL_PROGRAM, str(tmp_path / "run.db")]
    program = subprocess.run(command, timeout=WAIT, capture_output=True, text=True, check=True)
    assert program.stderr == ""
    hf = Holdfast(tmp_path / "run.db")
    assert (hf.job(1).state, [run.status for run in hf.job(1).runs]) == (StateName.QUEUED, [RunStatus.YIELDED])
    hf.close()
