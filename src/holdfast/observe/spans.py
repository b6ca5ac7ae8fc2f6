"""Spans: what took how long in a trace. They cost next to nothing if they are not collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from holdfast.observe.trace import Trace

Kind: TypeAlias = Literal["internal", "server", "producer", "consumer"]


class Span(Struct, frozen=True):
    """A piece of work in a trace. Times are nanoseconds since the epoch."""

    trace: Trace
    name: str
    kind: Kind
    started_at: int
    ended_at: int
    attributes: Mapping[str, str | int | float | bool] = {}
    error: str | None = None


Sink: TypeAlias = Callable[[Span], None]

_sink: Sink | None = None


def send_to(sink: Sink | None) -> None:
    """Give every span to `sink` from now on. None: to nothing."""
    global _sink
    _sink = sink


def are_wanted() -> bool:
    """Whether spans are collected."""
    return _sink is not None


def record(span: Span) -> None:
    """Give an ended span to the sink."""
    if _sink is not None and span.trace.sampled:
        _sink(span)
