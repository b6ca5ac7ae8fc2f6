"""What a hundred thousand jobs cost that wait for an event, or for the machine, until it comes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from bench.table import Place, Table
from holdfast.core.jobs.requests import ClaimRequest, NewJob, QueueSlots, Report
from holdfast.core.jobs.settle import Completed
from holdfast.core.messages.sessions import NewSession
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Engine, Tx, new_uuid
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.maintenance.clockwork import next_moment, tick
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.sessions import open_session
from holdfast.store.sqlite.engine import SqliteEngine

WAITING = 100_000
STEP = 1_000
CYCLES = 200
EVENTS = 100
SLOTS = 10
NOW = 1_000

ENGINES = ("SQLite", "PostgreSQL")
CROWDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "nobody waits": lambda number: {},
    "wait for events": lambda number: {
        "wait_for_event": "file:*" if number % 4 else "file:saved",
        "event_attributes": {"path": f"src/{number}.py", "branch": "main"},
    },
    "wait for an idle machine": lambda number: {"wait_for_idle": True},
}


def measure(place: Place) -> Table:
    """The same work beside each crowd, and the event that reaches one of them."""
    rows: list[tuple[str, ...]] = []
    for name in ENGINES:
        alone: Sequence[float] = ()
        for crowd, options in CROWDS.items():
            engine = _engine(place, name)
            if crowd != "nobody waits":
                _fill(engine, options)
            took = _work(engine)
            label = crowd if crowd == "nobody waits" else f"{WAITING:,} {crowd}"
            alone = alone or took
            for what, seconds, base in zip(_WHAT, took, alone, strict=True):
                compared = "" if crowd == "nobody waits" else f"{seconds / base:.2f} ×"
                rows.append((f"{name}, {label}: {what}", f"{seconds * 1e6:.0f} µs", compared))
            if crowd == "wait for events":
                rows.append((f"{name}, an event that reaches one of them", f"{_reach(engine) * 1e6:.0f} µs", ""))
            engine.close()
    return Table(
        "Jobs that wait",
        f"Median inside the transaction, without the commit: the life of {SLOTS} other jobs of the same queue ("
        f"enqueue, claim, finish; {CYCLES} times), an event that nobody waits for ({EVENTS} times), and a look at what "
        "the clock will change next. Those that wait cost nothing until what they wait for comes.",
        rows,
    )


_WHAT = (f"life of {SLOTS} jobs", "event for nobody", "look at the clock")


def _engine(place: Place, name: str) -> Engine:
    now = SystemClock().now
    engine: Engine = (
        SqliteEngine(place.new_file(), now=now)
        if name == "SQLite"
        else PostgresEngine(place.postgres_url, schema=place.new_schema(), now=now)
    )
    engine.submit(open_session, NewSession("bench", "embedded", "bench", "bench", 1, None), None, NOW).result()
    return engine


def _fill(engine: Engine, options: Callable[[int], dict[str, Any]]) -> None:
    for start in range(0, WAITING, STEP):
        jobs = [NewJob(id=new_uuid(), task="noop", **options(number)) for number in range(start, start + STEP)]
        engine.submit(enqueue, jobs, NOW).result()


def _work(engine: Engine) -> tuple[float, float, float]:
    lives = [engine.submit(_timed, _life).result() for _ in range(CYCLES)]
    events = [engine.submit(_timed, _unheard).result() for _ in range(EVENTS)]
    looks = [engine.submit(_timed, next_moment).result() for _ in range(EVENTS)]
    return median(lives[10:]), median(events[10:]), median(looks[10:])


def _reach(engine: Engine) -> float:
    numbers = iter(range(0, WAITING, WAITING // EVENTS))

    def heard(tx: Tx) -> None:
        path = f"src/{next(numbers)}.py"
        told = emit(tx, new_uuid(), "file:saved", {"path": path, "branch": "main", "by": "editor"}, NOW)
        assert told.waiting == 1
        tick(tx, NOW)

    return median([engine.submit(_timed, heard).result() for _ in range(EVENTS - 1)])


def _timed(tx: Tx, step: Callable[[Tx], object]) -> float:
    start = time.perf_counter()
    step(tx)
    return time.perf_counter() - start


def _life(tx: Tx) -> None:
    enqueue(tx, [NewJob(id=new_uuid(), task="noop") for _ in range(SLOTS)], NOW)
    request = ClaimRequest(session_id="bench", slots=SLOTS, queues=(QueueSlots("default", SLOTS),), tasks=("noop",))
    claimed = claim(tx, request, NOW)
    assert len(claimed) == SLOTS
    finish(tx, [Report(run.run_id, run.job_id, Completed("null"), 0) for run in claimed], NOW)


def _unheard(tx: Tx) -> None:
    emit(tx, new_uuid(), "nobody:cares", {"path": "src/1.py"}, NOW)
