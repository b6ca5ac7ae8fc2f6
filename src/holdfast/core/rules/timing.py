"""When a job is due, how long it may wait and when it is too late."""

from __future__ import annotations

from holdfast.core.job import Millis, StateName

FAR_FUTURE: Millis = 253_402_300_799_999  # the end of the year 9999
LONGEST: Millis = 100 * 365 * 86_400_000


def first_state(now: Millis, due: Millis | None, deadline: Millis | None, *, blocked: bool) -> StateName:
    """The first state of a new job. `blocked`: it waits for other jobs."""
    if is_overdue(deadline, now):
        return StateName.SKIPPED_DEADLINE
    if blocked or (due is not None and due > now):
        return StateName.SCHEDULED
    return StateName.QUEUED


def is_overdue(deadline: Millis | None, now: Millis) -> bool:
    """Whether the deadline has passed. At the very moment it has."""
    return deadline is not None and now >= deadline


def run_budget(now: Millis, timeout_ms: Millis | None, deadline: Millis | None) -> tuple[Millis | None, bool]:
    """How long a run that starts now may take, and whether the deadline (True) or the time-out limits it."""
    left = None if deadline is None else max(0, deadline - now)
    if left is not None and (timeout_ms is None or left <= timeout_ms):
        return left, True
    return timeout_ms, False


def ago(millis: Millis) -> str:
    """How long something is past, in words."""
    for size, unit in ((86_400_000, "days"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if millis >= 2 * size:
            return f"{millis // size} {unit} ago"
    return "a moment ago"
