"""Reservations: they wait in line, are granted, and end. The first in line is granted first."""

from __future__ import annotations

from holdfast.core.errors import NotFound
from holdfast.core.job import Millis, SessionId
from holdfast.core.messages import reservations
from holdfast.core.messages.reservations import Reservation
from holdfast.store.engine import Tx
from holdfast.store.scripts.telling import log_lines
from holdfast.store.statements import sql
from holdfast.store.topics import DUE, UNKNOWN


def find_reservation(tx: Tx, reservation_id: str) -> Reservation:
    """The reservation, or NotFound."""
    found = tx.one(sql.reservation_of_id, Reservation, id=reservation_id)
    if found is None:
        raise NotFound(f"there is no reservation {reservation_id!r}")
    return found


def grant(tx: Tx, reservation_id: str, now: Millis) -> Reservation:
    """Grant the reservation if nothing runs in its scope any more. Its time to live begins then."""
    held = find_reservation(tx, reservation_id)
    if held.status == "ACTIVE" and held.granted_at is None and not tx.value(sql.running_in_scope, scope=held.scope):
        tx.run(sql.grant_reservation, id=held.id, now=now, expires_at=now + held.ttl_ms)
        tx.changes.topics.add(DUE)
        return find_reservation(tx, reservation_id)
    return held


def expire_due(tx: Tx, now: Millis) -> None:
    """End reservations whose time is over."""
    ended = tx.rows(sql.expire_reservations, now=now) + tx.rows(sql.expire_waiting_reservations, now=now)
    _after_expiry(tx, ended, now)


def expire_of_session(tx: Tx, session_id: SessionId, now: Millis) -> None:
    """End the reservations of a session that is gone."""
    _after_expiry(tx, tx.rows(sql.expire_reservations_of_session, session_id=session_id, now=now), now)


def _after_expiry(tx: Tx, ended: list[dict[str, str]], now: Millis) -> None:
    for row in ended:
        log_lines.say_expired(tx, row["id"], reservations.named(row["scope"]), row["reserved_by"])
    if ended:
        let_in(tx, now)


def let_in(tx: Tx, now: Millis) -> None:
    """After a reservation has ended: activate the waiting ones that overlap with none before them."""
    tx.changes.topics.add(UNKNOWN)
    ahead = [held.scope for held in tx.all(sql.active_reservations, Reservation)]
    for waiting in tx.all(sql.waiting_reservations, Reservation):
        if not any(reservations.overlap(waiting.scope, scope) for scope in ahead):
            # Until it is granted, it may wait for runs as long as its `wait_ms` lasts.
            expires_at = max(waiting.expires_at, now) + waiting.ttl_ms
            tx.run(sql.activate_reservation, id=waiting.id, expires_at=expires_at)
            tx.changes.topics.add(DUE)
            grant(tx, waiting.id, now)
        ahead.append(waiting.scope)
