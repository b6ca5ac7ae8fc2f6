"""How many jobs a queue may start within a rolling window.

No window of that length holds more starts than allowed, wherever it begins. Each start is stored until a window has
passed. A row has the starts of a moment and the total by then. So the starts in a window are the difference of two
rows, however many there were.
"""

from __future__ import annotations

import re

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.rules import rule, units
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import STARTS, WINDOW

CLOCKS_DIFFER: Millis = 60_000  # a start that is further ahead than this, and than a window, was noted by a wrong clock

SAYS = 'a number of starts and a time, such as "10/min", "5/s" or "100/30s"'
_TEXT = re.compile(r"\s*(\d{1,18})\s*/\s*(\S(?:.{0,40}\S)?)\s*")
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


def parse_rate(value: object, what: str = "rate") -> Rate:
    """Read "10/min", "5/s" or "100/30s". InvalidInput says what is wrong."""
    found = _TEXT.fullmatch(value) if isinstance(value, str) else None
    # The grammar of durations has single spaces.
    window = None if found is None else units.parse_window(" ".join(found[2].split()))
    if found is None or window is None:
        raise rule.refusal(what, value, SAYS)
    return make_rate(what, int(found[1]), window, value)


def make_rate(what: str, starts: int, window: Duration, said: object = None) -> Rate:
    """So many starts in such a time, if that is allowed. `said` is the rate as it was written."""
    written = (starts, window) if said is None else said
    if not STARTS.allows(starts):
        raise STARTS.refusal(what, written)
    return Rate(starts, WINDOW.millis(what, window, written))


class Starts(Struct, frozen=True):
    """The starts of a queue: the last moment, how many in all, and how many of these before the window."""

    latest_at: Millis | None = None
    total: int = 0
    before: int = 0

    @property
    def in_window(self) -> int:
        """How many the window holds."""
        return self.total - self.before


def horizon(rate: Rate, now: Millis) -> Millis:
    """Starts after this moment do not count. The clock that noted them was wrong."""
    return now + max(rate.window_ms, CLOCKS_DIFFER)


def moment_of(latest_at: Millis | None, now: Millis) -> Millis:
    """The moment that is noted for a start. With several clocks, it is never before a known one."""
    return now if latest_at is None else max(now, latest_at)


def free_starts(rate: Rate, starts: Starts) -> int:
    """How many more may be started now."""
    return max(0, rate.limit - starts.in_window)


def opened_by(rate: Rate, starts: Starts) -> int:
    """The number of the start, in the order of all, after which one more may start once it has left the window."""
    return starts.total - rate.limit + 1
