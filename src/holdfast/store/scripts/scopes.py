"""Who has which scope: reservations that stand in line, are granted, and end. Whoever came first has it first."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import NotFound
from holdfast.core.job import Millis, SessionId
from holdfast.store.engine import Tx
from holdfast.store.scripts.reporting import say_expired
from holdfast.store.statements import sql

EVERYTHING = "*"


class Reservation(Struct, frozen=True):
    """A row of `direct_reservations`. WAITING: others are first. ACTIVE: granted once nothing runs in its scope."""

    id: str
    scope: str
    reserved_by: str
    session_id: SessionId
    status: str
    ttl_ms: Millis
    reserved_at: Millis
    granted_at: Millis | None
    expires_at: Millis
    ended_at: Millis | None


def overlap(one: str, other: str) -> bool:
    """Whether two scopes have a queue in common."""
    return one == other or EVERYTHING in (one, other)


def named(scope: str) -> str:
    """A scope as people call it."""
    return "everything" if scope == EVERYTHING else f"queue {scope!r}"


def whose(first: Reservation, wanted: str) -> str:
    """Who has what somebody wanted, or waits for it before them."""
    more = "" if first.scope == wanted else f", who reserved {named(first.scope)}"
    return f"{named(wanted)} is reserved by {first.reserved_by}{more}"


def find_reservation(tx: Tx, reservation_id: str) -> Reservation:
    """The reservation, or NotFound."""
    found = tx.one(sql.reservation_of_id, Reservation, id=reservation_id)
    if found is None:
        raise NotFound(f"there is no reservation {reservation_id!r}")
    return found


def grant(tx: Tx, reservation_id: str, now: Millis) -> Reservation:
    """Grant the reservation if nothing runs in its scope any more; its time to live counts from then."""
    held = find_reservation(tx, reservation_id)
    if held.status == "ACTIVE" and held.granted_at is None and not tx.value(sql.running_in_scope, scope=held.scope):
        tx.run(sql.grant_reservation, id=held.id, now=now, expires_at=now + held.ttl_ms)
        tx.changes.due = True
        return find_reservation(tx, reservation_id)
    return held


def expire_due(tx: Tx, now: Millis) -> None:
    """End those whose time is over."""
    ended = tx.rows(sql.expire_reservations, now=now) + tx.rows(sql.expire_waiting_reservations, now=now)
    _after_expiry(tx, ended, now)


def expire_of_session(tx: Tx, session_id: SessionId, now: Millis) -> None:
    """End those of a process that is gone."""
    _after_expiry(tx, tx.rows(sql.expire_reservations_of_session, session_id=session_id, now=now), now)


def _after_expiry(tx: Tx, ended: list[dict[str, str]], now: Millis) -> None:
    for row in ended:
        say_expired(tx, row["id"], named(row["scope"]), row["reserved_by"])
    if ended:
        let_in(tx, now)


def let_in(tx: Tx, now: Millis) -> None:
    """Something has ended: the next in line have their turn, each unless somebody before him has a queue of his."""
    tx.changes.unknown = True
    ahead = [held.scope for held in tx.all(sql.active_reservations, Reservation)]
    for waiting in tx.all(sql.waiting_reservations, Reservation):
        if not any(overlap(waiting.scope, scope) for scope in ahead):
            # Until it is granted, it may still wait for what runs as long as its patience lasts.
            expires_at = max(waiting.expires_at, now) + waiting.ttl_ms
            tx.run(sql.activate_reservation, id=waiting.id, expires_at=expires_at)
            tx.changes.due = True
            grant(tx, waiting.id, now)
        ahead.append(waiting.scope)
