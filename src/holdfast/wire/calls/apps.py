"""Calls about apps."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import app_owners, apps, calls, hearing, records
from holdfast.wire.call import WORKERS, ApiCall

OWNED = "/v1/sessions/{session_id}/apps"

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.READ, "apps", "GET", "/v1/apps", apps.list_apps),
    ApiCall(Role.READ, "apps", "GET", "/v1/apps/{app_key}", apps.find_app),
    ApiCall(Role.OPERATE, "apps", "POST", "/v1/apps/{app_key}/start", apps.start_app),
    ApiCall(Role.OPERATE, "apps", "POST", "/v1/apps/{app_key}/stop", apps.stop_app),
    ApiCall(Role.READ, "apps", "GET", "/v1/listeners", calls.list_listeners),
    ApiCall(Role.READ, "apps", "GET", "/v1/listeners/{listener_id}", calls.find_listener),
    ApiCall(Role.READ, "apps", "GET", "/v1/listeners/{listener_id}/invocations", calls.list_invocations),
    ApiCall(Role.READ, "apps", "GET", "/v1/timers", calls.list_timers),
    ApiCall(Role.READ, "apps", "GET", "/v1/timers/{timer_id}", calls.find_timer),
    ApiCall(Role.READ, "apps", "GET", "/v1/timers/{timer_id}/executions", calls.list_executions),
    ApiCall(Role.OPERATE, "apps", "POST", "/v1/timers/{timer_id}/{asked}", calls.ask_timer),
    ApiCall(Role.READ, "apps", "GET", "/v1/failed-calls", calls.list_failed_calls),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED, app_owners.take_apps, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED + "/{app_key}/begin", app_owners.begin_app, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED + "/{app_key}/listen", app_owners.listen_app, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED + "/{app_key}/fail", app_owners.fail_app, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED + "/{app_key}/release", app_owners.release_app, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", OWNED + "/{app_key}/done", records.clear_asked, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", "/v1/sessions/{session_id}/calls", records.record_calls, is_quiet=True),
    ApiCall(Role.READ, WORKERS, "POST", "/v1/events/after", hearing.events_after, reads=True, is_quiet=True),
)
