"""Apps: from an event to its handler, and how many calls of handlers are recorded."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from bench.pickup import TIMES
from bench.table import Place, Stopwatch, Table, p, percentiles
from holdfast import App, Event, Holdfast, StateName

LISTENERS = 100
EVENTS = 300
JOBS = 4_000
PATIENCE_S = 120.0
ROWS_PER_SECOND = 10_000


def measure(place: Place) -> Table:
    """An event to its handler beside a job to its run; calls on record; a drain alone, and beside the recording."""
    rows: list[tuple[str, ...]] = []
    makes: dict[str, Callable[[], tuple[str, dict[str, Any]]]] = {
        "SQLite": lambda: (place.new_file(), {}),
        "PostgreSQL": lambda: (place.postgres_url, {"schema": place.new_schema()}),
    }
    for name, make in makes.items():
        jobs, events = _pickups(*make())
        rows.append((f"a job to its run, {name}", percentiles(jobs), ""))
        ratio = p(events, 50) / p(jobs, 50)
        rows.append((f"an event to its handler, {name}", percentiles(events), f"median {ratio:.2f} × that of a job"))
    for name, make in makes.items():
        recorded = _recorded(*make())
        rows.append(
            (f"calls on record, {name}", f"{recorded:,.0f} rows/s", f"{recorded / ROWS_PER_SECOND:.0%} of the target")
        )
        alone, beside = _drained(*make(), busy=False), _drained(*make(), busy=True)
        rows.append((f"a drain alone, {name}", f"{alone:,.0f} jobs/s", ""))
        rows.append(
            (f"a drain beside calls of handlers, {name}", f"{beside:,.0f} jobs/s", f"{beside / alone:.0%} of it")
        )
    return Table(
        "Apps",
        "From the call of `emit` (its commit included) to the first line of the handler, beside the same for a job, "
        f"{TIMES} times each in one process; the target is ≤ 1.2 ×. Calls on record: {EVENTS} events with {LISTENERS} "
        f"listeners each, until the last row is stored; the target is {ROWS_PER_SECOND:,} rows/s. A drain of {JOBS:,} "
        "jobs is to keep 60 % of its speed while another process has so many calls recorded on the same database.",
        rows,
    )


def _pickups(url: str, options: dict[str, Any]) -> tuple[list[float], list[float]]:
    hf = Holdfast(url, **options)
    seen: SimpleQueue[float] = SimpleQueue()

    @hf.task
    async def stamp() -> None:
        seen.put(time.monotonic())

    @hf.app("stamp")
    class Stamp(App):
        async def on_start(self) -> None:
            self.bus.on("stamp", self.on_stamp)

        async def on_stamp(self) -> None:
            seen.put(time.monotonic())

    jobs: list[float] = []
    events: list[float] = []
    with hf:
        for n in range(TIMES + 10):
            for took, say in ((jobs, stamp.enqueue), (events, lambda: hf.emit("stamp"))):
                start = time.monotonic()
                say()
                seconds = seen.get(timeout=PATIENCE_S) - start
                time.sleep(0.002)
                if n >= 10:
                    took.append(seconds)
    hf.close()
    return jobs, events


def _crowded(url: str, options: dict[str, Any]) -> Holdfast:
    """A program with an app of many listeners."""
    hf = Holdfast(url, **options)

    @hf.app("crowd")
    class Crowd(App):
        async def on_start(self) -> None:
            for number in range(LISTENERS):
                self.bus.on("crowd", self.on_event, name=f"l{number}")

        async def on_event(self, event: Event) -> None: ...

    return hf


def _calls(hf: Holdfast) -> int:
    return sum(sum(listener.counts.values()) for listener in hf.listeners())


def _recorded(url: str, options: dict[str, Any]) -> float:
    hf = _crowded(url, options)
    with hf:
        watch = Stopwatch()
        for _ in range(EVENTS):
            hf.emit("crowd")
        while _calls(hf) < EVENTS * LISTENERS:
            time.sleep(0.02)
        seconds = watch.look()
    hf.close()
    return EVENTS * LISTENERS / seconds


def _drained(url: str, options: dict[str, Any], *, busy: bool) -> float:
    """How fast a program empties its queue. Busy: another one has calls recorded on the same database."""
    hf = Holdfast(url, **options)

    @hf.task
    def work() -> None: ...

    for _ in range(0, JOBS, 1_000):
        work.enqueue_many([{}] * 1_000)
    beside = None
    if busy:
        words = [sys.executable, "-m", "bench.apps", url, options.get("schema", "holdfast")]
        beside = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert beside.stdout is not None
        beside.stdout.readline()
    watch = Stopwatch()
    with hf:
        while hf.counts()["default"].get(StateName.DONE, 0) < JOBS:
            time.sleep(0.01)
        seconds = watch.look()
    if beside is not None:
        beside.communicate()
    hf.close()
    return JOBS / seconds


def _call_handlers() -> None:
    """Have 10,000 calls a second recorded until the input ends."""
    hf = _crowded(sys.argv[1], {"schema": sys.argv[2]})
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    with hf:
        print("begun", flush=True)
        moment = time.monotonic()
        while not ended.is_set():
            hf.emit("crowd")
            moment += LISTENERS / ROWS_PER_SECOND
            time.sleep(max(0.0, moment - time.monotonic()))


if __name__ == "__main__":
    _call_handlers()
