"""How things look: tables that fit the terminal, JSON with stable fields, times for people."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any

import msgspec

_COLOURS = {
    "DONE": "32",
    "RUNNING": "36",
    "FAILED": "31",
    "QUEUED": "33",
    "SCHEDULED": "34",
    "CANCELLED": "90",
    "SUPERSEDED": "90",
    "SKIPPED_TTL": "90",
    "SKIPPED_DEADLINE": "90",
}


def show_json(value: Any) -> None:
    """One JSON document."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need to be; the last one is cut where the terminal ends."""
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    room = shutil.get_terminal_size((200, 24)).columns if sys.stdout.isatty() else 10_000
    for number, row in enumerate([head, *rows]):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        line = "  ".join(cells).rstrip()[:room]
        print(_painted(line, row) if number else line.upper() if not sys.stdout.isatty() else f"\033[1m{line}\033[0m")


def _painted(line: str, row: Sequence[str]) -> str:
    if not sys.stdout.isatty():
        return line
    for cell in row:
        if cell in _COLOURS:
            return line.replace(cell, f"\033[{_COLOURS[cell]}m{cell}\033[0m", 1)
    return line


def ago(millis: int | None) -> str:
    """How long ago, in one unit."""
    if millis is None:
        return "-"
    seconds = max(0.0, time.time() - millis / 1000)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.0f}{unit} ago"
    return f"{seconds:.0f}s ago"


def moment(millis: int | None) -> str:
    """A moment in the local time zone."""
    return "-" if millis is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(millis / 1000))


def is_interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()
