"""What nobody has to ask for: due jobs become ready, jobs that waited too long end, events reach who waits for them,
and queues that start only so many in a time, or were held back by their breaker, go on."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis, StateName
from holdfast.store.engine import Tx
from holdfast.store.scripts.breakers import half_open
from holdfast.store.scripts.endings import end_waiting
from holdfast.store.scripts.pressed import allow_pulls
from holdfast.store.scripts.scopes import expire_due
from holdfast.store.scripts.spread import spread
from holdfast.store.statements import sql

BATCH = 500
EVENTS_AT_ONCE = 50  # Each commit costs more than what an event does to those few who usually wait for it.


class Ticked(Struct, frozen=True):
    """What changed, and whether there may be more to do at the same moment."""

    promoted: int
    expired: int
    more: bool


def tick(tx: Tx, now: Millis, limit: int = BATCH, events: int = 1) -> Ticked:
    """Move everything forward whose time has come, at most `limit` of each kind, and so many events."""
    late = tx.rows(sql.expired_by_deadline, now=now, limit=limit)
    for row in late:
        end_waiting(tx, row["id"], StateName.SKIPPED_DEADLINE, "its deadline passed while it waited", now)
    promoted = tx.rows(sql.promote_due, now=now, limit=limit)
    tx.changes.ready.update(row["queue"] for row in promoted)
    reached = spread(tx, now, events=events)
    # Some may have been ready for too long when somebody ran at last; nobody shall claim those in between.
    stale = tx.rows(sql.expired_by_ttl, now=now, limit=limit + len(promoted) + reached)
    for row in stale:
        end_waiting(tx, row["id"], StateName.SKIPPED_TTL, "it was ready for longer than its time to live", now)
    opened = tx.rows(sql.open_queues, now=now)
    tx.changes.ready.update(row["name"] for row in opened)
    probing = half_open(tx, now)
    allow_pulls(tx, now)
    expire_due(tx, now)
    most = max(len(late), len(stale), len(promoted))
    return Ticked(len(promoted) + len(opened) + probing + reached, len(late) + len(stale), most >= limit or reached > 0)


def next_moment(tx: Tx) -> Millis | None:
    """When the clock will next change something, or None."""
    moment: Millis | None = tx.value(sql.next_moment)
    return moment
