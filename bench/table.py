"""Where a measurement happens, and how its result is shown."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from uuid import uuid4

from msgspec import Struct


class Place(Struct, frozen=True):
    """A folder and a server, to make databases in."""

    folder: Path
    postgres_url: str

    def new_file(self) -> str:
        """The path of a database that does not exist yet."""
        return str(self.folder / f"{uuid4().hex}.db")

    def new_schema(self) -> str:
        """The name of a PostgreSQL schema that does not exist yet."""
        return f"bench_{uuid4().hex[:12]}"


class Table(Struct):
    """Rows under a title; a row is what, the figure, and how it compares, unless `heads` says otherwise."""

    title: str
    note: str
    rows: Sequence[tuple[str, ...]]
    heads: tuple[str, ...] = ("what", "measured", "compared")
    after: str = ""

    def markdown(self) -> str:
        """As Markdown that also reads well in a terminal."""
        return f"\n## {self.title}\n\n{self.note}\n\n{self.lines()}\n" + (f"\n{self.after}" if self.after else "")

    def lines(self) -> str:
        """The rows alone."""
        rows = [self.heads, *self.rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
        ]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines)


class Stopwatch:
    """Seconds between its start and the last look at it."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self.seconds = 0.0

    def look(self) -> float:
        """Take the time now."""
        self.seconds = time.perf_counter() - self._start
        return self.seconds


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Measure the block inside."""
    watch = Stopwatch()
    try:
        yield watch
    finally:
        watch.look()


def percentiles(seconds: list[float]) -> str:
    """p50 and p95, in milliseconds."""
    return f"p50 {p(seconds, 50) * 1000:.2f} ms, p95 {p(seconds, 95) * 1000:.2f} ms"


def p(values: list[float], nth: int) -> float:
    """The nth percentile."""
    return quantiles(values, n=100, method="inclusive")[nth - 1]


def per_second(count: int, seconds: float) -> str:
    """A rate for people."""
    return f"{count / seconds:,.0f} /s"
