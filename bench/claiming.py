"""What a long history and many tenants cost: claims with a million ended and a hundred thousand waiting jobs."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import apsw
import psycopg

from bench.table import Place, Table
from holdfast.core.requests import ClaimRequest, NewJob, QueueSlots, Report
from holdfast.core.settle import Completed
from holdfast.core.subject import DEFAULT_TENANT
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Engine, Tx, new_uuid
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.claim import claim
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.finish import finish
from holdfast.store.scripts.sessions import NewSession, open_session
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import pyformat

ENDED = 1_000_000
WAITING = 100_000
CLAIMS = 300
SLOTS = 10
TENANTS = (1, 10, 1_000)
HISTORY = Path(__file__).with_name("history.sql").read_text("utf-8")


def measure(place: Place) -> Table:
    """The median claim of ten jobs with and without a history or tenants, on both engines."""
    rows = []
    for name in ("SQLite", "PostgreSQL"):
        plain = _claims(_engine(place, name, ended=0))
        long = _claims(_engine(place, name, ended=ENDED))
        rows.append((f"{name}, {WAITING:,} waiting, no history", f"{plain * 1e6:.0f} µs", ""))
        rows.append((f"{name}, {WAITING:,} waiting, {ENDED:,} ended", f"{long * 1e6:.0f} µs", f"{long / plain:.2f} ×"))
        for tenants in TENANTS:
            shared = _claims(_engine(place, name, ended=0, tenants=tenants))
            label = f"{name}, {WAITING:,} waiting, of {tenants:,} tenant{'s' * (tenants > 1)}"
            rows.append((label, f"{shared * 1e6:.0f} µs", f"{shared / plain:.2f} ×"))
    return Table(
        f"Claim of {SLOTS} jobs",
        f"Median of {CLAIMS}, inside the transaction, without the commit. Target ≤ 1.5 × that of an empty history and "
        "the default tenant alone.",
        rows,
    )


def _engine(place: Place, name: str, ended: int, tenants: int = 0) -> Engine:
    engine: Engine
    if name == "SQLite":
        path = place.new_file()
        engine = SqliteEngine(path, now=SystemClock().now)
        engine.submit(_nothing).result()
        if ended:
            with apsw.Connection(path) as connection:
                connection.execute(HISTORY, {"count": ended, "now": SystemClock().now()})
        return _fill(engine, tenants)
    schema = place.new_schema()
    engine = PostgresEngine(place.postgres_url, schema=schema, now=SystemClock().now)
    engine.submit(_nothing).result()
    with psycopg.connect(place.postgres_url, autocommit=True) as server:
        server.execute(f"SET search_path TO {schema}")
        if ended:
            text = pyformat(HISTORY)
            server.execute(text, {"count": ended, "now": SystemClock().now()})
        _fill(engine, tenants)
        server.execute("ANALYZE")
    return engine


def _fill(engine: Engine, tenants: int) -> Engine:
    """Jobs of so many tenants; 0: of the default tenant, who has no turns to wait for."""
    for start in range(0, WAITING, 1_000):
        jobs = [
            NewJob(id=new_uuid(), task="noop", tenant=f"t{number % tenants}" if tenants else DEFAULT_TENANT)
            for number in range(start, start + 1_000)
        ]
        engine.submit(enqueue, jobs, 1).result()
    engine.submit(open_session, NewSession("bench", "embedded", "bench", "bench", 1, None), None, 1).result()
    return engine


def _claims(engine: Engine) -> float:
    took = []
    request = ClaimRequest(session_id="bench", slots=SLOTS, queues=(QueueSlots("default", SLOTS),), tasks=("noop",))

    def timed(tx: Tx) -> float:
        start = time.perf_counter()
        claimed = claim(tx, request, 2)
        seconds = time.perf_counter() - start
        assert len(claimed) == SLOTS
        finish(tx, [Report(run.run_id, run.job_id, Completed("null"), 0) for run in claimed], 3)
        return seconds

    took = [engine.submit(timed).result() for _ in range(CLAIMS)]
    engine.close()
    return median(took[10:])


def _nothing(tx: Tx) -> None:
    """Opens the database."""
