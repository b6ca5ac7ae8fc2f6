"""What a step of the wall clock means: whether it was one, which part of it is new, and whom it concerns."""

from __future__ import annotations

from holdfast.core.job import Millis

STEP_MS: Millis = 1_000


def is_step(before: Millis, after: Millis) -> bool:
    """Whether the wall clock was set, by how far it was and is ahead of the time since the boot."""
    return abs(after - before) > STEP_MS


def new_part(seen: Millis, recorded: Millis) -> Millis:
    """How much of a step that a process has seen is news; `recorded` is what others did since it last looked."""
    rest = seen - recorded
    return rest if abs(rest) > STEP_MS else 0


def waits_by_old_clock(since: Millis | None, stepped_at: Millis, now: Millis) -> bool:
    """Whether a job that began to wait at `since` was stored before the step; None: it waits for a moment, not a time.

    `stepped_at` is the earliest moment that the clock can have shown after it. After a step back, some of what was
    stored when the clock showed the same moments for the first time is taken for new, and starts late: that is better
    than to start new jobs early.
    """
    return since is not None and not stepped_at <= since <= now
