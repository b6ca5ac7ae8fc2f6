"""Count the times of the calendar that an expression names, day by day instead of one by one."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cronsim import CronSim

_DAY_S = 86_400
_EPOCH_DAY = date(1970, 1, 1).toordinal()


def times_between(fields: CronSim, after: int, upto: int) -> int:
    """How many times fit after one second of the calendar and up to another. Both count from 1970."""
    if upto <= after:
        return 0
    first, last = after // _DAY_S, upto // _DAY_S
    whole = len(fields.seconds) * len(fields.minutes) * len(fields.hours)
    days = sum(_fits(fields, day) for day in range(first, last))
    found = days * whole
    if _fits(fields, last):
        found += _times_until(fields, upto % _DAY_S)
    if _fits(fields, first):
        found -= _times_until(fields, after % _DAY_S)
    return found


def _fits(fields: CronSim, day: int) -> bool:
    found = date.fromordinal(_EPOCH_DAY + day)
    return found.month in fields.months and fields.match_day(found)


def _times_until(fields: CronSim, second: int) -> int:
    """How many times of a day that fits are not later than this second of it."""
    (hour, rest), in_hour = divmod(second, 3600), len(fields.seconds) * len(fields.minutes)
    minute, second = divmod(rest, 60)
    found = sum(one < hour for one in fields.hours) * in_hour
    if hour in fields.hours:
        found += sum(one < minute for one in fields.minutes) * len(fields.seconds)
        if minute in fields.minutes:
            found += sum(one <= second for one in fields.seconds)
    return found
