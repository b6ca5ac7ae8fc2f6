"""Cron expressions: when they fire next, when they fired last, and what they say in words.

Five fields, six with the seconds last, or a name such as `@daily`. `cronsim` reads the fields and walks the calendar.
What a change of the clocks means is decided here, as Debian's cron does it. A time that is skipped fires once, at the
moment the clocks are set forward. A time that comes twice fires once, the first time. An expression whose minute or
hour begins with `*` names no time, but says "every so often". It follows the clocks as they are.
"""

from __future__ import annotations

import copy
import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.rules import limits
from holdfast.core.rules.timing import FAR_FUTURE
from holdfast.core.schedules import cron_count, cron_words
from holdfast.core.settings import rule_table

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from cronsim import CronSim

UTC = "UTC"

_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)
_DAY_S = 86_400
# The longest that clocks were ever set forward or back, and a little more: Samoa left out a whole day.
_LONGEST_SHIFT_S = _DAY_S + 3_600
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+/-]*", re.ASCII)
# Tables with leap seconds, copies, and names that do not say which zone they are.
_NO_ZONES = ("right/", "posix/", "localtime", "Factory")
NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_ALLOWED = {
    "second": "0 to 59",
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "1 to 31, L or LW",
    "month": "1 to 12 or JAN to DEC",
    "day-of-week": "0 to 7 or SUN to SAT, with #1 to #5 or L behind it",
}


_VALUES = {"minute": 60, "hour": 24, "day-of-month": 31, "month": 12, "day-of-week": 7, "second": 60}
_STEP = re.compile(r"/([0-9]+)", re.ASCII)


class Cron:
    """A valid expression in a time zone. Every moment is in milliseconds since the epoch; ticks are whole seconds."""

    def __init__(self, expression: str, timezone: str = UTC) -> None:
        self.expression = expression
        self.timezone = timezone
        self._zone = zone_of(timezone)
        self._fields, is_timed = _parsed(expression)
        self._is_timed = is_timed
        if self.next_after(0) is None:
            raise InvalidInput(f"cron expression {limits.shown(expression)} never fires")

    def next_after(self, moment: Millis) -> Millis | None:
        """The first tick after a moment. None if there is none before the end of the year 9999."""
        try:
            second = (self._next_timed if self._is_timed else self._next_repeated)(moment // 1000)
        except OverflowError:
            return None
        return None if second is None or second * 1000 > FAR_FUTURE else second * 1000

    def previous_or_at(self, moment: Millis) -> Millis | None:
        """The last tick up to a moment. None if there is none since 1970."""
        try:
            second = (self._last_timed if self._is_timed else self._last_repeated)(moment // 1000)
        except OverflowError:
            return None
        return None if second is None or second < 0 else second * 1000

    def upcoming(self, after: Millis, count: int) -> list[Millis]:
        """The next ticks after a moment."""
        found: list[Millis] = []
        tick = self.next_after(after)
        while tick is not None and len(found) < count:
            found.append(tick)
            tick = self.next_after(tick)
        return found

    def count(self, after: Millis, upto: Millis) -> int:
        """How many ticks there are after a moment and up to another. They are not counted one by one."""
        start, end = after // 1000, upto // 1000
        return (self._count_timed if self._is_timed else self._count_repeated)(start, end) if end > start else 0

    @property
    def words(self) -> str:
        """The expression as a person would say it."""
        said = cron_words.in_words(self._fields)
        return f"{said}, {self.timezone}" if self.timezone == UTC else f"{said}, {self.timezone} time"

    # Seconds of the wall clock are counted like those of the epoch, as if the zone were UTC: `wall = moment + offset`.

    def _next_repeated(self, second: int) -> int | None:
        at, wall = second, second + self._offset(second)
        while True:
            offset, match = self._offset(at), self._walk(wall, 1)
            if match is None:
                return None
            change = self._first_change(at, match - offset)
            if change is None:
                return match - offset
            at, wall = change, change + self._offset(change) - 1

    def _last_repeated(self, second: int) -> int | None:
        at = second
        while True:
            offset = self._offset(at)
            match = self._walk(at + offset + 1, -1)
            if match is None:
                return None
            change = self._last_change(match - offset, at)
            if change is None:
                return match - offset
            at = change - 1

    def _next_timed(self, second: int) -> int | None:
        match = self._walk(self._shown_by(second), 1)
        while match is not None:
            moment = self._moment_of(match)
            if moment > second:
                return moment
            match = self._walk(match, 1)
        return None

    def _last_timed(self, second: int) -> int | None:
        match = self._walk(self._shown_by(second) + 1, -1)
        while match is not None:
            moment = self._moment_of(match)
            if moment <= second:
                return moment
            match = self._walk(match, -1)
        return None

    def _count_repeated(self, start: int, end: int) -> int:
        found, at = 0, start
        while at < end:
            # Up to the next change of the clocks, their difference stays the same.
            change = self._first_change(at, end)
            last, offset = (end, self._offset(end)) if change is None else (change - 1, self._offset(change - 1))
            found += cron_count.times_between(self._fields, at + offset, last + offset)
            if change is None:
                break
            wall = change + self._offset(change)
            found += cron_count.times_between(self._fields, wall - 1, wall)
            at = change
        return found

    def _count_timed(self, start: int, end: int) -> int:
        found = cron_count.times_between(self._fields, self._shown_by(start), self._shown_by(end))
        at = start
        while (change := self._first_change(at, end)) is not None:
            # Times that the clocks skip are one tick, at the moment of the change.
            left_out = cron_count.times_between(self._fields, self._shown_by(change - 1), self._shown_by(change))
            found -= max(0, left_out - 1)
            at = change
        return found

    def _shown_by(self, second: int) -> int:
        """The latest time that the wall clock has shown up to this moment, before it was set back or after."""
        change = self._last_change(second - _LONGEST_SHIFT_S, second)
        wall = second + self._offset(second)
        return wall if change is None else max(wall, change - 1 + self._offset(change - 1))

    def _moment_of(self, wall: int) -> int:
        """When the wall clock first shows this time. If it never does: when it is set past it."""
        moment = round((_EPOCH + wall * _SECOND).replace(tzinfo=self._zone).timestamp())
        if moment + self._offset(moment) == wall:
            return moment
        change = self._last_change(moment - _LONGEST_SHIFT_S, moment)
        return moment if change is None else change

    def _walk(self, wall: int, direction: int) -> int | None:
        """The next time on the calendar that fits, after this one or before it."""
        walker = copy.copy(self._fields)
        walker.dt = _EPOCH + wall * _SECOND
        walker.tick_direction = direction
        try:
            return (next(walker) - _EPOCH) // _SECOND
        except StopIteration:
            return None

    def _offset(self, second: int) -> int:
        offset = datetime.fromtimestamp(second, self._zone).utcoffset()
        return 0 if offset is None else offset // _SECOND

    def _first_change(self, start: int, end: int) -> int | None:
        """The first moment after `start`, up to `end`, at which the clocks were changed."""
        before, low = self._offset(start), start
        while low < end:
            high = min(low + _DAY_S, end)
            if self._offset(high) != before:
                return self._change_between(low, high, self._offset(high))
            low = high
        return None

    def _last_change(self, start: int, end: int) -> int | None:
        """The last moment after `start`, up to `end`, at which the clocks were changed."""
        now, high = self._offset(end), end
        while high > start:
            low = max(high - _DAY_S, start)
            if self._offset(low) != now:
                return self._change_between(low, high, now)
            high = low
        return None

    def _change_between(self, low: int, high: int, offset: int) -> int:
        while high - low > 1:
            middle = (low + high) // 2
            if self._offset(middle) == offset:
                high = middle
            else:
                low = middle
        return high


@lru_cache(maxsize=1024)
def parse_stored(expression: str, timezone: str = UTC) -> Cron:
    """A cron expression that was stored before, perhaps when less was refused."""
    return Cron(expression, timezone)


def parse(expression: str, timezone: str = UTC) -> Cron:
    """A cron expression in a time zone, or InvalidInput that says what does not fit."""
    cron = parse_stored(expression, timezone)
    _check_steps(expression)
    return cron


def zone_of(name: str) -> ZoneInfo:
    """The time zone of this name, such as `Europe/Berlin`."""
    if isinstance(name, str) and _ZONE.fullmatch(name) and len(name) <= 100 and not name.startswith(_NO_ZONES):
        # Imported late: most commands of the command line read no expression.
        from zoneinfo import ZoneInfo

        try:
            return ZoneInfo(name)
        except (OSError, ValueError, LookupError):
            pass
    raise InvalidInput(
        f"there is no time zone {limits.shown(name)}: use a name such as UTC, Europe/Berlin or America/New_York"
    )


def _parsed(expression: str) -> tuple[CronSim, bool]:
    """The parsed expression, and whether it names a time of day."""
    from cronsim import CronSim, CronSimError

    said = f"cron expression {limits.shown(expression)}"
    rule_table.check("cron", expression, "cron expression")
    fields = NAMED.get(expression, expression).split()
    if len(fields) not in (5, 6):
        count = "one field" if len(fields) == 1 else f"{len(fields)} fields"
        raise InvalidInput(
            f"{said} has {count}: use five (minute, hour, day of month, month, day of week), six with the second "
            f"last, or one of {', '.join(NAMED)}"
        )
    second = fields[5] if len(fields) == 6 else "0"
    minute, hour, day, month, weekday = fields[:5]
    try:
        sim = CronSim(" ".join((second, minute, hour, day, month, weekday)), _EPOCH)
    except (CronSimError, ValueError) as error:
        raise InvalidInput(f"{said} is not valid: {_trouble(str(error), month)}") from None
    return sim, not minute.startswith("*") and not hour.startswith("*")


def _check_steps(expression: str) -> None:
    """Refuse a step beyond the end of its field. It would name one value alone, which cannot be meant."""
    for (name, values), field in zip(_VALUES.items(), NAMED.get(expression, expression).split(), strict=False):
        for step in _STEP.findall(field):
            if int(step) >= values:
                raise InvalidInput(
                    f"cron expression {limits.shown(expression)} is not valid: its {name} has the step {step}, "
                    f"but only {values} values; use a smaller step, or several schedules"
                )


def _trouble(said: str, month: str) -> str:
    name = said.removeprefix("Bad ")
    if name not in _ALLOWED:
        return "use numbers, ranges like 1-5, lists like 1,3 and steps like */15"
    never = f" or never comes in month {month}" if name == "day-of-month" and month != "*" else ""
    return f"its {name} does not fit{never}; use {_ALLOWED[name]}, ranges like 1-5, lists like 1,3 and steps like */15"
