"""What the apps of a process hear: the events after the last one that it has read, and what has become of the apps."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct

from holdfast.core.messages.apps import HeardEvents
from holdfast.core.messages.telemetry import AskedTimer
from holdfast.core.values.event import matches
from holdfast.store.engine import Tx
from holdfast.store.scripts.apps import app_owners
from holdfast.store.scripts.events.events import EventRow
from holdfast.store.statements import sql

MOST_READ = 1_000  # names of events that may be meant


class EventName(Struct, frozen=True):
    """The number and the name of an event."""

    number: int
    name: str


def events_after(tx: Tx, number: int, patterns: list[str], app_keys: list[str], limit: int = 100) -> HeardEvents:
    """The next events after a number that match one of the patterns, and how these apps are.

    It looks at a bounded number of events, so there may be more behind the number of the answer. Without a pattern, no
    event is meant, and the number is that of the newest.
    """
    if not patterns:
        return HeardEvents(
            [], tx.value(sql.newest_event), False, app_owners.states_of(tx, app_keys), _asked(tx, app_keys)
        )
    names = tx.all(sql.names_of_events_after, EventName, number=number, limit=MOST_READ)
    meant = [one.number for one in names if _is_meant(one.name, patterns)][:limit]
    has_more = len(meant) == limit or len(names) == MOST_READ
    reached = meant[-1] if len(meant) == limit else names[-1].number if names else number
    numbers = msgspec.json.encode(meant).decode()
    rows = tx.all(sql.events_by_number, EventRow, numbers=numbers) if meant else []
    return HeardEvents(
        [row.to_event() for row in rows], reached, has_more, app_owners.states_of(tx, app_keys), _asked(tx, app_keys)
    )


def _asked(tx: Tx, app_keys: list[str]) -> list[AskedTimer]:
    keys = msgspec.json.encode(sorted(app_keys)).decode()
    return msgspec.convert(tx.rows(sql.asked_timers, app_keys=keys), list[AskedTimer])


def _is_meant(name: str, patterns: Collection[str]) -> bool:
    return any(matches(pattern, name) for pattern in patterns)
