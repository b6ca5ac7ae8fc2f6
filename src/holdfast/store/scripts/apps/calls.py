"""What people see of listeners, timers and their calls, and what they may ask of a timer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from holdfast.core.apps.call import CallStatus
from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import Millis
from holdfast.core.messages.telemetry import (
    ExecutionPage,
    ExecutionView,
    FailedCall,
    FailedCallPage,
    InvocationPage,
    InvocationView,
    ListenerView,
    TimerView,
    TimerWish,
)
from holdfast.core.rules.limits import MAX_INT
from holdfast.store.engine import Tx
from holdfast.store.scripts.apps import apps
from holdfast.store.statements import Statement, sql
from holdfast.store.topics import APPS

T = TypeVar("T")
FAILURES = (CallStatus.ERROR, CallStatus.TIMED_OUT)


def list_listeners(
    tx: Tx, app_key: str | None = None, since: Millis | None = None, retired: bool = False
) -> list[ListenerView]:
    """The handlers of events that apps have registered, with figures about their calls of the last days.

    With `since`, those that were called from then on, and figures about these calls. With `retired`, also those that
    are registered no more.
    """
    _check_app(tx, app_key)
    rows = tx.rows(sql.list_listeners, app_key=app_key, since=since, retired=int(retired))
    return [_with_figures(tx, row, sql.figures_of_listener, since, ListenerView) for row in rows]


def find_listener(tx: Tx, listener_id: int) -> ListenerView:
    """A handler of events by its id."""
    rows = tx.rows(sql.find_listener, id=listener_id)
    if not rows:
        raise NotFound(f"there is no listener {listener_id}; holdfast listeners lists them")
    return _with_figures(tx, rows[0], sql.figures_of_listener, None, ListenerView)


def list_timers(
    tx: Tx, app_key: str | None = None, since: Millis | None = None, retired: bool = False
) -> list[TimerView]:
    """The timers that apps have registered, with figures about their calls of the last days.

    With `since`, those that were called from then on, and figures about these calls. With `retired`, also those that
    are registered no more.
    """
    _check_app(tx, app_key)
    rows = tx.rows(sql.list_timers, app_key=app_key, since=since, retired=int(retired))
    return [_with_figures(tx, row, sql.figures_of_timer, since, TimerView) for row in rows]


def find_timer(tx: Tx, timer_id: int) -> TimerView:
    """A timer by its id."""
    rows = tx.rows(sql.find_timer, id=timer_id)
    if not rows:
        raise NotFound(f"there is no timer {timer_id}; holdfast timers lists them")
    return _with_figures(tx, rows[0], sql.figures_of_timer, None, TimerView)


def ask_timer(tx: Tx, timer_id: int, asked: TimerWish) -> TimerView:
    """Have the owner of the app call a timer now, or cancel it."""
    timer = find_timer(tx, timer_id)
    if timer.retired_at is not None:
        raise Conflict(f"timer {timer_id} ({timer.job_name}) is not registered any more")
    if not tx.run(sql.ask_timer, id=timer_id, asked=asked):
        raise Conflict(f"app {timer.app_key!r} does not run, so nobody can {asked} its timers; see holdfast apps")
    tx.changes.topics.add(APPS)
    return find_timer(tx, timer_id)


def list_invocations(
    tx: Tx, listener_id: int, since: Millis | None = None, limit: int = 50, cursor: str | None = None
) -> InvocationPage:
    """A page of the calls of a handler of events, newest first."""
    find_listener(tx, listener_id)
    rows = tx.rows(sql.list_invocations, id=listener_id, limit=limit + 1, **_behind(tx, cursor, since))
    calls = [_view(row, InvocationView) for row in rows]
    return InvocationPage(calls[:limit], calls[limit - 1].id if len(calls) > limit else None)


def list_executions(
    tx: Tx, timer_id: int, since: Millis | None = None, limit: int = 50, cursor: str | None = None
) -> ExecutionPage:
    """A page of the calls of a timer, newest first."""
    find_timer(tx, timer_id)
    rows = tx.rows(sql.list_executions, id=timer_id, limit=limit + 1, **_behind(tx, cursor, since))
    calls = [_view(row, ExecutionView) for row in rows]
    return ExecutionPage(calls[:limit], calls[limit - 1].id if len(calls) > limit else None)


def list_failed_calls(
    tx: Tx, app_key: str | None = None, since: Millis | None = None, limit: int = 50, cursor: str | None = None
) -> FailedCallPage:
    """A page of the calls of handlers and timers that failed or took too long, newest first."""
    _check_app(tx, app_key)
    behind = _behind(tx, cursor, since)
    rows = [
        row
        for statement in (sql.failed_invocations, sql.failed_executions)
        for status in FAILURES
        for row in tx.rows(statement, status=status, app_key=app_key, limit=limit + 1, **behind)
    ]
    newest = sorted(rows, key=lambda row: (row["started_at"], row["id"]), reverse=True)
    calls = [_view(row, FailedCall) for row in newest[: limit + 1]]
    return FailedCallPage(calls[:limit], calls[limit - 1].id if len(calls) > limit else None)


def _check_app(tx: Tx, app_key: str | None) -> None:
    if app_key is not None:
        apps.find_app(tx, app_key)


def _behind(tx: Tx, cursor: str | None, since: Millis | None) -> dict[str, Millis]:
    """Where a page begins: behind the call of the cursor, or at the newest."""
    if cursor is None:
        return {"started_at": MAX_INT, "below": MAX_INT, "since": since or 0}
    call_id = int(cursor) if cursor.isascii() and cursor.isdigit() and len(cursor) < len(str(MAX_INT)) else -1
    started_at = tx.value(sql.start_of_call, id=call_id)
    if started_at is None:
        raise NotFound(f"the call {cursor!r} is gone, so the list cannot go on behind it; start without a cursor")
    return {"started_at": started_at, "below": call_id, "since": since or 0}


def _view(row: Mapping[str, Any], kind: type[T]) -> T:
    return msgspec.convert({**row, "id": str(row["id"])}, kind)


def _with_figures(tx: Tx, row: Mapping[str, Any], figures: Statement, since: Millis | None, kind: type[T]) -> T:
    found = tx.rows(figures, id=row["id"], since=since or 0)
    counts = {one["status"]: one["calls"] for one in found}
    timed = [one for one in found if one["status"] != CallStatus.SKIPPED]
    calls = sum(one["calls"] for one in timed)
    return msgspec.convert(
        {
            **row,
            "counts": counts,
            "mean_ms": sum(one["total_ms"] for one in timed) / calls if calls else None,
            "longest_ms": max((one["longest_ms"] for one in timed), default=None),
        },
        kind,
        strict=False,
    )
