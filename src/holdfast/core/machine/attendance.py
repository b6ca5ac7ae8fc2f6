"""When sessions were there to run jobs, and for how much of a time span."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from holdfast.core.job import Millis

Span: TypeAlias = tuple[Millis, Millis]


def merged(spans: Iterable[Span]) -> list[Span]:
    """The same times without overlaps, in order."""
    joined: list[Span] = []
    for since, until in sorted(spans):
        if joined and since <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], until))
        else:
            joined.append((since, until))
    return joined


def attended(spans: Sequence[Span], since: Millis, until: Millis) -> Millis:
    """How much of a time span lies within these spans, which do not overlap."""
    return sum(max(0, min(until, end) - max(since, begin)) for begin, end in spans)
