"""Direct reservation: keep a queue, or everything, free of new runs while somebody uses the machine directly."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import Busy, NotFound
from holdfast.core.job import Millis, SessionId
from holdfast.store.engine import Tx
from holdfast.store.scripts.sessions import SessionRow
from holdfast.store.statements import sql

EVERYTHING = "*"


class Reservation(Struct, frozen=True):
    """A row of `direct_reservations`. Granted once nothing runs in its scope."""

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


class NewReservation(Struct, frozen=True):
    """A request for a reservation; `wait_ms` bounds how long it may stand before it is granted."""

    id: str
    scope: str
    reserved_by: str
    session_id: SessionId
    ttl_ms: Millis
    wait_ms: Millis


def reserve(tx: Tx, request: NewReservation, now: Millis) -> Reservation:
    """Stop new runs in the scope from now on. Refused with Busy while an overlapping reservation is active."""
    if tx.one(sql.reservation_of_id, Reservation, id=request.id) is not None:
        return grant(tx, request.id, now)  # The call is a repeat.
    if tx.one(sql.session_of_id, SessionRow, id=request.session_id) is None:
        raise NotFound(f"there is no session {request.session_id!r} that lives; a reservation ends with its session")
    if tx.run(sql.expire_reservations, now=now):
        tx.changes.unknown = True
    for other in tx.all(sql.active_reservations, Reservation):
        if request.scope in (other.scope, EVERYTHING) or other.scope == EVERYTHING:
            raise Busy(
                f"{request.scope!r} is reserved by {other.reserved_by} ({other.scope!r}); wait until it is released"
            )
    tx.run(
        sql.insert_reservation,
        id=request.id,
        scope=request.scope,
        reserved_by=request.reserved_by,
        session_id=request.session_id,
        ttl_ms=request.ttl_ms,
        now=now,
        expires_at=now + request.wait_ms + request.ttl_ms,
    )
    tx.changes.due = True
    return grant(tx, request.id, now)


def grant(tx: Tx, reservation_id: str, now: Millis) -> Reservation:
    """Grant the reservation if nothing runs in its scope any more; its time to live counts from then."""
    held = find_reservation(tx, reservation_id)
    if held.status == "ACTIVE" and held.granted_at is None and not tx.value(sql.running_in_scope, scope=held.scope):
        tx.run(sql.grant_reservation, id=held.id, now=now, expires_at=now + held.ttl_ms)
        tx.changes.due = True
        return find_reservation(tx, reservation_id)
    return held


def release(tx: Tx, reservation_id: str, now: Millis) -> Reservation:
    """Give the scope back. Releasing twice is harmless."""
    if tx.run(sql.end_reservation, id=reservation_id, status="RELEASED", now=now):
        tx.changes.unknown = True
    return find_reservation(tx, reservation_id)


def list_reservations(tx: Tx) -> list[Reservation]:
    """Every reservation that has not ended, oldest first."""
    return tx.all(sql.active_reservations, Reservation)


def find_reservation(tx: Tx, reservation_id: str) -> Reservation:
    """The reservation, or NotFound."""
    found = tx.one(sql.reservation_of_id, Reservation, id=reservation_id)
    if found is None:
        raise NotFound(f"there is no reservation {reservation_id!r}")
    return found
