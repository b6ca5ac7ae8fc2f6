"""Calls by workers: their sessions, what they run, and what became of it."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import exchange, finish, progress, sessions, webhooks
from holdfast.wire import preparation
from holdfast.wire.call import WORKERS, ApiCall, never

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.OPERATE, WORKERS, "POST", "/v1/sessions", sessions.open_session, opens_gates=True, status=201),
    ApiCall(Role.OPERATE, WORKERS, "POST", "/v1/sessions/{session_id}/beat", sessions.beat, is_quiet=True),
    ApiCall(Role.OPERATE, WORKERS, "POST", "/v1/sessions/{session_id}/stopping", sessions.note_stop_request),
    ApiCall(Role.OPERATE, WORKERS, "POST", "/v1/sessions/{session_id}/close", sessions.close_session),
    ApiCall(
        Role.OPERATE,
        WORKERS,
        "POST",
        "/v1/exchange",
        exchange.exchange,
        prepare=preparation.reports,
        is_repeatable=never,
        is_quiet=True,
        gives_jobs=True,
    ),
    ApiCall(Role.OPERATE, WORKERS, "POST", "/v1/reports", finish.finish, prepare=preparation.reports),
    ApiCall(Role.OPERATE, WORKERS, "PUT", "/v1/runs/{run_id}/start", progress.note_start),
    ApiCall(
        Role.OPERATE,
        WORKERS,
        "PUT",
        "/v1/runs/{run_id}/checkpoint",
        progress.save_checkpoint,
        prepare=preparation.checkpoint,
    ),
    ApiCall(Role.OPERATE, WORKERS, "GET", "/v1/runs/{run_id}/webhook", webhooks.request_of_run),
    ApiCall(Role.OPERATE, WORKERS, "POST", "/v1/runs/{run_id}/webhook/gone", webhooks.note_gone),
)
