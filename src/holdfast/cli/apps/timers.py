"""`holdfast timers`: the timers of apps, and their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.apps import calls_shown
from holdfast.cli.apps.calls_shown import FIGURES, HEAD, AppOption, RetiredOption, SinceOption
from holdfast.cli.frame import output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.options import CursorOption, LimitOption
from holdfast.cli.frame.output import Output
from holdfast.cli.frame.words import Argument

if TYPE_CHECKING:
    from holdfast.core.messages.telemetry import ExecutionPage, ExecutionView, TimerView

TimerArgument = Annotated[int, Argument("ID", field="timer_id", help="The id of a timer.")]


def list_(app: AppOption = None, since: SinceOption = None, everything: RetiredOption = False) -> Output:
    """List the timers of apps, with figures about their calls of the last days.

    \b
    Examples:
      holdfast timers ls
      holdfast timers --app kitchen --since 24h
    """
    found = client().timers(app=app, since=times.before("since", since), retired=everything)
    head = ("id", "app", "timer", "trigger", "next", *FIGURES)
    return output.listed(found, head, map(_row, found), right=("id", "calls", "failed"))


def show(
    timer: TimerArgument,
    since: SinceOption = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
) -> Output:
    """Show a timer and its calls, newest first.

    \b
    Examples:
      holdfast timers show 1
    """
    hf = client()
    view = hf.timer(timer)
    page = hf.executions(timer, since=times.before("since", since), limit=limit, cursor=cursor)
    shown = {"timer": view, "executions": page.executions, "cursor": page.cursor}
    return Output(shown, lambda: _show(view, page, limit))


def run(timer: TimerArgument) -> Output:
    """Call a timer now, in the process that has its app. Its moments stay as they are.

    \b
    Examples:
      holdfast timers run 1
    """
    view = client().run_timer(timer)
    return Output(
        view, f"timer {view.job_name} of app {view.app_key} is called now; see holdfast timers show {view.id}"
    )


def cancel(timer: TimerArgument) -> Output:
    """Cancel a timer, until its app registers it again.

    \b
    Examples:
      holdfast timers cancel 1
    """
    view = client().cancel_timer(timer)
    return Output(view, f"timer {view.job_name} of app {view.app_key} is cancelled")


def _show(view: TimerView, page: ExecutionPage, limit: int) -> None:
    output.show_fields(
        [
            ("timer", str(view.id)),
            ("app", view.app_key),
            ("name", view.job_name),
            ("handler", view.handler_method),
            ("trigger", _trigger(view)),
            ("next", None if view.next_run_at is None else times.when(view.next_run_at)),
            ("asked", view.asked),
            ("arguments", _arguments(view)),
            *calls_shown.registration(view),
        ]
    )
    output.put()
    output.show_table(HEAD, list(calls_shown.call_rows((call, _due(call)) for call in page.executions)))
    output.say_more(page.cursor, f"newest {limit}", limit)


def _row(view: TimerView) -> list[str]:
    coming = "" if view.next_run_at is None else times.ago(view.next_run_at)
    return [
        str(view.id),
        view.app_key,
        view.job_name,
        _trigger(view),
        coming if view.retired_at is None else "retired",
        *calls_shown.figures(view),
    ]


def _trigger(view: TimerView) -> str:
    return "by hand" if view.trigger_type is None else f"{view.trigger_type} {view.trigger_value}"


def _arguments(view: TimerView) -> str | None:
    return None if (view.args_json, view.kwargs_json) == ("[]", "{}") else f"{view.args_json} {view.kwargs_json}"


def _due(call: ExecutionView) -> str:
    return "by hand" if call.fire_time is None else f"due {times.when(call.fire_time)}"


timers = group_of(
    "timers",
    """Look at the timers of apps and at their calls, and call them by hand.

    Without a word behind it, `ls` is meant, with its options.

    \b
    Examples:
      holdfast timers
    """,
    {"ls": list_, "show": show, "run": run, "cancel": cancel},
    usual="ls",
)
