"""What apsw alone reaches: the same rows into the same schema in the same batches, in one thread."""

from __future__ import annotations

import time
from typing import Any

from bench.table import Stopwatch, stopwatch
from holdfast.core.jobs.requests import NewJob
from holdfast.core.messages.sessions import NewSession
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Tx, new_uuid
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.sessions.sessions import open_session
from holdfast.store.sqlite.connection import connect
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import sql

SESSION = "00000000-0000-7000-8000-000000000000"


def full_life(path: str, jobs: int, batch: int) -> Stopwatch:
    """Insert, claim and finish every job; three commits for each batch, as separate steps need."""
    row = _a_row_as_holdfast_writes_it(path)
    connection = connect(path, writable=True, durability="full")
    connection.execute("PRAGMA wal_autocheckpoint = 2000")
    with stopwatch() as watch:
        for _ in range(0, jobs, batch):
            now = time.time_ns() // 1_000_000
            rows = [row | {"id": new_uuid(), "created_at": now, "queued_at": now} for _ in range(batch)]
            with connection:
                numbers = [number for (number,) in connection.cursor().executemany(sql.insert_job.sqlite, rows)]
            claims = _claims(numbers, rows, now)
            with connection:
                connection.cursor().executemany(sql.claim_job.sqlite, claims)
                connection.cursor().executemany(sql.insert_run.sqlite, claims)
            with connection:
                connection.cursor().executemany(sql.close_completed_run.sqlite, claims)
                for _ in connection.cursor().executemany(sql.complete_job.sqlite, claims):
                    pass
    connection.close()
    return watch


def _claims(numbers: list[int], rows: list[dict[str, Any]], now: int) -> list[dict[str, Any]]:
    return [
        {
            "number": number,
            "job_id": row["id"],
            "run_id": new_uuid(),
            "session_id": SESSION,
            "worker_id": SESSION,
            "now": now,
            "attempt": 1,
            "payload": row["payload"],
            "trace_id": None,
            "template_id": None,
            "duration_ms": 0,
            "exit_code": None,
            "result": "null",
            "artifacts": None,
            "artifact_path": None,
            "log_path": None,
            "secret_hash": None,
        }
        for number, row in zip(numbers, rows, strict=True)
    ]


def _a_row_as_holdfast_writes_it(path: str) -> dict[str, Any]:
    engine = SqliteEngine(path, now=SystemClock().now)
    kept: list[dict[str, Any]] = []

    class Spy:
        """Hands the row to us instead of the database; whatever is read comes from there."""

        def __init__(self, tx: Tx) -> None:
            self._tx = tx

        def __getattr__(self, name: str) -> Any:
            return getattr(self._tx, name)

        def rows_many(self, statement: object, rows: list[dict[str, Any]]) -> list[tuple[int]]:
            kept.extend(rows)
            return [(number,) for number in range(len(rows))]

    def look(tx: Tx) -> None:
        open_session(tx, NewSession(SESSION, "embedded", "bench", "bench", 1, None), None, 0)
        enqueue(Spy(tx), [NewJob(id="x", task="noop")], 0)  # type: ignore[arg-type]

    engine.submit(look).result()
    engine.close()
    return kept[0]
