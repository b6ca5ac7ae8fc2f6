"""Reservations, which keep a queue, or everything, free of new runs."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis, SessionId

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


class NewReservation(Struct, frozen=True):
    """A request for a reservation. `wait_ms` is how long it may wait before it is granted.

    `in_line`: if others have the scope, or wait for it, it waits behind them. Otherwise it is refused.
    """

    id: str
    scope: str
    reserved_by: str
    session_id: SessionId
    ttl_ms: Millis
    wait_ms: Millis
    in_line: bool = False


def overlap(one: str, other: str) -> bool:
    """Whether two scopes have a queue in common."""
    return one == other or EVERYTHING in (one, other)


def named(scope: str) -> str:
    """A scope as people call it."""
    return "everything" if scope == EVERYTHING else f"queue {scope!r}"


def whose(first: Reservation, wanted: str) -> str:
    """Who holds the wanted scope, or waits for it first, in words."""
    more = "" if first.scope == wanted else f", who reserved {named(first.scope)}"
    return f"{named(wanted)} is reserved by {first.reserved_by}{more}"
