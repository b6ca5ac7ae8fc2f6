"""Events: store one, find the jobs and webhooks that wait for it, list events and what they let go.

An event is stored in the transaction that causes it. A later step (`spread`) lets the waiting jobs go, a few at a time,
so that no transaction grows with their number.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.apps.status import OWNER_PREFIX
from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import JobId, Millis
from holdfast.core.messages.events import MOST_COUNTED, Emitted, EventPage, EventView, Told, Triggered
from holdfast.core.rules.limits import MAX_INT
from holdfast.core.rules.value_rules import PATTERN
from holdfast.core.settings import rule_table
from holdfast.core.values.event import (
    ABOUT_PRESSURE,
    ALERT,
    ANY,
    Event,
    Shape,
    check_attributes,
    keys_for,
    patterns_for,
    refuse_reserved_event,
)
from holdfast.core.values.event_data import stored_data
from holdfast.store.engine import Tx
from holdfast.store.statements import sql
from holdfast.store.topics import APPS, DUE

KEEP_EVENTS_MS: Millis = 86_400_000
# These are few and matter to people. All others tell of rows that are stored anyway.
KEPT = (ALERT, ABOUT_PRESSURE)
EVENTS_BATCH = 500
MOST_LISTED = 100
BEHIND = "\U0010ffff"  # behind every name


class EventRow(Struct, frozen=True):
    """A row of `events`."""

    number: int
    id: str
    name: str
    attributes: str
    emitted_at: Millis
    trigger: str | None
    upto_number: int
    is_spreading: int
    data: str | None

    def to_event(self) -> Event:
        """The event that this row describes."""
        return Event(
            id=self.id,
            name=self.name,
            attributes=msgspec.json.decode(self.attributes, type=dict[str, str]),
            emitted_at=self.emitted_at,
            trigger=self.trigger,
            number=self.number,
            data=None if self.data is None else msgspec.json.decode(self.data),
        )


class PatternRow(Struct, frozen=True):
    """A row of `event_patterns`."""

    pattern: str
    attributes: str
    owner: str

    def to_shape(self) -> Shape:
        """The shape of the events that are waited for."""
        return Shape(self.pattern, tuple(msgspec.json.decode(self.attributes, type=list[str])))


class OwnerKind(Enum):
    """What kind of thing waits by a pattern."""

    JOBS = "jobs"
    WEBHOOK = "webhook"
    APP = "app"

    @classmethod
    def of(cls, owner: str) -> OwnerKind:
        """The kind of an owner as its pattern names it: empty for jobs, `app:KEY`, otherwise the id of a webhook."""
        if owner.startswith(OWNER_PREFIX):
            return cls.APP
        return cls.WEBHOOK if owner else cls.JOBS


class EventWaiters(Struct, frozen=True):
    """What waits for an event: the conditions of jobs by key, and the other owners of patterns by their kind."""

    keys: list[str]
    owners: dict[OwnerKind, list[str]]

    def __bool__(self) -> bool:
        return bool(self.keys or self.owners)

    @property
    def needs_spread(self) -> bool:
        """Whether something is to be made or let go for it. Apps read it by themselves."""
        return bool(self.keys or self.webhooks)

    @property
    def webhooks(self) -> list[str]:
        """The ids of the webhooks, in order."""
        return self.owners.get(OwnerKind.WEBHOOK, [])


def emit(
    tx: Tx,
    id: str,
    name: str,
    attributes: dict[str, str] | None,
    now: Millis,
    trigger: str | None = None,
    repeated: bool = False,
    data: Any = None,
) -> Emitted:
    """Say that something happened. Jobs that already wait for it go on. It is kept for a day, for people to see.

    `data` is any JSON, of at most 64 KiB.
    """
    refuse_reserved_event(rule_table.check("name", name, "event"))
    values = check_attributes(attributes or {})
    text = stored_data(data)
    known = tx.one(sql.event_by_id, EventRow, id=id)
    if known is not None and not repeated:
        raise Conflict(f"there is an event {id} already; if this is a repeat, say so, otherwise make another id")
    waiters = waiters_for(tx, name, values)
    if known is None:
        known = _store(tx, id, name, values, now, trigger, waiters, text)
    event = known.to_event()
    return Emitted(
        **{field: getattr(event, field) for field in Event.__struct_fields__},
        waiting=_waiting(tx, waiters, known),
        webhooks=len(waiters.webhooks),
        apps=len(waiters.owners.get(OwnerKind.APP, ())),
    )


def publish(tx: Tx, name: str, attributes: dict[str, str], now: Millis, trigger: str | None = None) -> str | None:
    """Store an event of the system, if something waits for it or people should see it. Return its id."""
    waiters = waiters_for(tx, name, attributes)
    is_kept = waiters or name.startswith(KEPT)
    return _store(tx, tx.new_id(), name, attributes, now, trigger, waiters).id if is_kept else None


def waiters_for(tx: Tx, name: str, attributes: dict[str, str]) -> EventWaiters:
    """What waits for such an event."""
    rows = tx.all(sql.shapes_for, PatternRow, patterns=msgspec.json.encode(patterns_for(name)).decode())
    shapes = [row.to_shape() for row in rows if not row.owner]
    owners: dict[OwnerKind, list[str]] = {}
    for owner in sorted({row.owner for row in rows if row.owner}):
        owners.setdefault(OwnerKind.of(owner), []).append(owner)
    return EventWaiters(keys_for(shapes, attributes), owners)


def register_pattern(tx: Tx, shape: Shape, owner: str = "") -> None:
    """Note that jobs, or another owner, wait for events of this shape."""
    attributes = msgspec.json.encode(shape.attributes).decode()
    tx.run(sql.insert_pattern, pattern=shape.pattern, attributes=attributes, owner=owner)


def find_event(tx: Tx, event_id: str) -> EventView:
    """An event and what it let go, or NotFound."""
    found = tx.one(sql.event_by_id, EventRow, id=event_id)
    if found is None:
        raise NotFound(f"there is no event {event_id!r}; events are kept for a day")
    return _view(tx, found, MOST_COUNTED)


def list_events(tx: Tx, name: str | None = None, limit: int = 50, cursor: str | None = None) -> EventPage:
    """A page of events, newest first: all of them, or those that `name` means, which may end in `*`."""
    pattern = ANY if name is None else PATTERN.check("name", name)
    below = None if cursor is None else tx.one(sql.event_by_id, EventRow, id=cursor)
    if cursor is not None and below is None:
        raise NotFound(f"the event {cursor!r} is gone, so the list cannot go on behind it; start without a cursor")
    if pattern.endswith(ANY):
        rows = tx.all(
            sql.list_events,
            EventRow,
            below=MAX_INT if below is None else below.number,
            name_from=pattern[:-1],
            name_to=pattern[:-1] + BEHIND,
            limit=limit + 1,
        )
    else:
        rows = tx.all(
            sql.list_events_named,
            EventRow,
            name=pattern,
            below=MAX_INT if below is None else below.number,
            limit=limit + 1,
        )
    views = [_view(tx, row, MOST_LISTED) for row in rows[:limit]]
    return EventPage(views, rows[limit - 1].id if len(rows) > limit else None)


def forget_events(tx: Tx, before: Millis, limit: int = EVENTS_BATCH) -> int:
    """Remove events that were emitted before a moment, and patterns that nothing waits for."""
    old = tx.rows(sql.old_events, before=before, limit=limit)
    tx.run_many(sql.delete_event, old)
    if len(old) < limit:
        tx.run(sql.delete_unused_patterns)
    return len(old)


def _store(
    tx: Tx,
    id: str,
    name: str,
    attributes: dict[str, str],
    now: Millis,
    trigger: str | None,
    waiters: EventWaiters,
    data: str | None = None,
) -> EventRow:
    tx.run(
        sql.insert_event,
        id=id,
        name=name,
        attributes=msgspec.json.encode(attributes, order="sorted").decode(),
        now=now,
        trigger=trigger,
        upto_number=tx.value(sql.newest_number),
        is_spreading=int(waiters.needs_spread),
        data=data,
    )
    if waiters.needs_spread:
        tx.changes.topics.add(DUE)
    if OwnerKind.APP in waiters.owners:
        tx.changes.topics.add(APPS)
    stored = tx.one(sql.event_by_id, EventRow, id=id)
    assert stored is not None
    return stored


def _waiting(tx: Tx, waiters: EventWaiters, row: EventRow) -> int:
    found = waiting(tx, waiters.keys, row.upto_number, MOST_COUNTED)
    return sum(item.state == "SCHEDULED" for item in found)


class WaitingForEvent(Struct, frozen=True):
    """A job whose event has not come yet."""

    job_id: JobId
    state: str


def waiting(tx: Tx, keys: Collection[str], upto_number: int, limit: int) -> list[WaitingForEvent]:
    """Some of the jobs that wait with one of these keys."""
    if not keys:
        return []
    encoded = msgspec.json.encode(sorted(keys)).decode()
    return tx.all(sql.waiting_for_event, WaitingForEvent, keys=encoded, upto_number=upto_number, limit=limit)


def _view(tx: Tx, row: EventRow, most: int) -> EventView:
    jobs = tx.all(sql.triggered_jobs, Triggered, event_id=row.id, limit=most + 1)
    told = tx.all(sql.deliveries_of_event, Told, event_id=row.id, limit=most + 1)
    return EventView(row.to_event(), jobs[:most], told[:most], max(len(jobs), len(told)) > most)
