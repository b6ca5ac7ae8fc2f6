"""Direct reservation: keep a queue, or everything, free of new runs while a program uses the machine itself."""

from __future__ import annotations

from holdfast.core.errors import Busy, NotFound
from holdfast.core.job import Millis
from holdfast.core.messages.reservations import NewReservation, Reservation, overlap, whose
from holdfast.core.messages.sessions import SessionRow
from holdfast.store.engine import Tx
from holdfast.store.scripts.queues.reservations import (
    expire_due,
    find_reservation,
    grant,
    let_in,
)
from holdfast.store.scripts.telling.wake_ups import wake_held_back
from holdfast.store.statements import sql
from holdfast.store.topics import DUE


def reserve(tx: Tx, request: NewReservation, now: Millis) -> Reservation:
    """Stop new runs in the scope from now on. If an overlapping reservation was first: wait in line, or Busy."""
    if tx.one(sql.reservation_of_id, Reservation, id=request.id) is not None:
        # The call is a repeat. Without a daemon, no other process may end those before it that are over.
        expire_due(tx, now)
        return grant(tx, request.id, now)
    if tx.one(sql.session_of_id, SessionRow, id=request.session_id) is None:
        raise NotFound(f"there is no session {request.session_id!r} that lives; a reservation ends with its session")
    expire_due(tx, now)
    others = tx.all(sql.active_reservations, Reservation) + tx.all(sql.waiting_reservations, Reservation)
    first = next((other for other in others if overlap(request.scope, other.scope)), None)
    if first is not None and not request.in_line:
        raise Busy(f"{whose(first, request.scope)}; wait until it is released")
    tx.run(
        sql.insert_reservation,
        id=request.id,
        scope=request.scope,
        reserved_by=request.reserved_by,
        session_id=request.session_id,
        status="ACTIVE" if first is None else "WAITING",
        ttl_ms=request.ttl_ms,
        now=now,
        expires_at=now + request.wait_ms + (request.ttl_ms if first is None else 0),
    )
    tx.changes.topics.add(DUE)
    wake_held_back(tx)
    return grant(tx, request.id, now)


def release(tx: Tx, reservation_id: str, now: Millis) -> Reservation:
    """End a reservation, or leave the line. To release twice is harmless."""
    if tx.run(sql.end_reservation, id=reservation_id, status="RELEASED", now=now):
        let_in(tx, now)
    return find_reservation(tx, reservation_id)


def list_reservations(tx: Tx) -> list[Reservation]:
    """Every reservation that has not ended: the active ones, then those in line, each oldest first."""
    return tx.all(sql.active_reservations, Reservation) + tx.all(sql.waiting_reservations, Reservation)
