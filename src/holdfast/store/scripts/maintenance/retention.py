"""Delete what ended long ago, in small steps. Sessions and subjects stay."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.core.errors import Conflict
from holdfast.core.job import TERMINAL, JobId, Millis
from holdfast.core.jobs.requests import Enqueued, NewJob
from holdfast.core.tasks.reserved import BENCH
from holdfast.store.engine import Tx
from holdfast.store.scripts.jobs import enqueue
from holdfast.store.statements import sql

KEEP_MS: Millis = 7 * 86_400_000
BATCH = 200


def forget_old(tx: Tx, before: Millis, limit: int = BATCH) -> int:
    """Remove up to `limit` jobs that ended before a moment, with their runs. Less than `limit`: none is left."""
    old = tx.rows(sql.finished_before, before=before, limit=limit)
    tx.run_many(sql.delete_job, old)
    if len(old) < limit:
        tx.run(sql.delete_empty_groups, before=before)
    return len(old)


def forget_ended(tx: Tx, queue: str, task: str, before: Millis, limit: int = BATCH) -> int:
    """Remove ended jobs of one task of a system queue, which are kept for a shorter time than others."""
    which = {"queue": queue, "task": task, "before": before, "limit": limit}
    old = [row for state in sorted(TERMINAL) for row in tx.rows(sql.ended_in_queue, state=state, **which)]
    tx.run_many(sql.delete_job, old)
    return len(old)


def enqueue_measured(
    tx: Tx, ids: Sequence[JobId], now: Millis, repeated: bool = False, trigger: str | None = None
) -> list[Enqueued]:
    """Store the jobs of `holdfast bench`, which only measure."""
    if len(set(ids)) < len(ids) or (not repeated and known_jobs(tx, ids)):
        raise Conflict("some of these ids are taken already; make one for each job")
    jobs = [NewJob(id=id, task=BENCH, queue=BENCH, trigger=trigger) for id in ids]
    return enqueue.enqueue_any(tx, jobs, now, repeated)


def forget_measured(tx: Tx, now: Millis) -> int:
    """Remove some of the jobs that `holdfast bench` has run. 0: none is left."""
    return forget_ended(tx, BENCH, BENCH, now + 1)


def known_jobs(tx: Tx, ids: Sequence[JobId]) -> list[JobId]:
    """Which of these jobs still exist."""
    return [row["id"] for row in tx.rows(sql.known_jobs, ids=msgspec.json.encode(ids).decode())]
