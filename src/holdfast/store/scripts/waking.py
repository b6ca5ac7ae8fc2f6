"""Whom a change lets start something: told in the transaction that makes it, so that nobody sleeps through it.

Most of it is told where it happens. Here is what concerns others than those whom it happens to: what a run kept from
starting while it lasted, and what was held back for the sake of one job, which comes first.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from holdfast.core.job import JobId
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


def wake_ready(tx: Tx) -> None:
    """Every queue that has ready jobs."""
    tx.changes.ready.update(row["queue"] for row in tx.rows(sql.ready_queues))


def wake_token_queues(tx: Tx) -> None:
    """There may be room for jobs that wait for tokens."""
    tx.changes.ready.update(row["queue"] for row in tx.rows(sql.token_queues))


def wake_after_runs(tx: Tx, job_ids: Collection[JobId]) -> None:
    """Runs of these jobs have ended, however: what they kept from starting may start now.

    Whoever claims in the same transaction calls it after that: what he took is running by then.
    """
    if job_ids and tx.value(sql.any_held_by_runs):
        ids = msgspec.json.encode(list(job_ids)).decode()
        tx.changes.ready.update(row["queue"] for row in tx.rows(sql.freed_queues, ids=ids))


def wake_held_back(tx: Tx) -> None:
    """Something may not start any more. If others were held back for its sake, they need not be now.

    Room is kept for a job that waits for tokens, and a worker is left to run empty for one that runs alone. Usually no
    such job waits, and that is all that is looked at.
    """
    if tx.value(sql.any_favoured):
        wake_ready(tx)
