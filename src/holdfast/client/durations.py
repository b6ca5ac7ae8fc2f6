"""Seconds, timedeltas and datetimes of the Python surface as the milliseconds of the store."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.limits import check_moment, shown
from holdfast.core.timing import LONGEST

Duration: TypeAlias = float | timedelta


def to_millis(what: str, value: Duration) -> Millis:
    """A duration in seconds or as a timedelta, in milliseconds."""
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds != seconds:
        raise InvalidInput(f"{what} {shown(value)} is not a duration: use seconds or a timedelta")
    if not 0 <= seconds <= LONGEST / 1000:
        raise InvalidInput(f"{what} {shown(value)} is out of range: use 0 seconds to 100 years")
    return round(seconds * 1000)


def to_timeout(value: Duration | None) -> Millis | None:
    """How long a run may take, in milliseconds; None: no limit of its own."""
    if value is None:
        return None
    millis = to_millis("timeout", value)
    if millis == 0:
        raise InvalidInput(f"timeout {shown(value)} leaves no time to run: give at least 0.001 seconds, or no timeout")
    return millis


def to_moment(what: str, value: datetime) -> Millis:
    """A point in time with a time zone, in milliseconds since the epoch."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} {shown(value)} is not a moment: use a datetime with a time zone")
    if value.utcoffset() is None:
        raise InvalidInput(f"{what} {value.isoformat()} has no time zone: add one, e.g. tzinfo=datetime.UTC")
    return check_moment(what, round(value.timestamp() * 1000))
