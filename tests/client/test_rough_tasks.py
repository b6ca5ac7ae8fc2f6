"""Tasks that misbehave, and moments that are badly chosen, cost no other job anything."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from holdfast import Context, Holdfast, Retry, StateName, StoreUnavailable
from holdfast.store.scripts.sessions.sessions import running_sessions
from holdfast.workers.process.threads import Threads
from tests.client.acts import both_engines, wait_until

MakeHoldfast = Callable[..., Holdfast]


@both_engines
def test_an_exit_in_a_helper_task_does_not_stop_the_others(make_holdfast: MakeHoldfast) -> None:
    hf = make_holdfast()

    @hf.task
    async def exits() -> str:
        async def leave() -> None:
            raise SystemExit(3)

        helper = asyncio.create_task(leave())
        await asyncio.wait([helper])
        return "went on"

    @hf.task
    async def other(n: int) -> int:
        return n

    with hf:
        assert exits.enqueue().result(30) == "went on"
        assert [handle.result(30) for handle in other.enqueue_many([{"n": n} for n in range(20)])] == list(range(20))


@both_engines
def test_a_thread_that_cannot_be_started_is_a_failure_of_the_machine(
    make_holdfast: MakeHoldfast, monkeypatch: pytest.MonkeyPatch
) -> None:
    hf = make_holdfast()

    @hf.task(retry=Retry(0, initial=0.01))
    def work() -> str:
        return "done"

    real, refusals = Threads.run, iter([RuntimeError("can't start new thread")])

    def run(self: Threads, function: Callable[[], None]) -> None:
        for error in refusals:
            raise error
        real(self, function)

    monkeypatch.setattr(Threads, "run", run)
    handles = work.enqueue_many([{}] * 5)
    with hf:
        assert [handle.result(30) for handle in handles] == ["done"] * 5
    assert sorted(len(handle.runs) for handle in handles) == [1, 1, 1, 1, 2]


@both_engines
def test_a_clean_up_that_outlasts_the_grace_fails_nobodys_job(make_holdfast: MakeHoldfast) -> None:
    hf = make_holdfast()
    started = threading.Event()

    @hf.task
    async def stubborn(ctx: Context) -> None:
        try:
            started.set()
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(3600)

    job = stubborn.enqueue()
    hf.start()
    assert started.wait(30)
    hf.stop(short=0, grace=0.1)
    assert job.state is StateName.QUEUED
    assert [(run.status, run.error_code) for run in job.runs] == [("YIELDED", None)]
    job.cancel()


def test_runs_that_have_ended_leave_no_timers_behind(make_holdfast: MakeHoldfast) -> None:
    hf = make_holdfast(concurrency=50)

    @hf.task(timeout=3600)
    async def quick() -> None: ...

    others = running_loops()
    with hf:
        for handle in quick.enqueue_many([{}] * 300):
            handle.result(30)
        assert hf.is_running
        loops = [loop for loop in running_loops() if loop not in others]
        scheduled = [timer for loop in loops for timer in loop._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        assert loops
        assert len(scheduled) < 50


def running_loops() -> list[asyncio.BaseEventLoop]:
    return [loop for loop in gc.get_objects() if isinstance(loop, asyncio.BaseEventLoop) and loop.is_running()]


def test_a_start_that_fails_leaves_no_thread_and_no_file_behind(tmp_path: Path, make_holdfast: MakeHoldfast) -> None:
    def try_to_start() -> None:
        hf = Holdfast(tmp_path / "missing" / "work.db")
        with pytest.raises(StoreUnavailable):
            hf.start()
        with pytest.raises(StoreUnavailable):
            hf.drain()

    try_to_start()
    gc.collect()
    threads, files = set(threading.enumerate()), open_files()
    for _ in range(10):
        try_to_start()
    gc.collect()
    # Holdfasts of tests before this one are being closed meanwhile, which may take a connection for a moment.
    assert wait_until(lambda: set(threading.enumerate()) <= threads and open_files() <= files)


def open_files() -> set[tuple[str, str]]:
    """The open files of this process: their numbers, and what the kernel calls them."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # As is the one of the list itself.
            found.add((number, os.readlink(f"/proc/self/fd/{number}")))
    return found


@both_engines
def test_a_time_to_live_that_is_over_soon_is_noticed_soon(make_holdfast: MakeHoldfast) -> None:
    hf = make_holdfast()

    @hf.task(queue="closed")
    def never() -> None: ...

    hf.pause("closed")
    with hf:
        assert never.options(ttl=0.2).enqueue().wait(20) is StateName.SKIPPED_TTL


def test_two_names_of_one_file_share_its_locks(tmp_path: Path, make_holdfast: MakeHoldfast) -> None:
    make_holdfast().counts()
    (tmp_path / "other.db").symlink_to(tmp_path / "work.db")
    here, there = Holdfast(tmp_path / "work.db"), Holdfast(tmp_path / "other.db")
    assert here._access.engine.locks == there._access.engine.locks
    there.close()
    here.close()


@both_engines
def test_progress_from_a_function_that_outlived_its_worker_does_no_harm(make_holdfast: MakeHoldfast) -> None:
    hf = make_holdfast()
    started, go_on = threading.Event(), threading.Event()

    @hf.task
    def outlives(ctx: Context) -> str:
        started.set()
        go_on.wait(30)
        ctx.progress(0.5)
        return "late"

    job = outlives.enqueue()
    hf.start()
    assert started.wait(30)
    hf.stop(short=0, grace=0)
    go_on.set()
    assert wait_until(lambda: job.state is StateName.DONE)


@both_engines
def test_opening_the_database_does_not_stop_the_callers_event_loop(make_holdfast: MakeHoldfast) -> None:
    hf = make_holdfast()

    @hf.task
    def work() -> None: ...

    opened_by = []
    engine = hf._access.engine
    real = engine.open

    def note_who_opens() -> None:
        opened_by.append(threading.current_thread())
        real()

    engine.open = note_who_opens  # type: ignore[method-assign]

    async def main() -> None:
        await work.aenqueue()

    asyncio.run(main())
    assert opened_by
    assert threading.main_thread() not in opened_by


@both_engines
def test_a_drain_that_takes_long_keeps_its_heart_beating(make_holdfast: MakeHoldfast) -> None:
    hf = make_holdfast()
    beats: list[int] = []

    @hf.task
    def look() -> None:
        until = time.monotonic() + 30
        while time.monotonic() < until and not beats:
            beats.extend(row.heartbeat for row in hf._access.read(running_sessions) if row.heartbeat)

    look.enqueue()
    hf.drain()
    assert beats
