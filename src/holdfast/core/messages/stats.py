"""Counts of jobs, by queue and in all."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis, StateName
from holdfast.core.messages.queues import Queue


class QueueStats(Queue, frozen=True, kw_only=True):
    """A queue: what is set for it, its jobs by state, and since when the job that is next has been ready."""

    jobs: dict[StateName, int]
    ready_since: Millis | None = None


class Stats(Struct, frozen=True, kw_only=True):
    """Everything at a glance. `ended_per_second` is of the last ten seconds; `slots` are those of all workers."""

    now: Millis
    queues: list[QueueStats]
    jobs: dict[StateName, int]
    ready_since: Millis | None
    ended_per_second: float
    sessions: int
    workers: int
    slots: int
    running: int
