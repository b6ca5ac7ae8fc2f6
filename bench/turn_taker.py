"""What one version measures in turns with another: run by `bench.turns`, in the folder of that version.

It uses only what the `bench` of older versions has too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from bench.table import Place

WAITING = 20_000
BACKLOG = 1_000
PICKUPS = 40
SINGLES = 200
CLAIMS = 30


Turn: TypeAlias = Callable[[], list[float]]  # gives how many seconds each one took
AT_THE_END = ExitStack()  # what has to be stopped
KINDS: dict[str, dict[str, Any]] = {
    "": {},
    ", of 10 tenants": {"tenants": 10},
    ", of 1,000 tenants": {"tenants": 1_000},
    ", as many tied to a machine that is gone": {"gone": "gone"},
    ", behind gates": {"tenants": 1, "gates": "around"},
    ", each with every gate of its own": {"tenants": 1, "gates": "own"},
}


def full_life(place: Place) -> dict[str, Turn]:
    """Jobs are enqueued while a worker runs them. The time is that of one job."""
    from bench.full_life import holdfast

    def on(new: Callable[[], tuple[str, dict[str, str]]]) -> Turn:
        def turn() -> list[float]:
            url, options = new()
            return [holdfast(url, BACKLOG, **options).seconds / BACKLOG]

        return turn

    return {name: on(new) for name, new in _databases(place).items()}


def drain(place: Place) -> dict[str, Turn]:
    """A backlog is there when the worker starts. The time is that of one job."""
    from bench import draining

    draining.JOBS = BACKLOG

    def on(new: Callable[[], tuple[str, dict[str, str]]], **options: Any) -> Turn:
        def turn() -> list[float]:
            url, where = new()
            return [draining.drain(url, **options, **where) / BACKLOG]

        return turn

    new = _databases(place)
    return {
        "SQLite, functions in threads": on(new["SQLite"], kind="function"),
        "SQLite, functions, one slot": on(new["SQLite"], kind="function", concurrency=1),
        "SQLite, coroutines": on(new["SQLite"], kind="coroutine"),
        "SQLite, coroutines, 100 slots": on(new["SQLite"], kind="coroutine", concurrency=100),
        "PostgreSQL, coroutines": on(new["PostgreSQL"], kind="coroutine"),
    }


def pickup(place: Place) -> dict[str, Turn]:
    """From the call of `enqueue` to the first line of the task, in one process."""
    from bench.pickup import make

    def on(url: str, options: dict[str, str]) -> Turn:
        hf, stamp = make(url, options)
        hf.start()

        def turn() -> list[float]:
            took = []
            for _ in range(PICKUPS):
                start = time.monotonic()
                took.append(stamp.enqueue().result(30) - start)
            return took

        turn()
        return turn

    return {name: on(*new()) for name, new in _databases(place).items()}


def claim(place: Place) -> dict[str, Turn]:
    """Ten of many waiting jobs, inside the transaction, without the commit."""
    claiming: Any = import_module("bench.claiming")  # The names that it imports have moved between versions.
    claiming.WAITING = WAITING
    ten = claiming.SLOTS
    request = claiming.ClaimRequest(
        session_id="bench", slots=ten, queues=(claiming.QueueSlots("default", ten),), tasks=("noop",)
    )

    def timed(tx: Any) -> float:
        start = time.perf_counter()
        claimed = claiming.claim(tx, request, 2)
        seconds = time.perf_counter() - start
        assert len(claimed) == ten, "nothing is left to claim: ask for fewer turns"
        done = claiming.Completed("null")
        claiming.finish(tx, [claiming.Report(run.run_id, run.job_id, done, 0) for run in claimed], 3)
        return seconds

    def on(engine: Any) -> Turn:
        def turn() -> list[float]:
            return [engine.submit(timed).result() for _ in range(CLAIMS)]

        turn()
        return turn

    return {
        f"{name}, {WAITING:,} waiting{kind}": on(claiming._engine(place, name, ended=0, **options))
        for name in ("SQLite", "PostgreSQL")
        for kind, options in KINDS.items()
    }


def single(place: Place) -> dict[str, Turn]:
    """One job at a time: embedded, through a daemon, and between two processes that share a file."""
    from bench.pickup import make
    from bench.through_daemon import client, running_daemon

    _, stamp = make(place.new_file(), {})
    url = place.new_file()
    _, across = make(url, {})
    worker = subprocess.Popen([sys.executable, "-m", "bench.pickup", url, "holdfast"], stdin=subprocess.PIPE)
    AT_THE_END.callback(worker.communicate)
    # Of this one, no worker runs the jobs that are enqueued.
    _, noop, _ = client(AT_THE_END.enter_context(running_daemon(place, workers=False)))
    served, run, run_stamp = client(AT_THE_END.enter_context(running_daemon(place, workers=True)))

    def enqueue(task: Any) -> Turn:
        return lambda: [_seconds(task.enqueue) for _ in range(SINGLES)]

    def picked_up(task: Any) -> Turn:
        def turn() -> list[float]:
            took = []
            for _ in range(PICKUPS):
                start = time.monotonic()
                took.append(task.enqueue().result(30) - start)
            return took

        return turn

    def mixed() -> list[float]:
        start = time.monotonic()
        for _ in range(SINGLES):
            run.enqueue()
        return [(run_stamp.enqueue().result(30) - start) / SINGLES]

    def drained() -> list[float]:
        served.pause("default")
        run.enqueue_many([{}] * BACKLOG)
        last = run_stamp.options(priority=-1).enqueue()
        start = time.monotonic()
        served.resume("default")
        return [(last.result(30) - start) / BACKLOG]

    turns = {
        "enqueue, embedded": enqueue(stamp),
        "enqueue, through the daemon": enqueue(noop),
        "mixed, through the daemon": mixed,
        "pickup, through the daemon": picked_up(run_stamp),
        "pickup, between two processes": picked_up(across),
        "drain, through the daemon": drained,
    }
    for turn in turns.values():
        turn()
    return turns


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _databases(place: Place) -> dict[str, Callable[[], tuple[str, dict[str, str]]]]:
    """For each engine, what makes a new database: its address, and what it needs besides."""
    return {
        "SQLite": lambda: (place.new_file(), {}),
        "PostgreSQL": lambda: (place.postgres_url, {"schema": place.new_schema()}),
    }


MEASUREMENTS: dict[str, Callable[[Place], dict[str, Turn]]] = {
    "full_life": full_life,
    "drain": drain,
    "pickup": pickup,
    "claim": claim,
    "single": single,
}


def serve() -> None:
    """Measure what the command line names."""
    name, folder, url = sys.argv[1:]
    with AT_THE_END:
        take_turns(MEASUREMENTS[name](Place(Path(folder), url)))
    os._exit(0)  # What else was started for the turns needs no end of its own.


def take_turns(turns: dict[str, Turn]) -> None:
    """Take a turn for each line that comes."""
    print(msgspec.json.encode(list(turns)).decode(), flush=True)
    for line in sys.stdin:
        print(msgspec.json.encode(turns[line.rstrip("\n")]()).decode(), flush=True)


if __name__ == "__main__":
    serve()
