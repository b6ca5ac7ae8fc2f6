"""Wake workers when a change elsewhere lets their queue start a job.

A run that held them back has ended, or one job no longer goes first.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from holdfast.core.job import JobId
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


def wake_ready(tx: Tx) -> None:
    """Wake the workers of every queue that has ready jobs."""
    tx.changes.ready.update(row["queue"] for row in tx.rows(sql.ready_queues))


def wake_token_queues(tx: Tx) -> None:
    """Wake the workers of queues whose jobs wait for tokens."""
    tx.changes.ready.update(row["queue"] for row in tx.rows(sql.token_queues))


def wake_after_runs(tx: Tx, job_ids: Collection[JobId]) -> None:
    """Runs of these jobs have ended. Wake the workers of queues that they held back.

    A caller that claims in the same transaction calls this after the claim: what it took is running by then.
    """
    if job_ids and tx.value(sql.any_held_by_runs):
        ids = msgspec.json.encode(list(job_ids)).decode()
        tx.changes.ready.update(row["queue"] for row in tx.rows(sql.freed_queues, ids=ids))


def wake_held_back(tx: Tx) -> None:
    """A job has started, or may not start now. If others may have been held back for it, wake all.

    Tokens are kept for a job that waits for them. A worker starts nothing before a job that runs alone. Usually no such
    job waits, and this reads one row.
    """
    if tx.value(sql.any_favoured):
        wake_ready(tx)
