"""How people write lengths of time and sizes: one grammar for each, and the same units to show them.

The bounds are not here, but in rules.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TypeAlias

from holdfast.core.job import Millis

# Seconds, a timedelta, or a text such as "1h30m".
Duration: TypeAlias = float | timedelta | str

_SECONDS = {
    unit: seconds
    for seconds, units in (
        (0.001, "ms"),
        (1.0, "s sec second seconds"),
        (60.0, "m min minute minutes"),
        (3_600.0, "h hour hours"),
        (86_400.0, "d day days"),
        (604_800.0, "w week weeks"),
    )
    for unit in units.split()
}
_UNIT = "|".join(sorted(_SECONDS, key=len, reverse=True))
# A bare number means seconds, but not as a part of several.
_DURATION = re.compile(rf"\d+(?:\.\d+)?(?: ?(?:{_UNIT})(?: ?\d+(?:\.\d+)? ?(?:{_UNIT}))*)?", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]*)", re.ASCII)
_WORDS: tuple[tuple[Millis, str, str], ...] = (
    (365 * 86_400_000, "year", "years"),
    (86_400_000, "day", "days"),
    (3_600_000, "h", "h"),
    (60_000, "min", "min"),
    (1_000, "s", "s"),
    (1, "ms", "ms"),
)
_BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "kB": 1_000, "MB": 10**6, "GB": 10**9}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)(?:\s?(B|KiB|MiB|GiB|TiB|kB|MB|GB))?", re.ASCII)

DURATION_FORMS = 'in seconds or as a text such as "500ms", "90s", "1h30m", "7d"'
SIZE_FORMS = 'in bytes or as a text such as "64MiB"'


def parse_window(text: str) -> float | None:
    """A duration with a unit, or a unit alone, which means one of it: "30s", "min"."""
    return _SECONDS.get(text) or (parse_duration(text) if text[-1:].isalpha() else None)


def parse_duration(value: object) -> float | None:
    """How many seconds a number, a timedelta or a text such as "1h30m" means. None: it is no length of time.

    >>> parse_duration("1h30m"), parse_duration("90"), parse_duration(0.5), parse_duration("soon")
    (5400.0, 90.0, 0.5, None)
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, int | float):
        return None if isinstance(value, bool) else value
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        return None
    return sum(float(number) * _SECONDS[unit or "s"] for number, unit in _PART.findall(value))


def parse_size(value: object) -> int | None:
    """How many bytes a whole number or a text such as "64MiB" means. None: it is no size.

    >>> parse_size("64MiB"), parse_size("1.5 kB"), parse_size(7), parse_size("much")
    (67108864, 1500, 7, None)
    """
    if isinstance(value, int):
        return None if isinstance(value, bool) else value
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    size = float(found[1]) * _BYTES[found[2] or "B"]
    return round(size) if size < float("inf") else None


def duration_words(millis: Millis) -> str:
    """A length of time in a sentence: "100 years", "5 min", "1 ms"."""
    for size, one, several in _WORDS:
        if millis >= size and millis % size == 0:
            return f"{millis // size} {one if millis == size else several}"
    return "0 s"


def written_duration(seconds: float) -> str:
    """Seconds as a text that means them: "1h", "500ms"."""
    millis = round(seconds * 1000)
    for unit in ("d", "h", "m", "s"):
        size = round(_SECONDS[unit] * 1000)
        if millis >= size and millis % size == 0:
            return f"{millis // size}{unit}"
    return f"{millis}ms" if millis else "0s"


def written_size(number: int) -> str:
    """Bytes as a text that means them: "64MiB"."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if number >= _BYTES[unit] and number % _BYTES[unit] == 0:
            return f"{number // _BYTES[unit]}{unit}"
    return f"{number}B"
