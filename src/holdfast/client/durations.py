"""Seconds, timedeltas and datetimes of the Python surface as the milliseconds of the store."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TypeAlias

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.limits import check_duration, check_moment, shown

Duration: TypeAlias = float | timedelta


def to_millis(what: str, value: Duration) -> Millis:
    """A duration in seconds or as a timedelta, in milliseconds."""
    if isinstance(value, timedelta):
        return check_duration(what, round(value.total_seconds() * 1000))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(f"{what} {shown(value)} is not a duration: use seconds or a timedelta")
    return check_duration(what, round(value * 1000))


def to_moment(what: str, value: datetime) -> Millis:
    """A point in time with a time zone, in milliseconds since the epoch."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"{what} {shown(value)} is not a moment: use a datetime with a time zone")
    if value.tzinfo is None:
        raise InvalidInput(f"{what} {value.isoformat()} has no time zone: add one, e.g. tzinfo=datetime.UTC")
    return check_moment(what, round(value.timestamp() * 1000))
