"""`holdfast apps`: the apps, and the processes that call their handlers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import completion, output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.command import group_of
from holdfast.cli.frame.output import GREEN, RED, YELLOW, Coloured, Fields, Output
from holdfast.cli.frame.words import Argument

if TYPE_CHECKING:
    from holdfast.core.messages.apps import AppView

AppArgument = Annotated[str, Argument("APP", help="The key of an app.", complete=completion.named_apps)]
HEAD = ("app", "status", "class", "pid", "node", "started", "detail")
COLOURS = {"running": GREEN, "failed": RED, "stopped": YELLOW, "waiting": YELLOW, "starting": YELLOW}


def list_() -> Output:
    """List the apps.

    \b
    Examples:
      holdfast apps ls
    """
    apps = client().apps()
    return output.listed(apps, HEAD, map(_row, apps), right=("pid",))


def show(app: AppArgument) -> Output:
    """Show an app.

    \b
    Examples:
      holdfast apps show kitchen
    """
    view = client().find_app(app)
    return Output(view, lambda: _show(view))


def start(app: AppArgument) -> Output:
    """Let an app run again that was stopped, or try one again that failed.

    \b
    Examples:
      holdfast apps start kitchen
    """
    view = client().start_app(app)
    if view.session_id is not None:
        return Output(view, f"app {view.app_key} is {view.status}")
    return Output(view, f"app {view.app_key} starts as soon as a worker has room for it")


def stop(app: AppArgument) -> Output:
    """Stop an app until it is started again.

    It stays stopped when the daemon is restarted.

    \b
    Examples:
      holdfast apps stop kitchen
    """
    view = client().stop_app(app)
    said = "is stopped" if view.session_id is None else "is asked to stop"
    return Output(view, f"app {view.app_key} {said}; to go on: holdfast apps start {view.app_key}")


apps = group_of(
    "apps",
    """Look after apps: classes with handlers of events and timers.

    Without a word behind it, `ls` is meant, with its options.

    \b
    Examples:
      holdfast apps
    """,
    {"ls": list_, "show": show, "start": start, "stop": stop},
    usual="ls",
)


def _show(view: AppView) -> None:
    output.show_fields(_fields(view))
    if view.error_traceback is not None and view.status == "failed":
        output.put()
        output.put_lines(view.error_traceback)


def _row(view: AppView) -> list[str]:
    return [
        view.app_key,
        Coloured(view.status, COLOURS[view.status]),
        view.class_name,
        "" if view.pid is None else str(view.pid),
        view.node or "",
        "" if view.started_at is None or view.session_id is None else times.ago(view.started_at),
        _detail(view),
    ]


def _detail(view: AppView) -> str:
    if view.status == "waiting":
        return "no worker has it: was its code given with --app, and can it be loaded? see holdfast status"
    if view.status != "stopped" and view.wanted == "stopped":
        return "asked to stop"
    return _error(view) if view.status == "failed" else ""


def _error(view: AppView) -> str:
    return f"{view.error_type}: {view.error_message}"


def _fields(view: AppView) -> Fields:
    return [
        ("app", view.app_key),
        ("class", view.class_name),
        ("status", Coloured(view.status, COLOURS[view.status])),
        ("wanted", view.wanted),
        ("pid", None if view.pid is None else str(view.pid)),
        ("node", view.node),
        ("taken", None if view.started_at is None else times.when(view.started_at)),
        ("error", None if view.error_type is None else _error(view)),
    ]
