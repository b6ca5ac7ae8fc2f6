"""The order of a queue and the positions that make it: priority first, then position, then age, then id."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.job import Job

GAP = 100

# The lanes of a queue, as bits: what a job waits for the machine to be.
PLAIN = 0
IDLE = 1
CHARGING = 2


def lanes_open(is_idle: bool, is_charging: bool) -> int:
    """The bits that are open on a machine; a lane is open if all its bits are."""
    return PLAIN | IDLE * is_idle | CHARGING * is_charging


def rank(job: Job) -> tuple[int, int, int, str]:
    """The sort key of the queue: least first. The SQL of the claim orders by the same columns."""
    return (-job.priority, job.position, job.created_at, job.id)


def next_position(highest: int | None) -> int:
    """The place at the end of a queue whose last place is `highest`."""
    return GAP if highest is None else highest + GAP


def between(before: int | None, after: int | None) -> int | None:
    """A free place after `before` and ahead of `after`, or None where the gap has run out.

    None for a neighbour means that there is none on that side.
    """
    if before is None and after is None:
        return GAP
    if before is None:
        assert after is not None
        return after - GAP
    if after is None:
        return before + GAP
    middle = (before + after) // 2
    return middle if before < middle < after else None


def renumber(count: int) -> Sequence[int]:
    """Fresh positions for `count` jobs, a gap apart."""
    return range(GAP, GAP * (count + 1), GAP)
