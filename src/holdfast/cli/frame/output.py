"""How things are printed: tables that fit the terminal, colours on a terminal, JSON with stable fields."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from holdfast.cli.frame.failures import say
from holdfast.core.rules.limits import MOST_PER_PAGE
from holdfast.observe.terminal import in_a_line, in_json, in_lines

if TYPE_CHECKING:
    from codecs import IncrementalDecoder

BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN, GREY = "1", "2", "31", "32", "33", "34", "36", "90"

STATE_COLOURS = {
    "DONE": GREEN,
    "RUNNING": CYAN,
    "FAILED": RED,
    "QUEUED": YELLOW,
    "SCHEDULED": BLUE,
    "CANCELLED": GREY,
    "SUPERSEDED": GREY,
    "SKIPPED_TTL": GREY,
    "SKIPPED_DEADLINE": GREY,
    "COMPLETED": GREEN,
    "SKIPPED": GREY,
    "YIELDED": GREY,
    "PARTIAL": YELLOW,
}
Fields: TypeAlias = list[tuple[str, str | None]]

GAP = "  "
NARROWEST = 6
CUT = "…"


class Coloured(str):
    """A text and the colour that it has on a terminal."""

    colour = ""

    def __new__(cls, text: str, colour: str) -> Coloured:
        made = super().__new__(cls, text)
        made.colour = colour
        return made


def state_text(name: str) -> Coloured:
    """A state or a status in its colour."""
    return Coloured(name, STATE_COLOURS.get(name, ""))


def has_colour(stream: TextIO) -> bool:
    """Whether a stream gets colours: only a terminal does, and not with NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def put(*parts: object, stream: TextIO | None = None, flush: bool = False) -> None:
    """Print one line. All text gets to a terminal this way, so that the terminal obeys nothing in it.

    Each part that is `Coloured` has its colour, if there are colours.
    """
    to = stream or sys.stdout
    print("".join(_painted(part if isinstance(part, str) else str(part), to) for part in parts), file=to, flush=flush)


def put_lines(text: str) -> None:
    """Print several lines of our own."""
    for line in text.splitlines():
        put(line)


def mark(is_well: bool) -> Coloured:
    """A tick or a cross."""
    return Coloured("✓", GREEN) if is_well else Coloured("✗", RED)


class Output:
    """What a command has to say: `value` with --json, otherwise `shown`. It ends with `code`.

    `shown` is a line, several lines, or a function that prints. A `value` that costs a call may be a function too.
    """

    def __init__(
        self, value: object, shown: str | int | Iterable[object] | Callable[[], object] = (), *, code: int = 0
    ) -> None:
        self.value = value
        self.shown = shown
        self.code = code

    def put(self, *, json: bool) -> None:
        """Print it."""
        if json:
            show_json(self.value() if callable(self.value) else self.value)
        elif callable(self.shown):
            self.shown()
        else:
            for line in [self.shown] if isinstance(self.shown, str | int) else self.shown:
                put(line)


def listed(
    value: object,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Sequence[str] = (),
    none: list[str] | None = None,
) -> Output:
    """A table for a person. Its rows are made only then. If there are none, the lines of `none` are printed."""

    def show() -> None:
        made = list(rows)
        if made or none is None:
            show_table(head, made, right=right)
            return
        for line in none:
            say(line)

    return Output(value, show)


def described(value: object, fields: Fields) -> Output:
    """Names and values for a person."""
    return Output(value, lambda: show_fields(fields))


def say_more(cursor: str | None, what: str, limit: int) -> None:
    """Say on a terminal how to get more of a list that goes on behind what it shows."""
    if cursor is not None and is_terminal():
        say(f"these are the {what}; for more: -n {min(limit * 5, MOST_PER_PAGE)}")


def put_json(value: Any) -> None:
    """One JSON document in one line."""
    import msgspec

    print(in_json(msgspec.json.encode(value).decode()), flush=True)


def show_json(value: Any) -> None:
    """One JSON document."""
    import msgspec

    print(in_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode()))


def put_bytes(data: bytes, decoder: IncrementalDecoder) -> None:
    """Print what a job wrote. On a terminal without what that would obey, otherwise as it is."""
    if is_terminal():
        sys.stdout.write(in_lines(decoder.decode(data)))
        sys.stdout.flush()
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def show_fields(fields: Fields) -> None:
    """Names and values, one below the other. What has no value is left out."""
    shown = [(name, value) for name, value in fields if value]
    width = max((len(name) for name, _ in shown), default=0)
    for name, value in shown:
        put(Coloured(name.ljust(width), DIM), GAP, value)


def show_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """A table whose columns are as wide as needed, or as the terminal allows. Those in `right` are right-aligned."""
    for line in table(head, rows, room(), right=right):
        print(line)


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], limit: int | None, *, right: Sequence[str] = ()
) -> list[str]:
    """The lines of a table that is at most `limit` wide."""
    cleaned = [[_cleaned(cell) for cell in row] for row in rows]
    widths = [max([len(title), *(width(row[place]) for row in cleaned)]) for place, title in enumerate(head)]
    if limit is not None:
        _squeeze(widths, limit - len(GAP) * (len(head) - 1))
    sides = [name in right for name in head]
    titles = _line([title.upper() for title in head], widths, sides)
    return [_painted(Coloured(titles, BOLD)), *(_line(row, widths, sides) for row in cleaned)]


def _squeeze(widths: list[int], limit: int) -> None:
    """Make the widest column narrower, again and again, until all fit or none can be."""
    while sum(widths) > limit and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1


def _line(row: Sequence[str], widths: Sequence[int], sides: Sequence[bool]) -> str:
    cells = []
    last = len(row) - 1
    for place, (cell, wide, is_right) in enumerate(zip(row, widths, sides, strict=True)):
        text = cut(cell, wide)
        pad = " " * (wide - width(text))
        shown = _painted(Coloured(text, cell.colour) if isinstance(cell, Coloured) else text)
        cells.append(pad + shown if is_right else shown if place == last else shown + pad)
    return GAP.join(cells).rstrip()


def room() -> int | None:
    """The width of the terminal. None if there is no terminal."""
    if not sys.stdout.isatty():
        return None
    try:
        return int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80


def width(text: str) -> int:
    """How many columns a text takes up."""
    return len(text) if text.isascii() else sum(map(_columns(), text))


@cache
def _columns() -> Callable[[str], int]:
    from unicodedata import category, east_asian_width

    @cache
    def columns(letter: str) -> int:
        if category(letter) in ("Mn", "Me", "Cf"):
            return 0
        return 2 if east_asian_width(letter) in "WF" else 1

    return columns


def cut(text: str, limit: int) -> str:
    """The text, or as much of it as fits, with a mark where it was cut."""
    if width(text) <= limit:
        return text
    kept, used = [], 0
    for letter in text:
        used += width(letter)
        if used > limit - 1:
            break
        kept.append(letter)
    return "".join(kept) + CUT


def _cleaned(cell: str) -> str:
    return Coloured(in_a_line(cell), cell.colour) if isinstance(cell, Coloured) else in_a_line(cell)


def _painted(part: str, stream: TextIO | None = None) -> str:
    text = in_a_line(part)
    if isinstance(part, Coloured) and part.colour and has_colour(stream or sys.stdout):
        return f"\033[{part.colour}m{text}\033[0m"
    return text


def bar(fraction: float, wide: int = 10) -> str:
    """A bar that shows how far something is."""
    eighths = round(min(max(fraction, 0.0), 1.0) * wide * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")).ljust(wide)


def is_interactive() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def is_terminal() -> bool:
    """Whether the output goes to a terminal."""
    return sys.stdout.isatty()


def size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
