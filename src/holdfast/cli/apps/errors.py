"""`holdfast errors`: the calls of handlers and timers that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.apps.calls_shown import AppOption, SinceOption, call_cells, error_of
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.options import CursorOption, LimitOption
from holdfast.cli.frame.output import Output, say_more, show_table
from holdfast.cli.frame.times import before

if TYPE_CHECKING:
    from holdfast.core.messages.telemetry import FailedCall, FailedCallPage


def errors(
    app: AppOption = None,
    since: SinceOption = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
) -> Output:
    """List the calls of handlers and timers that failed or took too long, newest first.

    \b
    Examples:
      holdfast errors
      holdfast errors --app kitchen --since 24h
    """
    page = client().errors(app=app, since=before("since", since), limit=limit, cursor=cursor)
    return Output(page, lambda: _show(page, limit))


def _show(page: FailedCallPage, limit: int) -> None:
    head = ("call", "began", "took", "status", "app", "handler", "of", "error")
    show_table(head, [_row(call) for call in page.errors])
    say_more(page.cursor, f"newest {limit}", limit)


def _row(call: FailedCall) -> list[str]:
    parent = f"listener {call.listener_id}" if call.listener_id is not None else f"timer {call.job_id}"
    return [*call_cells(call), call.app_key, call.handler_method, parent, error_of(call)]
