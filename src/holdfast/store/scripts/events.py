"""Events: keep one, find who waits for it, list what came and what it let go.

An event is stored together with what caused it; a later step (`spread`) lets go who waits for it, a few at a time, so
that neither the cause nor anybody's commit grows with the number of those who wait.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.event import (
    ABOUT_PRESSURE,
    ALERT,
    ANY,
    Event,
    Shape,
    check_attributes,
    check_pattern,
    keys_for,
    patterns_for,
    refuse_reserved_event,
)
from holdfast.core.job import JobId, Millis
from holdfast.core.limits import check_name
from holdfast.core.timing import FAR_FUTURE
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

KEEP_EVENTS_MS: Millis = 86_400_000
# These are few and matter to people; all others tell of rows that can be looked at anyway.
KEPT = (ALERT, ABOUT_PRESSURE)
EVENTS_BATCH = 500
MOST_COUNTED = 1_000
MOST_LISTED = 100
BEHIND = "\U0010ffff"  # behind every id and every name


class EventRow(Struct, frozen=True):
    """A row of `events`."""

    id: str
    name: str
    attributes: str
    emitted_at: Millis
    trigger: str | None
    upto_number: int
    is_spreading: int

    def to_event(self) -> Event:
        """The event that this row describes."""
        values = msgspec.json.decode(self.attributes, type=dict[str, str])
        return Event(id=self.id, name=self.name, attributes=values, emitted_at=self.emitted_at, trigger=self.trigger)


class Emitted(Event, frozen=True, kw_only=True):
    """An event that has just been stored, how many jobs were waiting for it, as far as they were counted, and how many
    webhooks are told."""

    waiting: int = 0
    webhooks: int = 0


class Triggered(Struct, frozen=True):
    """A job that an event let go."""

    job_id: JobId
    number: int
    state: str


class Told(Triggered, frozen=True):
    """The job that tells a webhook about an event."""

    webhook: str


class EventView(Struct, frozen=True):
    """An event, the jobs that it let go and those that tell webhooks; `more`: only the first of them are here."""

    event: Event
    jobs: list[Triggered]
    deliveries: list[Told]
    more: bool = False


class EventPage(Struct, frozen=True):
    """Some events, newest first, and the cursor of the next page if there is one."""

    events: list[EventView]
    cursor: str | None


class PatternRow(Struct, frozen=True):
    """A row of `event_patterns`."""

    pattern: str
    attributes: str
    webhook_id: str

    def to_shape(self) -> Shape:
        """What is waited for."""
        return Shape(self.pattern, tuple(msgspec.json.decode(self.attributes, type=list[str])))


class Heard(Struct, frozen=True):
    """Who waits for an event: the keys of jobs, and webhooks."""

    keys: list[str]
    webhooks: list[str]

    def __bool__(self) -> bool:
        return bool(self.keys or self.webhooks)


def emit(
    tx: Tx,
    id: str,
    name: str,
    attributes: dict[str, str] | None,
    now: Millis,
    trigger: str | None = None,
    repeated: bool = False,
) -> Emitted:
    """Say that something happened. Jobs that wait for it since before go on; it is kept for a day for people to see."""
    refuse_reserved_event(check_name("event", name))
    values = check_attributes(attributes or {})
    known = tx.one(sql.event_by_id, EventRow, id=id)
    if known is not None and not repeated:
        raise Conflict(f"there is an event {id} already; if this is a repeat, say so, otherwise make another id")
    heard = heard_by(tx, name, values)
    if known is None:
        known = _store(tx, id, name, values, now, trigger, heard)
    event = known.to_event()
    return Emitted(
        **{field: getattr(event, field) for field in Event.__struct_fields__},
        waiting=_waiting(tx, heard, known),
        webhooks=len(heard.webhooks),
    )


def publish(tx: Tx, name: str, attributes: dict[str, str], now: Millis, trigger: str | None = None) -> str | None:
    """Store an event of the system's own if anybody waits for it, or ought to see it; its id."""
    heard = heard_by(tx, name, attributes)
    is_kept = heard or name.startswith(KEPT)
    return _store(tx, tx.new_id(), name, attributes, now, trigger, heard).id if is_kept else None


def heard_by(tx: Tx, name: str, attributes: dict[str, str]) -> Heard:
    """Who waits for such an event."""
    rows = tx.all(sql.shapes_for, PatternRow, patterns=msgspec.json.encode(patterns_for(name)).decode())
    shapes = [row.to_shape() for row in rows if not row.webhook_id]
    return Heard(keys_for(shapes, attributes), sorted({row.webhook_id for row in rows if row.webhook_id}))


def register_pattern(tx: Tx, shape: Shape, webhook_id: str = "") -> None:
    """From now on somebody waits for events of this shape."""
    attributes = msgspec.json.encode(shape.attributes).decode()
    tx.run(sql.insert_pattern, pattern=shape.pattern, attributes=attributes, webhook_id=webhook_id)


def find_event(tx: Tx, event_id: str) -> EventView:
    """An event and what it let go, or NotFound."""
    found = tx.one(sql.event_by_id, EventRow, id=event_id)
    if found is None:
        raise NotFound(f"there is no event {event_id!r}; events are kept for a day")
    return _view(tx, found, MOST_COUNTED)


def list_events(tx: Tx, name: str | None = None, limit: int = 50, cursor: str | None = None) -> EventPage:
    """A page of events, newest first: all of them, or those whose name is meant by `name`, which may end in `*`."""
    pattern = ANY if name is None else check_pattern("name", name)
    below = None if cursor is None else tx.one(sql.event_by_id, EventRow, id=cursor)
    if cursor is not None and below is None:
        raise NotFound(f"the event {cursor!r} is gone, so the list cannot go on behind it; start without a cursor")
    if pattern.endswith(ANY):
        rows = tx.all(
            sql.list_events,
            EventRow,
            below_moment=FAR_FUTURE if below is None else below.emitted_at,
            below_id=BEHIND if below is None else below.id,
            name_from=pattern[:-1],
            name_to=pattern[:-1] + BEHIND,
            limit=limit + 1,
        )
    else:
        rows = tx.all(
            sql.list_events_named,
            EventRow,
            name=pattern,
            below_id=BEHIND if below is None else below.id,
            limit=limit + 1,
        )
    views = [_view(tx, row, MOST_LISTED) for row in rows[:limit]]
    return EventPage(views, rows[limit - 1].id if len(rows) > limit else None)


def forget_events(tx: Tx, before: Millis, limit: int = EVENTS_BATCH) -> int:
    """Remove events that were emitted before a moment, and patterns that nobody waits for."""
    old = tx.rows(sql.old_events, before=before, limit=limit)
    tx.run_many(sql.delete_event, old)
    if len(old) < limit:
        tx.run(sql.delete_unused_patterns)
    return len(old)


def _store(
    tx: Tx, id: str, name: str, attributes: dict[str, str], now: Millis, trigger: str | None, heard: Heard
) -> EventRow:
    tx.run(
        sql.insert_event,
        id=id,
        name=name,
        attributes=msgspec.json.encode(attributes, order="sorted").decode(),
        now=now,
        trigger=trigger,
        upto_number=tx.value(sql.newest_number),
        is_spreading=int(bool(heard)),
    )
    tx.changes.due |= bool(heard)
    stored = tx.one(sql.event_by_id, EventRow, id=id)
    assert stored is not None
    return stored


def _waiting(tx: Tx, heard: Heard, row: EventRow) -> int:
    found = waiting(tx, heard.keys, row.upto_number, MOST_COUNTED)
    return sum(item.state == "SCHEDULED" for item in found)


class Waiting(Struct, frozen=True):
    """A job whose event has not come yet."""

    job_id: JobId
    state: str


def waiting(tx: Tx, keys: Collection[str], upto_number: int, limit: int) -> list[Waiting]:
    """Some of those who wait with one of these keys."""
    if not keys:
        return []
    encoded = msgspec.json.encode(sorted(keys)).decode()
    return tx.all(sql.waiting_for_event, Waiting, keys=encoded, upto_number=upto_number, limit=limit)


def _view(tx: Tx, row: EventRow, most: int) -> EventView:
    jobs = tx.all(sql.triggered_jobs, Triggered, event_id=row.id, limit=most + 1)
    told = tx.all(sql.deliveries_of_event, Told, event_id=row.id, limit=most + 1)
    return EventView(row.to_event(), jobs[:most], told[:most], max(len(jobs), len(told)) > most)
