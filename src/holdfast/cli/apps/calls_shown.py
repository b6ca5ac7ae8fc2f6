"""Calls of handlers and timers as people see them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import completion, times
from holdfast.cli.frame.output import GREEN, RED, YELLOW, Coloured, Fields
from holdfast.cli.frame.words import Option

if TYPE_CHECKING:
    from holdfast.core.messages.telemetry import CallView, ListenerView, TimerView

AppOption = Annotated[
    str | None, Option("--app", metavar="APP", help="Only those of this app.", complete=completion.named_apps)
]
SinceOption = Annotated[str | None, Option("--since", metavar="TIME", help="Only calls within this time: 90s, 2h, 7d.")]
RetiredOption = Annotated[bool, Option("--all", "-a", help="Those that are registered no more, too.")]

HEAD = ("call", "began", "took", "status", "what", "detail")
COLOURS = {"success": GREEN, "error": RED, "timed_out": RED, "cancelled": YELLOW, "skipped": YELLOW}
FIGURES = ("calls", "failed", "last", "mean", "longest")


def call_rows(calls: Iterable[tuple[CallView, str]]) -> Iterable[list[str]]:
    """A row for each call, with what it was about."""
    return ([*call_cells(call), what, error_of(call)] for call, what in calls)


def call_cells(call: CallView) -> list[str]:
    """When a call began, how long it took, and how it ended."""
    return [call.id, times.ago(call.started_at), took(call.duration_ms), Coloured(call.status, COLOURS[call.status])]


def took(millis: float | None) -> str:
    """How long a call took."""
    return "" if millis is None else f"{millis:.3g} ms" if millis < 1 else times.length(round(millis))


def error_of(call: CallView) -> str:
    """What a call failed of."""
    return "" if call.error_type is None else f"{call.error_type}: {call.error_message}"


def figures(view: ListenerView | TimerView) -> list[str]:
    """How many calls there were, how many of them failed, and how long they took."""
    failed = sum(count for status, count in view.counts.items() if status in ("error", "timed_out"))
    return [
        str(sum(view.counts.values())),
        Coloured(str(failed), RED) if failed else "0",
        times.ago(view.last_run_at) if view.last_run_at is not None else "",
        took(view.mean_ms),
        took(view.longest_ms),
    ]


def registration(view: ListenerView | TimerView) -> Fields:
    """Where in the code it is registered, and what is known of its calls."""
    counts = ", ".join(f"{count} {status}" for status, count in view.counts.items())
    return [
        ("time-out", times.length(view.timeout_ms)),
        ("registered", f"{view.source_location}, {times.when(view.last_registered_at)}"),
        ("retired", None if view.retired_at is None else times.when(view.retired_at)),
        ("calls", counts or "none"),
        ("mean", took(view.mean_ms) or None),
        ("longest", took(view.longest_ms) or None),
        ("source", view.registration_source),
    ]
