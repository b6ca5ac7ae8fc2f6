"""What can be set for a queue, and who makes room when it is full."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import JobId, Millis
from holdfast.core.maintenance import MAINTENANCE
from holdfast.core.retry import RetryPolicy

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
    """How jobs are tried again that do not say, in a queue for which nobody has said anything."""
    return PRESETS[QueuePreset.CLEANUP] if queue == MAINTENANCE else NO_RETRIES


class QueueSetting(StrEnum):
    """What can be set back to its default."""

    CONCURRENCY = "concurrency"
    RATE = "rate"
    MAX_LENGTH = "max_length"
    OVERFLOW = "overflow"
    QUEUE_CLASS = "queue_class"
    RETRY = "retry"
    TIMEOUT = "timeout"
    BREAKER = "breaker"


class QueueChanges(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be different about a queue; None leaves it as it is, and `clear` names what gets its default back.

    `retry` and `timeout_ms` are for jobs that say nothing themselves. A rate has both a limit and a window.
    Without a `retry`, `preset` stands for one: `cleanup` for one try more, `indexing` for 5, 1 s to 5 min apart.
    After `breaker` infra failures in a row nothing of the queue starts for `breaker_for_ms`; 0: never mind them.
    """

    concurrency: int | None = None
    rate_limit: int | None = None
    rate_window_ms: Millis | None = None
    max_length: int | None = None
    overflow: Overflow | None = None
    queue_class: QueueClass | None = None
    retry: RetryPolicy | None = None
    preset: QueuePreset | None = None
    timeout_ms: Millis | None = None
    breaker: int | None = None
    breaker_for_ms: Millis | None = None
    clear: tuple[QueueSetting, ...] = ()


class Waiting(Struct, frozen=True, gc=False):
    """A waiting job that might make room."""

    id: JobId
    priority: int
    number: int


def make_room(newcomers: Sequence[int], waiting: Sequence[Waiting], needed: int) -> list[Waiting] | None:
    """Who has to go so that `needed` of the newcomers, known by their priorities, fit in; None: they do not.

    Those of the lowest priority go, the newest first, each for a newcomer of a higher priority than its own.
    """
    if needed > len(newcomers):
        return None
    victims = sorted(waiting, key=lambda job: (job.priority, -job.number))[:needed]
    if len(victims) < needed:
        return None
    risers = sorted(newcomers)[len(newcomers) - needed :]
    return victims if all(job.priority < riser for job, riser in zip(victims, risers, strict=True)) else None
