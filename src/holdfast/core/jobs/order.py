"""The order of a queue and the positions that make it: priority first, then position, then age, then id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from msgspec import Struct

from holdfast.core.job import JobId, Millis
from holdfast.core.rules.tokens import TOKEN_LANES

GAP = 100

# The lanes of a queue, as bits: the state of the machine that a job waits for, and the kinds of tokens that it takes.
# From NODE on they hold the number of the machine that the job is tied to.
PLAIN = 0
IDLE = 1
CHARGING = 2
NODE = 32


def lanes_open(is_idle: bool, is_charging: bool) -> int:
    """The bits that are open on a machine. A lane is open if all its bits are."""
    return PLAIN | IDLE * is_idle | CHARGING * is_charging


def lane_of_node(number: int) -> int:
    """The lane of jobs that are tied to a machine, and wait for nothing else of it."""
    return NODE * number


def is_worth_looking(lane: int, open_lanes: int) -> bool:
    """Whether to read the jobs of a lane. One of them may start now, or others may pass it now.

    The machine must be as idle or charging as the lane asks. If the lane takes tokens, one kind of them must be free.
    """
    wanted, kinds = lane & (IDLE | CHARGING), lane & TOKEN_LANES
    return wanted & open_lanes == wanted and (not kinds or kinds & open_lanes != 0)


Rank: TypeAlias = tuple[int, int, Millis, JobId]


class InQueue(Protocol):
    """What the place of a job in its queue depends on."""

    @property
    def id(self) -> JobId:
        """Decides last."""

    @property
    def priority(self) -> int:
        """The higher one goes first."""

    @property
    def position(self) -> int:
        """The lower one goes first."""

    @property
    def created_at(self) -> Millis:
        """The older one goes first."""


class Numbered(InQueue, Protocol):
    """The same, with the number of the job."""

    @property
    def number(self) -> int:
        """Jobs that came first have lower ones."""


class Ranked(Struct, frozen=True, gc=False):
    """A job, and what its place in the queue depends on, or its turn in a sequential group."""

    id: JobId
    priority: int
    position: int
    created_at: Millis
    group_id: str | None
    group_seq: int | None
    queue: str


def rank(job: InQueue) -> Rank:
    """The sort key of the queue: least first. The SQL of the claim orders by the same columns."""
    return (-job.priority, job.position, job.created_at, job.id)


def rank_among_heads(job: Numbered) -> tuple[int, Millis, int]:
    """The sort key between the first jobs of several queues: least first."""
    return (-job.priority, job.created_at, job.number)


def in_turn(jobs: Sequence[Ranked]) -> list[Ranked]:
    """The same jobs, with those of a sequential group in the order of their turns. They share their places."""
    turns: dict[str | None, list[Ranked]] = {}
    for job in sorted(jobs, key=lambda job: job.group_seq or 0):
        turns.setdefault(job.group_id, []).append(job)
    lines = {group_id: iter(members) for group_id, members in turns.items()}
    return [job if job.group_seq is None else next(lines[job.group_id]) for job in jobs]


def next_position(highest: int | None) -> int:
    """The place at the end of a queue whose last place is `highest`."""
    return GAP if highest is None else highest + GAP


def between(before: int | None, after: int | None) -> int | None:
    """A free place after `before` and ahead of `after`. None if there is no gap left.

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
