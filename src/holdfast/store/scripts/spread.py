"""Bring events to who waits for them: jobs that go on, webhooks that are delivered to."""

from __future__ import annotations

from holdfast.core.job import Millis
from holdfast.store.engine import Tx
from holdfast.store.scripts.deliveries import deliver
from holdfast.store.scripts.endings import count_down
from holdfast.store.scripts.events import EventRow, heard_by, waiting
from holdfast.store.statements import sql

BATCH = 100


def is_spreading(tx: Tx) -> bool:
    """Whether an event is under way."""
    return tx.one(sql.spreading_event, EventRow) is not None


def spread(tx: Tx, now: Millis, limit: int = BATCH, events: int = 1) -> int:
    """Bring at most `events` of the oldest that are under way to at most `limit` who wait.

    How many were reached, an event that reached nobody counting as one; 0: none is under way.
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
    heard = heard_by(tx, event.name, event.attributes)
    found = waiting(tx, heard.keys, row.upto_number, limit)
    for item in found:
        # Of a job that has ended meanwhile the conditions come true as well, or they would be found again and again.
        satisfied = tx.run(sql.satisfy_event, job_id=item.job_id, event_id=event.id, emitted_at=event.emitted_at)
        if item.state == "SCHEDULED":
            count_down(tx, item.job_id, satisfied, now)
    if len(found) < limit:
        deliver(tx, event, heard.webhooks, now)
        tx.run(sql.end_spreading, id=event.id)
    return max(1, len(found))
