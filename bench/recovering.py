"""Settling what a dead session left behind."""

from __future__ import annotations

from bench.table import Place, Table, stopwatch
from holdfast.core.jobs.requests import ClaimRequest, NewJob, QueueSlots
from holdfast.core.messages.sessions import NewSession
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Engine, new_uuid
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.scripts.sessions.sessions import open_session
from holdfast.store.sqlite.engine import SqliteEngine

RUNS = 10_000


def measure(place: Place) -> Table:
    """Ten thousand open runs of one session, as many short scripts."""
    clock = SystemClock()
    engines: dict[str, Engine] = {
        "SQLite": SqliteEngine(place.new_file(), now=clock.now),
        "PostgreSQL": PostgresEngine(place.postgres_url, schema=place.new_schema(), now=clock.now),
    }
    rows = []
    for name, engine in engines.items():
        _fill(engine)
        with stopwatch() as watch:
            while engine.submit(recover, "dead", False, clock.now()).result().more:
                pass
        engine.close()
        rows.append((name, f"{watch.seconds * 1000:.0f} ms", f"{watch.seconds / 1.0:.0%} of the second it may take"))
    return Table("Recovery", f"{RUNS:,} RUNNING jobs of a dead session settled. Target ≤ 1 s.", rows)


def _fill(engine: Engine) -> None:
    engine.submit(open_session, NewSession("dead", "embedded", "bench", "bench", 1, None), None, 1).result()
    request = ClaimRequest(session_id="dead", slots=1_000, queues=(QueueSlots("default", 1_000),), tasks=("noop",))
    for _ in range(0, RUNS, 1_000):
        engine.submit(enqueue, [NewJob(id=new_uuid(), task="noop") for _ in range(1_000)], 1).result()
        engine.submit(claim, request, 2).result()
