"""`holdfast errors`: the calls of handlers and timers that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.apps import calls_shown
from holdfast.cli.apps.calls_shown import AppOption, SinceOption
from holdfast.cli.frame import output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.failures import say
from holdfast.cli.frame.options import CursorOption, LimitOption
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Option

if TYPE_CHECKING:
    from holdfast.core.messages.telemetry import FailedCall, FailedCallPage


def errors(
    app: AppOption = None,
    since: SinceOption = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
    trace: Annotated[bool, Option("--trace", "-t", help="With the traceback of each.")] = False,
) -> Output:
    """List the calls of handlers and timers that failed or took too long, newest first.

    \b
    Examples:
      holdfast errors
      holdfast errors --app kitchen --since 24h
      holdfast errors -n 1 --trace
    """
    page = client().errors(app=app, since=times.before("since", since), limit=limit, cursor=cursor)
    return Output(page, lambda: _show(page, limit, trace))


def _show(page: FailedCallPage, limit: int, trace: bool) -> None:
    if not page.errors:
        say("no call of a handler or a timer has failed")
        return
    head = ("call", "began", "took", "status", "app", "handler", "of", "error")
    output.show_table(head, [_row(call) for call in page.errors])
    for call in page.errors if trace else ():
        output.put()
        output.put(f"{call.id}  {call.app_key}  {call.name}")
        output.put_lines(call.error_traceback or call.error_message or "")
    output.say_more(page.cursor, f"newest {limit}", limit)


def _row(call: FailedCall) -> list[str]:
    parent = f"listener {call.listener_id}" if call.listener_id is not None else f"timer {call.job_id}"
    return [*calls_shown.call_cells(call), call.app_key, call.handler_method, parent, calls_shown.error_of(call)]
