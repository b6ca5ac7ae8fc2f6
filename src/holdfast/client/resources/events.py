"""Emit events, and look at them.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.client.store_access import StoreAccess
from holdfast.core.job import Millis
from holdfast.core.messages.events import Emitted, EventPage, EventView
from holdfast.core.settings import rule_table
from holdfast.core.values.event import joined_attributes
from holdfast.core.values.event_data import encode_data
from holdfast.runtime.caller import what_triggers
from holdfast.store.script_names import events


class Events:
    """The part of `Holdfast` for events."""

    _access: StoreAccess

    def emit(
        self, name: str, /, *, attributes: Mapping[str, object] | None = None, data: object = None, **more: object
    ) -> Emitted:
        """Say that something happened: `hf.emit("git:commit", branch="main")`. Durable when it returns.

        Jobs that already wait for it go on (`on_event=`), and webhooks are told. `attributes` is for names that are no
        words of Python. `data` is any JSON of at most 64 KiB, for the handlers of apps and for webhooks. The answer
        tells how many jobs were `waiting`, as far as they were counted.
        """
        wanted = self._new_event(self._access.now(), name, attributes, more, data)
        told = self._access.write(events.emit, *wanted)
        self._access.enqueued()
        return told

    async def aemit(
        self, name: str, /, *, attributes: Mapping[str, object] | None = None, data: object = None, **more: object
    ) -> Emitted:
        """The awaitable twin of `emit`."""
        wanted = self._new_event(await self._access.anow(), name, attributes, more, data)
        told = await self._access.awrite(events.emit, *wanted)
        await self._access.aenqueued()
        return told

    def events(self, name: str | None = None, *, limit: int = 50, cursor: str | None = None) -> EventPage:
        """A page of events of the last day, newest first, each with what it triggered; `name` may end in `*`."""
        return self._access.read(events.list_events, *_page(name, limit, cursor))

    async def aevents(self, name: str | None = None, *, limit: int = 50, cursor: str | None = None) -> EventPage:
        """The awaitable twin of `events`."""
        return await self._access.aread(events.list_events, *_page(name, limit, cursor))

    def event(self, event_id: str) -> EventView:
        """An event by its id, with what it triggered."""
        return self._access.read(events.find_event, rule_table.check("event_id", event_id, "event"))

    async def aevent(self, event_id: str) -> EventView:
        """The awaitable twin of `event`."""
        return await self._access.aread(events.find_event, rule_table.check("event_id", event_id, "event"))

    def _new_event(
        self,
        now: Millis,
        name: str,
        attributes: Mapping[str, object] | None,
        more: Mapping[str, object],
        data: object,
    ) -> tuple[Any, ...]:
        named = (rule_table.check("name", name, "event"), joined_attributes(attributes, more))
        return (self._access.new_id(), *named, now, what_triggers(), False, encode_data(data))


def _page(name: str | None, limit: int, cursor: str | None) -> tuple[str | None, int, str | None]:
    return (
        None if name is None else rule_table.check("list_events.name", name, "name"),
        rule_table.check("limit", limit),
        None if cursor is None else rule_table.check("cursor", cursor),
    )
