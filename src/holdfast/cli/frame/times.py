"""Moments and durations, as people write and read them."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from holdfast.core.rules.value_rules import DURATION, MOMENT
from holdfast.core.settings import rule_table

FORMS = "written as 18:30, 2030-01-31 or 2030-01-31T18:30"

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)


def seconds(what: str, text: str | None, field: str | None = None) -> float | None:
    """A duration: 90, 90s, 1h30m, 2d. `field` is its name in the table of rules, if it has bounds there."""
    if text is None:
        return None
    return (DURATION.millis(f"--{what}", text) if field is None else rule_table.millis(field, text, f"--{what}")) / 1000


def moment(what: str, text: str | None) -> datetime | None:
    """A moment: 18:30 (the next one), 2030-01-31, 2030-01-31T18:30 in local time, or with a zone."""
    if text is None:
        return None
    here = datetime.now().astimezone()
    clock = _CLOCK.fullmatch(text)
    try:
        if clock:
            hour, minute, second = (int(part or 0) for part in clock.groups())
            then = here.replace(hour=hour, minute=minute, second=second, microsecond=0)
            return then if then > here else then + timedelta(days=1)
        then = datetime.fromisoformat(text)
        # A moment without a zone is in the local one.
        then = then if then.utcoffset() is not None else then.astimezone()
        if MOMENT.allows(round(then.timestamp() * 1000)):
            return then
    except (ValueError, OverflowError, OSError):
        pass
    raise MOMENT.refusal(f"--{what}", text, f"{MOMENT.bounds}, {FORMS}")


def before(what: str, text: str | None) -> datetime | None:
    """The moment a duration ago."""
    length = seconds(what, text)
    return None if length is None else datetime.now(UTC) - timedelta(seconds=length)


def length(millis: float | None) -> str:
    """How long something takes or took, in at most two units."""
    if millis is None:
        return ""
    if millis < 1_000:
        return f"{millis:.0f}ms"
    if millis < 60_000:
        return f"{millis / 1000:.1f}s" if millis < 10_000 else f"{millis / 1000:.0f}s"
    whole = int(millis / 1000)
    for size, unit, smaller, small in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size}{unit}{f' {rest}{small}' if rest else ''}"
    return f"{whole}s"


def ago(millis: int | None, now: float | None = None) -> str:
    """How long ago, in one unit; for the future, in how long."""
    if millis is None:
        return ""
    passed = (time.time() if now is None else now) - millis / 1000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")):
        if abs(passed) >= size or size == 1:
            count = f"{abs(passed) / size:.0f}{unit}"
            return f"{count} ago" if passed > -0.5 else f"in {count}"
    return ""


def local(millis: int | None) -> str:
    """A moment in the local time zone."""
    return "" if millis is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(millis / 1000))


def when(millis: int | None) -> str:
    """A moment in the local time zone, and how far away it is."""
    return "" if millis is None else f"{local(millis)} ({ago(millis)})"
