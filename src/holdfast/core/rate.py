"""How many jobs a queue may start within a rolling window, as people write it and as it is decided.

No window of that length, wherever it begins, holds more starts than allowed: each start is kept until a window has
passed since. Each row that is kept says how many were started then and how many in all by then, so that a window is the
difference of two rows, however many starts there were.
"""

from __future__ import annotations

import re

from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.limits import shown

MOST_STARTS = 1_000_000
LONGEST_WINDOW: Millis = 366 * 86_400_000
CLOCKS_DIFFER: Millis = 60_000  # a start that is further ahead than this, and than a window, was noted by a wrong clock

_TEXT = re.compile(r"\s*(\d{1,18})\s*/\s*(\d{1,12}(?:\.\d{1,3})?)?\s*([a-z]+)\s*")
_UNITS: dict[str, Millis] = {
    unit: millis
    for millis, units in (
        (1, "ms"),
        (1_000, "s sec second seconds"),
        (60_000, "min m minute minutes"),
        (3_600_000, "h hour hours"),
        (86_400_000, "d day days"),
    )
    for unit in units.split()
}
_WRITTEN = {1: "ms", 1_000: "s", 60_000: "min", 3_600_000: "h", 86_400_000: "d"}
_ONE = {1_000: "second", 60_000: "minute", 3_600_000: "hour", 86_400_000: "day"}


class Rate(Struct, frozen=True):
    """At most so many starts within any window of this length."""

    limit: int
    window_ms: Millis

    def __str__(self) -> str:
        unit = max(millis for millis in _WRITTEN if self.window_ms % millis == 0)
        count = self.window_ms // unit
        return f"{self.limit}/{_WRITTEN[unit]}" if count == 1 else f"{self.limit}/{count}{_WRITTEN[unit]}"

    @property
    def window(self) -> str:
        """The window in words: "minute", "30 s"."""
        named = _ONE.get(self.window_ms)
        if named is not None:
            return named
        unit = max(millis for millis in _WRITTEN if self.window_ms % millis == 0)
        return f"{self.window_ms // unit} {_WRITTEN[unit]}"


def parse_rate(value: object) -> Rate:
    """What "10/min", "5/s" or "100/30s" means; InvalidInput says what is wrong."""
    found = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[3] not in _UNITS:
        raise InvalidInput(f"rate {shown(value)} is not valid: write a number of starts and a time, such as 10/min")
    return check_rate(Rate(int(found[1]), round(float(found[2] or 1) * _UNITS[found[3]])))


def check_rate(rate: Rate) -> Rate:
    """The rate, if it is within bounds."""
    if not 1 <= rate.limit <= MOST_STARTS:
        raise InvalidInput(
            f"rate {rate.limit} is not valid: use 1 to {MOST_STARTS} starts; to start none, pause the queue"
        )
    if not 1 <= rate.window_ms <= LONGEST_WINDOW:
        raise InvalidInput(f"rate window {rate.window} is not valid: use 1 ms to 366 days")
    return rate


class Starts(Struct, frozen=True):
    """What a queue has started: the last moment, how many in all, and how many of these before the window."""

    latest_at: Millis | None = None
    total: int = 0
    before: int = 0

    @property
    def in_window(self) -> int:
        """How many the window holds."""
        return self.total - self.before


def horizon(rate: Rate, now: Millis) -> Millis:
    """Starts beyond this moment are not believed: the clock that noted them was wrong, and was set back since."""
    return now + max(rate.window_ms, CLOCKS_DIFFER)


def moment_of(latest_at: Millis | None, now: Millis) -> Millis:
    """When a start counts as made: with several clocks, never before one that is known already."""
    return now if latest_at is None else max(now, latest_at)


def free_starts(rate: Rate, starts: Starts) -> int:
    """How many more may be started now."""
    return max(0, rate.limit - starts.in_window)


def opened_by(rate: Rate, starts: Starts) -> int:
    """Once all up to this one have left the window, in the order of all starts, there is room for one more."""
    return starts.total - rate.limit + 1
