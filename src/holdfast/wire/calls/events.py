"""Calls about events."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import events
from holdfast.wire.call import ApiCall

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.OPERATE, "events", "POST", "/v1/events", events.emit, status=201, is_logged=False),
    ApiCall(Role.READ, "events", "GET", "/v1/events", events.list_events),
    ApiCall(Role.READ, "events", "GET", "/v1/events/{event_id}", events.find_event),
)
