"""Through daemon, socket and one worker process, at full durability."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psutil

from bench.table import Place, Table, p, per_second, percentiles, stopwatch
from holdfast import Holdfast, StateName
from holdfast.client.resources.task import Task
from holdfast.wire.home import HOME, Home

JOBS = 20_000
TIMES = 300
LONG_CALLS = 500
SETTLED_S = 3.0
IDLE_S = 10.0
PATIENCE_S = 60.0
HOLDFAST = (sys.executable, "-m", "holdfast.cli")
APP = ("--app", "bench.app:hf")


def measure(place: Place) -> Table:
    """Every figure of the daemon in one run."""
    rows = []
    with running_daemon(place, workers=False) as home:
        hf, noop, _ = client(home)
        memory, processor = _idle(hf)
        figure = f"{memory:.0f} MiB, {processor:.2%} of a core"
        rows.append(
            ("the daemon's process, idle", figure, f"{memory / 80:.0%} of 80 MiB, {processor / 0.01:.0%} of 1 %")
        )
        rows.append(("drain of a backlog", per_second(JOBS, drain(home, hf, noop)), ""))
    with running_daemon(place, workers=True) as home:
        hf, noop, stamp = client(home)
        rows.append(("mixed, enqueue_many(100)", per_second(JOBS, mixed(hf, noop)), ""))
        took = [_timed(noop) for _ in range(TIMES)]
        rows.append(("one enqueue, one caller", percentiles(took), f"p95 {p(took, 95) / 0.002:.0%} of 2 ms"))
        until_done(hf, JOBS + TIMES)
        took = [_pickup(stamp) for _ in range(TIMES)]
        rows.append(("queued to running, idle", percentiles(took), f"p95 {p(took, 95) / 0.003:.0%} of 3 ms"))
        took = _beside_long_calls(home, hf, noop)
        what = f"one enqueue, {LONG_CALLS} long calls open, draining"
        rows.append((what, percentiles(took), f"p95 {p(took, 95) / 0.01:.0%} of 10 ms"))
    return Table(
        "Through the daemon",
        f"Daemon, unix socket, one worker process with 100 slots, full durability; {JOBS:,} no-op jobs, {TIMES} single "
        "calls. Caller, daemon and worker share the cores.",
        rows,
    )


@contextmanager
def running_daemon(place: Place, *, workers: bool) -> Iterator[Home]:
    """A daemon of its own, stopped at the end."""
    home = Home(place.folder / uuid4().hex[:8])
    environment = {**os.environ, HOME: str(home.folder)}
    words = APP if workers else ()
    subprocess.run([*HOLDFAST, "up", "--detach", *words], check=True, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield home
    finally:
        subprocess.run([*HOLDFAST, "down"], check=True, env=environment, stdout=subprocess.DEVNULL)


def client(home: Home) -> tuple[Holdfast, Task[[], None], Task[[], float]]:
    """The SDK as a client of this daemon."""
    os.environ[HOME] = str(home.folder)
    hf = Holdfast()

    @hf.task
    async def noop() -> None: ...

    @hf.task
    async def stamp() -> float:
        return 0.0

    return hf, noop, stamp


def drain(home: Home, hf: Holdfast, noop: Task[[], None], jobs: int = JOBS) -> float:
    """Seconds for a worker that has started to empty a queue that was full when it did."""
    for _ in range(0, jobs, 1_000):
        noop.enqueue_many([{}] * 1_000)
    worker = subprocess.Popen(
        [*HOLDFAST, "worker", *APP], env={**os.environ, HOME: str(home.folder)}, stderr=subprocess.DEVNULL
    )
    try:
        until_done(hf, 1)
        before = done(hf)
        with stopwatch() as watch:
            until_done(hf, jobs)
    finally:
        worker.terminate()
        worker.wait()
    # What ran before the watch started is not counted.
    return watch.seconds * jobs / (jobs - before)


def mixed(hf: Holdfast, noop: Task[[], None], jobs: int = JOBS) -> float:
    """Seconds for storing jobs in batches while the worker runs them."""
    before = done(hf)
    with stopwatch() as watch:
        for _ in range(0, jobs, 100):
            noop.enqueue_many([{}] * 100)
        until_done(hf, before + jobs)
    return watch.seconds


def done(hf: Holdfast) -> int:
    """How many jobs have ended well."""
    return hf.counts().get("default", {}).get(StateName.DONE, 0)


def until_done(hf: Holdfast, jobs: int) -> None:
    """Wait until so many jobs have ended well."""
    give_up = time.monotonic() + PATIENCE_S
    while done(hf) < jobs:
        if time.monotonic() > give_up:
            raise TimeoutError(f"{done(hf)} of {jobs} jobs were done after {PATIENCE_S:.0f} s")
        time.sleep(0.03)


def _idle(hf: Holdfast) -> tuple[float, float]:
    """Resident MiB of the daemon, and its share of a core while nothing happens."""
    [pid] = [session.pid for session in hf.sessions() if session.kind == "daemon"]
    process = psutil.Process(pid)
    time.sleep(SETTLED_S)
    before = sum(process.cpu_times()[:2])
    time.sleep(IDLE_S)
    return process.memory_info().rss / 2**20, (sum(process.cpu_times()[:2]) - before) / IDLE_S


def _timed(noop: Task[[], None]) -> float:
    with stopwatch() as watch:
        noop.enqueue()
    return watch.seconds


def _pickup(stamp: Task[[], float]) -> float:
    start = time.monotonic()
    return stamp.enqueue().result(30) - start


def _beside_long_calls(home: Home, hf: Holdfast, noop: Task[[], None]) -> list[float]:
    """One caller's enqueues while many wait, and while the worker drains a backlog."""
    is_open, is_over = threading.Event(), threading.Event()
    waited_for = hf.enqueue("bench.never")
    waiting = threading.Thread(target=lambda: asyncio.run(_hold(home, waited_for.id, is_open, is_over)))
    waiting.start()
    is_open.wait(60)
    for _ in range(0, JOBS, 1_000):
        noop.enqueue_many([{}] * 1_000)
    took = [_timed(noop) for _ in range(TIMES)]
    is_over.set()
    waiting.join()
    waited_for.cancel()
    return took


async def _hold(home: Home, job_id: str, is_open: threading.Event, is_over: threading.Event) -> None:
    """So many connections, each with a call that waits for a job which nobody runs."""
    lines: list[tuple[Any, Any]] = []
    for _ in range(LONG_CALLS):
        reader, writer = await asyncio.open_unix_connection(str(home.socket))
        writer.write(f"GET /v1/jobs/{job_id}/wait?timeout_ms=600000 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await writer.drain()
        lines.append((reader, writer))
    await asyncio.sleep(1)
    is_open.set()
    await asyncio.to_thread(is_over.wait)
    for _, writer in lines:
        writer.close()
