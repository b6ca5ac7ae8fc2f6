"""Tell stored events to what waits for them: jobs go on, and webhooks get deliveries."""

from __future__ import annotations

from holdfast.core.job import Millis
from holdfast.store.engine import Tx
from holdfast.store.scripts.events.events import EventRow, waiters_for, waiting
from holdfast.store.scripts.jobs import endings
from holdfast.store.scripts.webhooks import deliveries
from holdfast.store.statements import sql

BATCH = 100


def is_spreading(tx: Tx) -> bool:
    """Whether an event is still to be told."""
    return tx.one(sql.spreading_event, EventRow) is not None


def spread(tx: Tx, now: Millis, limit: int = BATCH, events: int = 1) -> int:
    """Tell at most `events` of the oldest untold events to at most `limit` jobs.

    Return how many jobs were told. An event without any counts as one. 0: no event is to be told.
    """
    reached = 0
    for _ in range(events):
        step = _bring_oldest(tx, now, limit - reached)
        reached += step
        if not step or reached >= limit:
            break
    return reached


def _bring_oldest(tx: Tx, now: Millis, limit: int) -> int:
    row = tx.one(sql.spreading_event, EventRow)
    if row is None:
        return 0
    event = row.to_event()
    waiters = waiters_for(tx, event.name, event.attributes)
    found = waiting(tx, waiters.keys, row.upto_number, limit)
    for item in found:
        # Also if the job has ended meanwhile: otherwise its conditions would be found again and again.
        satisfied = tx.run(sql.satisfy_event, job_id=item.job_id, event_id=event.id, emitted_at=event.emitted_at)
        if item.state == "SCHEDULED":
            endings.count_down(tx, item.job_id, satisfied, now)
    if len(found) < limit:
        deliveries.deliver(tx, event, waiters.webhooks, now)
        tx.run(sql.end_spreading, id=event.id)
    return max(1, len(found))
