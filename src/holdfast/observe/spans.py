"""What took how long in a trace. Costs next to nothing until somebody wants to have it."""

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
    """From now on, whoever `sink` is gets every span; None: nobody does."""
    global _sink
    _sink = sink


def are_wanted() -> bool:
    """Whether it is worth making a span."""
    return _sink is not None


def record(span: Span) -> None:
    """Hand a span over that has ended."""
    if _sink is not None and span.trace.sampled:
        _sink(span)
