"""`holdfast listeners`: the handlers of events of apps, and their calls."""

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
    from holdfast.core.messages.telemetry import InvocationPage, ListenerView


def list_(app: AppOption = None, since: SinceOption = None, everything: RetiredOption = False) -> Output:
    """List the handlers of events of apps, with figures about their calls of the last days.

    \b
    Examples:
      holdfast listeners ls
      holdfast listeners --app kitchen --since 24h
    """
    found = client().listeners(app=app, since=times.before("since", since), retired=everything)
    head = ("id", "app", "handler", "topic", "when", *FIGURES, "dropped")
    return output.listed(found, head, map(_row, found), right=("id", "calls", "failed", "dropped"))


def show(
    listener: Annotated[int, Argument("ID", field="listener_id", help="The id of a listener.")],
    since: SinceOption = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
) -> Output:
    """Show a handler of events and its calls, newest first.

    \b
    Examples:
      holdfast listeners show 1
    """
    hf = client()
    view = hf.listener(listener)
    page = hf.invocations(listener, since=times.before("since", since), limit=limit, cursor=cursor)
    return Output({"listener": view, **_as_fields(page)}, lambda: _show(view, page, limit))


def _show(view: ListenerView, page: InvocationPage, limit: int) -> None:
    output.show_fields(
        [
            ("listener", str(view.id)),
            ("app", view.app_key),
            ("name", view.name),
            ("handler", view.handler_method),
            ("topic", view.topic),
            ("where", view.predicate_description),
            ("when", _controls(view) or None),
            ("dropped", str(view.events_dropped) if view.events_dropped else None),
            *calls_shown.registration(view),
        ]
    )
    output.put()
    output.show_table(HEAD, list(calls_shown.call_rows((call, call.event_name) for call in page.invocations)))
    output.say_more(page.cursor, f"newest {limit}", limit)


def _as_fields(page: InvocationPage) -> dict[str, object]:
    return {"invocations": page.invocations, "cursor": page.cursor}


def _row(view: ListenerView) -> list[str]:
    return [
        str(view.id),
        view.app_key,
        view.handler_method,
        view.topic,
        _controls(view) if view.retired_at is None else "retired",
        *calls_shown.figures(view),
        str(view.events_dropped),
    ]


def _controls(view: ListenerView) -> str:
    """What decides when the handler is called, in the words of `bus.on`."""
    words = [
        "" if view.debounce_ms is None else f"debounce {times.length(view.debounce_ms)}",
        "" if view.throttle_ms is None else f"throttle {times.length(view.throttle_ms)}",
        "once" if view.once else "",
        "" if view.per == "name" else f"per {view.per}",
        "" if view.mode == "queued" else view.mode,
        "" if view.priority == 0 else f"priority {view.priority}",
    ]
    return ", ".join(word for word in words if word)


listeners = group_of(
    "listeners",
    """Look at the handlers of events of apps, and at their calls.

    Without a word behind it, `ls` is meant, with its options.

    \b
    Examples:
      holdfast listeners
    """,
    {"ls": list_, "show": show},
    usual="ls",
)
