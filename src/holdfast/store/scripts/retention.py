"""Forget what ended long ago, in small steps. Sessions and subjects stay."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.core.job import JobId, Millis
from holdfast.store.engine import Tx
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


def known_jobs(tx: Tx, ids: Sequence[JobId]) -> list[JobId]:
    """Which of these jobs still exist."""
    return [row["id"] for row in tx.rows(sql.known_jobs, ids=msgspec.json.encode(ids).decode())]
