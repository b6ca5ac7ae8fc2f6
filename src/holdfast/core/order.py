"""The order of a queue and the positions that make it: priority first, then position, then age, then id."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.core.job import Job, JobId, Millis
from holdfast.core.tokens import TOKEN_LANES

GAP = 100

# The lanes of a queue, as bits: what a job waits for the machine to be. What it takes of it are bits as well, and from
# NODE on stands the number of the machine that it is tied to.
PLAIN = 0
IDLE = 1
CHARGING = 2
NODE = 32


def lanes_open(is_idle: bool, is_charging: bool) -> int:
    """The bits that are open on a machine; a lane is open if all its bits are."""
    return PLAIN | IDLE * is_idle | CHARGING * is_charging


def lane_of_node(number: int) -> int:
    """The lane of jobs that are tied to a machine, and wait for nothing else of it."""
    return NODE * number


def is_worth_looking(lane: int, open_lanes: int) -> bool:
    """Whether a lane may hold a job that starts now, or one that others are about to pass.

    What it wants the machine to be is there, and of what it takes not every kind is used up.
    """
    wanted, kinds = lane & (IDLE | CHARGING), lane & TOKEN_LANES
    return wanted & open_lanes == wanted and (not kinds or kinds & open_lanes != 0)


class Ranked(Struct, frozen=True, gc=False):
    """A job, and what its place in the queue depends on, or its turn in a sequential group."""

    id: JobId
    priority: int
    position: int
    created_at: Millis
    group_id: str | None
    group_seq: int | None


def rank(job: Job | Ranked) -> tuple[int, int, int, str]:
    """The sort key of the queue: least first. The SQL of the claim orders by the same columns."""
    return (-job.priority, job.position, job.created_at, job.id)


def in_turn(jobs: Sequence[Ranked]) -> list[Ranked]:
    """The same jobs, but those of a sequential group by their turns, in the places that they have together."""
    turns: dict[str | None, list[Ranked]] = {}
    for job in sorted(jobs, key=lambda job: job.group_seq or 0):
        turns.setdefault(job.group_id, []).append(job)
    lines = {group_id: iter(members) for group_id, members in turns.items()}
    return [job if job.group_seq is None else next(lines[job.group_id]) for job in jobs]


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
