"""Calls about apps."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import app_owners, apps, hearing
from holdfast.wire.call import WORKERS, ApiCall

OWNED = "/v1/sessions/{session_id}/apps"

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.READ, "apps", "GET", "/v1/apps", apps.list_apps),
    ApiCall(Role.READ, "apps", "GET", "/v1/apps/{app_key}", apps.find_app),
    ApiCall(Role.OPERATE, "apps", "POST", "/v1/apps/{app_key}/start", apps.start_app),
    ApiCall(Role.OPERATE, "apps", "POST", "/v1/apps/{app_key}/stop", apps.stop_app),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED, app_owners.take_apps, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED + "/{app_key}/begin", app_owners.begin_app, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED + "/{app_key}/fail", app_owners.fail_app, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED + "/{app_key}/release", app_owners.release_app, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", "/v1/events/after", hearing.events_after, reads=True, is_quiet=True),
)
