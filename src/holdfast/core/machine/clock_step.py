"""Steps of the wall clock: whether there was one, which part of it is new, and which jobs it concerns."""

from __future__ import annotations

from holdfast.core.job import Millis

STEP_MS: Millis = 1_000


def is_step(before: Millis, after: Millis) -> bool:
    """Whether the wall clock was set, given by how much it was and is ahead of the time since the boot."""
    return abs(after - before) > STEP_MS


def new_part(seen: Millis, recorded: Millis) -> Millis:
    """How much of a step is new. `recorded` is what other processes recorded since this one last looked."""
    rest = seen - recorded
    return rest if abs(rest) > STEP_MS else 0


def waits_by_old_clock(since: Millis | None, stepped_at: Millis, now: Millis) -> bool:
    """Whether a job that began to wait at `since` was stored before the step. None: it waits for no length of time.

    `stepped_at` is the earliest moment that the clock can have shown after the step. After a step back, the clock shows
    some moments twice. Jobs of the first time may be taken for new ones, and start late. That is better than to start
    new jobs early.
    """
    return since is not None and not stepped_at <= since <= now
