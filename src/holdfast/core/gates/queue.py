"""The kinds of queues, and which jobs make room when one is full. The settings are in `queue_settings`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import JobId
from holdfast.core.machine.maintenance import MAINTENANCE
from holdfast.core.values.retry import RetryPolicy

SHED_CODE = "ERR_SHED"
MOST_WAITING = 1_000_000_000
NO_RETRIES = RetryPolicy()


class Overflow(StrEnum):
    """What a full queue does: refuse the newcomer, or end waiting jobs of lower priority to make room for it."""

    REJECT = "reject"
    SHED = "shed"


class QueueClass(StrEnum):
    """How much the jobs of a queue burden the machine. Under pressure the heavy ones are held back first."""

    LIGHT = "light"
    NORMAL = "normal"
    HEAVY = "heavy"


class QueuePreset(StrEnum):
    """How jobs of a queue are tried again, by what they are for."""

    CLEANUP = "cleanup"
    INDEXING = "indexing"


PRESETS: dict[QueuePreset, RetryPolicy] = {
    QueuePreset.CLEANUP: RetryPolicy(retries=1),
    QueuePreset.INDEXING: RetryPolicy(retries=5, initial_ms=1_000, factor=3.0, cap_ms=300_000),
}


def usual_policy(queue: str) -> RetryPolicy:
    """The retry policy of jobs without one, in a queue without one."""
    return PRESETS[QueuePreset.CLEANUP] if queue == MAINTENANCE else NO_RETRIES


class WaitingJob(Struct, frozen=True, gc=False):
    """A waiting job that might make room."""

    id: JobId
    priority: int
    number: int


def make_room(newcomers: Sequence[int], waiting: Sequence[WaitingJob], needed: int) -> list[WaitingJob] | None:
    """The waiting jobs that end so that `needed` of the newcomers fit in. None: they do not fit.

    `newcomers` are priorities. Jobs of the lowest priority end first, the newest of them first, each for a newcomer of
    higher priority.
    """
    if needed > len(newcomers):
        return None
    victims = sorted(waiting, key=lambda job: (job.priority, -job.number))[:needed]
    if len(victims) < needed:
        return None
    risers = sorted(newcomers)[len(newcomers) - needed :]
    return victims if all(job.priority < riser for job, riser in zip(victims, risers, strict=True)) else None
