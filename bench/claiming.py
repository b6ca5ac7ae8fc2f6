"""What a long history, many tenants and all gates cost: claims with a hundred thousand waiting jobs."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import apsw
import psycopg

from bench.table import Place, Table
from holdfast.core.jobs.requests import ClaimRequest, NewJob, QueueSlots, Report
from holdfast.core.jobs.settle import Completed
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.messages.reservations import NewReservation
from holdfast.core.messages.sessions import NewSession
from holdfast.core.rules.tokens import Tokens
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.values.subject import DEFAULT_TENANT
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Engine, Tx, new_uuid
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.machines.nodes import note_node
from holdfast.store.scripts.machines.tokens import note_tokens
from holdfast.store.scripts.maintenance.probed_machines import note_machine
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.scripts.queues.reserve import reserve
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.sessions import open_session
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import pyformat

ENDED = 1_000_000
WAITING = 100_000
CLAIMS = 300
SLOTS = 10
TENANTS = (1, 10, 1_000)
MANY = 1_000_000
HELD_BACK = 1_000
GATES = {"around": "behind gates", "own": "each with every gate of its own"}
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
        tied = _claims(_engine(place, name, ended=0, gone="gone"))
        label = f"{name}, {WAITING:,} waiting, {WAITING:,} tied to a machine that is gone"
        rows.append((label, f"{tied * 1e6:.0f} µs", f"{tied / plain:.2f} ×"))
        for gates, label in GATES.items():
            gated = _claims(_engine(place, name, ended=0, tenants=1, gates=gates))
            rows.append((f"{name}, {WAITING:,} waiting, {label}", f"{gated * 1e6:.0f} µs", f"{gated / plain:.2f} ×"))
    return Table(
        f"Claim of {SLOTS} jobs",
        f"Median of {CLAIMS}, inside the transaction, without the commit. Target ≤ 1.5 × that of an empty history and "
        "the default tenant alone, and ≤ 1.1 × beside jobs that are tied to a machine that is gone. Behind gates: a "
        "tenant, a queue with a limit and a rate, a reservation of another "
        f"queue, and {HELD_BACK:,} jobs in the same one that wait for tokens and an idle, charging machine. With every "
        "gate of its own: the machine is like that, and each job has a subject, takes a token and waits for it.",
        rows,
    )


def _engine(
    place: Place, name: str, ended: int, tenants: int = 0, *, gates: str = "", gone: str | None = None
) -> Engine:
    engine: Engine
    if name == "SQLite":
        path = place.new_file()
        engine = SqliteEngine(path, now=SystemClock().now)
        engine.submit(_nothing).result()
        if ended:
            with apsw.Connection(path) as connection:
                connection.execute(HISTORY, {"count": ended, "now": SystemClock().now()})
        return _fill(engine, tenants, gates, gone)
    schema = place.new_schema()
    engine = PostgresEngine(place.postgres_url, schema=schema, now=SystemClock().now)
    engine.submit(_nothing).result()
    with psycopg.connect(place.postgres_url, autocommit=True) as server:
        server.execute(f"SET search_path TO {schema}")
        if ended:
            text = pyformat(HISTORY)
            server.execute(text, {"count": ended, "now": SystemClock().now()})
        _fill(engine, tenants, gates, gone)
        server.execute("ANALYZE")
    return engine


def _fill(engine: Engine, tenants: int, gates: str, gone: str | None) -> Engine:
    """Jobs of so many tenants; 0: of the default tenant, who has no turns to wait for. Before them, those of a machine
    that is gone.
    """
    if gone is not None:
        engine.submit(note_node, gone, gone, 1).result()
        for _ in range(0, WAITING, 1_000):
            lost = [NewJob(id=new_uuid(), task="noop", node=gone) for _ in range(1_000)]
            engine.submit(enqueue, lost, 1).result()
    for start in range(0, WAITING, 1_000):
        jobs = [_job(number, tenants, gates == "own") for number in range(start, start + 1_000)]
        engine.submit(enqueue, jobs, 1).result()
    engine.submit(open_session, NewSession("bench", "embedded", "bench", "bench", 1, None), None, 1).result()
    if gates:
        engine.submit(_set_gates, has_room=gates == "own").result()
    return engine


def _job(number: int, tenants: int, asks_for_much: bool) -> NewJob:
    tenant = f"t{number % tenants}" if tenants else DEFAULT_TENANT
    if not asks_for_much:
        return NewJob(id=new_uuid(), task="noop", tenant=tenant)
    return NewJob(
        id=new_uuid(),
        task="noop",
        tenant=tenant,
        subject=f"s{number}",
        wait_for_idle=True,
        require_charging=True,
        tokens=Tokens(cpu=1),
    )


def _set_gates(tx: Tx, has_room: bool) -> None:
    """Every gate has something to decide. Without room, those jobs are held back that need some, or an idle machine."""
    set_queue(tx, "default", QueueChanges(concurrency=MANY, rate_limit=MANY, rate_window_ms=3_600_000))
    note_tokens(tx, "bench", TokenSetting(tokens=Tokens(cpu=MANY if has_room else 0)), is_daemon=True, now=1)
    judged = JudgedMachine(is_idle=has_room, idle="", is_charging=has_room, charging="", source="bench")
    note_machine(tx, "bench", judged, None, 1)
    reserve(tx, NewReservation(new_uuid(), "other", "bench", "bench", MANY, MANY), 1)
    if not has_room:
        enqueue(tx, [_job(number, 1, asks_for_much=True) for number in range(HELD_BACK)], 1)


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
