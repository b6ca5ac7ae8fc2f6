"""What the passing of time does.

Due jobs become ready, and jobs that waited too long end. Events are told. Queues that their rate or their breaker held
back go on."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis, StateName
from holdfast.store.engine import Tx
from holdfast.store.scripts.jobs import endings
from holdfast.store.scripts.machines import pressure
from holdfast.store.scripts.maintenance.spread import spread
from holdfast.store.scripts.queues import breakers, reservations
from holdfast.store.statements import sql

BATCH = 500
EVENTS_AT_ONCE = 50  # A commit costs more than telling an event to the few jobs that usually wait for it.


class Ticked(Struct, frozen=True):
    """How many things changed, and whether there may be more to do now."""

    promoted: int
    expired: int
    more: bool


def tick(tx: Tx, now: Millis, limit: int = BATCH, events: int = 1) -> Ticked:
    """Do what is due: at most `limit` of each kind, and so many events."""
    late = tx.rows(sql.expired_by_deadline, now=now, limit=limit)
    for row in late:
        endings.end_waiting(tx, row["id"], StateName.SKIPPED_DEADLINE, "its deadline passed while it waited", now)
    promoted = tx.rows(sql.promote_due, now=now, limit=limit)
    tx.changes.ready.update(row["queue"] for row in promoted)
    reached = spread(tx, now, events=events)
    # If nothing ran for a while, some of these have been ready for too long. They end before a claim can start them.
    stale = tx.rows(sql.expired_by_ttl, now=now, limit=limit + len(promoted) + reached)
    for row in stale:
        endings.end_waiting(tx, row["id"], StateName.SKIPPED_TTL, "it was ready for longer than its time to live", now)
    opened = tx.rows(sql.open_queues, now=now)
    tx.changes.ready.update(row["name"] for row in opened)
    probing = breakers.half_open(tx, now)
    pressure.allow_pulls(tx, now)
    reservations.expire_due(tx, now)
    most = max(len(late), len(stale), len(promoted))
    return Ticked(len(promoted) + len(opened) + probing + reached, len(late) + len(stale), most >= limit or reached > 0)


def next_moment(tx: Tx) -> Millis | None:
    """When there will next be something to do, or None."""
    moment: Millis | None = tx.value(sql.next_moment)
    return moment
