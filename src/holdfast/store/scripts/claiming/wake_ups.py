"""Wake the workers of queues that may start a job, in the transaction that lets them.

Most scripts do that where it happens. Here are the queues that a change concerns indirectly: those that a run held back
until it ended, and those that were held back in favour of one job.
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
    """A job may not start any more. Wake all, if others were held back in favour of it.

    Tokens are kept for a job that waits for them, and a worker starts nothing before a job that runs alone. Usually no
    such job waits. Then one look is all.
    """
    if tx.value(sql.any_favoured):
        wake_ready(tx)
