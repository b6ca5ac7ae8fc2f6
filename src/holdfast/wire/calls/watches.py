"""Calls about watches of files and repositories."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import watches
from holdfast.wire import preparation
from holdfast.wire.call import ApiCall, Guard

CALLS: tuple[ApiCall, ...] = (
    ApiCall(
        Role.ADMIN,
        "watches",
        "POST",
        "/v1/watches",
        watches.add_watch,
        status=201,
        prepare=preparation.watch,
        guard=Guard.WATCHED_PLACE,
    ),
    ApiCall(Role.READ, "watches", "GET", "/v1/watches", watches.list_watches),
    ApiCall(Role.READ, "watches", "GET", "/v1/watches/{ref}", watches.find_watch),
    ApiCall(Role.ADMIN, "watches", "DELETE", "/v1/watches/{ref}", watches.remove_watch),
    ApiCall(Role.ADMIN, "watches", "POST", "/v1/watches/{ref}/pause", watches.pause_watch),
    ApiCall(Role.ADMIN, "watches", "POST", "/v1/watches/{ref}/resume", watches.resume_watch),
)
