"""The states of a job and the one table of how a state may follow another.

A state carries only what exists in it: a queued job has no run, a running one has no result.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, TypeAlias

from msgspec import Struct

Millis: TypeAlias = int
JobId: TypeAlias = str
RunId: TypeAlias = str
SessionId: TypeAlias = str


class StateName(StrEnum):
    """The nine states of a job, as stored.

    >>> from holdfast import Holdfast, StateName
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def clean() -> None: ...
    >>> clean.enqueue().state is StateName.QUEUED
    True
    >>> hf.jobs(state=StateName.FAILED).jobs
    []
    """

    SCHEDULED = "SCHEDULED"
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SUPERSEDED = "SUPERSEDED"
    SKIPPED_TTL = "SKIPPED_TTL"
    SKIPPED_DEADLINE = "SKIPPED_DEADLINE"


WAITING = frozenset({StateName.SCHEDULED, StateName.QUEUED})
TERMINAL = frozenset(StateName) - WAITING - {StateName.RUNNING}


class ScheduleType(StrEnum):
    """What a new job waits for: nothing, a moment, the end of a delay, or conditions."""

    IMMEDIATE = "IMMEDIATE"
    AT = "AT"
    AFTER = "AFTER"
    CONDITION = "CONDITION"


class Move(StrEnum):
    """What can happen to a job that exists."""

    PROMOTE = "promote"
    CLAIM = "claim"
    COMPLETE = "complete"
    RETRY = "retry"
    SNOOZE = "snooze"
    YIELD = "yield"
    FAIL = "fail"
    CANCEL = "cancel"
    SUPERSEDE = "supersede"
    EXPIRE_TTL = "expire ttl"
    EXPIRE_DEADLINE = "expire deadline"


_S = StateName

TRANSITIONS: dict[tuple[StateName, Move], StateName] = {
    (_S.SCHEDULED, Move.PROMOTE): _S.QUEUED,
    (_S.SCHEDULED, Move.CANCEL): _S.CANCELLED,
    (_S.SCHEDULED, Move.SUPERSEDE): _S.SUPERSEDED,
    (_S.SCHEDULED, Move.EXPIRE_DEADLINE): _S.SKIPPED_DEADLINE,
    (_S.QUEUED, Move.CLAIM): _S.RUNNING,
    (_S.QUEUED, Move.CANCEL): _S.CANCELLED,
    (_S.QUEUED, Move.SUPERSEDE): _S.SUPERSEDED,
    (_S.QUEUED, Move.EXPIRE_TTL): _S.SKIPPED_TTL,
    (_S.QUEUED, Move.EXPIRE_DEADLINE): _S.SKIPPED_DEADLINE,
    (_S.RUNNING, Move.COMPLETE): _S.DONE,
    (_S.RUNNING, Move.RETRY): _S.SCHEDULED,
    (_S.RUNNING, Move.SNOOZE): _S.SCHEDULED,
    (_S.RUNNING, Move.YIELD): _S.QUEUED,
    (_S.RUNNING, Move.FAIL): _S.FAILED,
    (_S.RUNNING, Move.CANCEL): _S.CANCELLED,
    (_S.RUNNING, Move.SUPERSEDE): _S.SUPERSEDED,
    (_S.RUNNING, Move.EXPIRE_DEADLINE): _S.SKIPPED_DEADLINE,
}


def follow(state: StateName, move: Move) -> StateName | None:
    """The state that `move` leads to. None: the move is not allowed."""
    return TRANSITIONS.get((state, move))


class Scheduled(Struct, frozen=True, tag_field="name", tag="SCHEDULED"):
    """Waits for its time (`until`), for other jobs, or for both."""

    name: ClassVar[StateName] = StateName.SCHEDULED
    until: Millis | None
    reason: str | None = None


class Queued(Struct, frozen=True, tag_field="name", tag="QUEUED"):
    """Ready. Only gates can still hold it."""

    name: ClassVar[StateName] = StateName.QUEUED
    since: Millis


class Running(Struct, frozen=True, tag_field="name", tag="RUNNING"):
    """Owned by one run of one session."""

    name: ClassVar[StateName] = StateName.RUNNING
    since: Millis
    run_id: RunId
    session_id: SessionId
    worker_id: str | None = None
    cancel_requested_at: Millis | None = None


class Done(Struct, frozen=True, tag_field="name", tag="DONE"):
    """Ended with a result, or left out on purpose (`Skip`), which counts as success."""

    name: ClassVar[StateName] = StateName.DONE
    at: Millis
    result_summary: str | None = None
    reason: str | None = None


class Failed(Struct, frozen=True, tag_field="name", tag="FAILED"):
    """Its last try failed, or it was parked."""

    name: ClassVar[StateName] = StateName.FAILED
    at: Millis
    error_code: str | None = None
    reason: str | None = None
    result_summary: str | None = None


class Cancelled(Struct, frozen=True, tag_field="name", tag="CANCELLED"):
    """It was cancelled by a caller, or what it waited for can never come true.

    `error_code` says if it made room in a full queue, or was left out of its group.
    """

    name: ClassVar[StateName] = StateName.CANCELLED
    at: Millis
    reason: str | None = None
    error_code: str | None = None


class Superseded(Struct, frozen=True, tag_field="name", tag="SUPERSEDED"):
    """A newer generation of its subject made it pointless."""

    name: ClassVar[StateName] = StateName.SUPERSEDED
    at: Millis
    reason: str | None = None


class SkippedTtl(Struct, frozen=True, tag_field="name", tag="SKIPPED_TTL"):
    """It was ready for longer than its time to live."""

    name: ClassVar[StateName] = StateName.SKIPPED_TTL
    at: Millis
    reason: str | None = None


class SkippedDeadline(Struct, frozen=True, tag_field="name", tag="SKIPPED_DEADLINE"):
    """Its deadline passed before it was done."""

    name: ClassVar[StateName] = StateName.SKIPPED_DEADLINE
    at: Millis
    reason: str | None = None


State: TypeAlias = Scheduled | Queued | Running | Done | Failed | Cancelled | Superseded | SkippedTtl | SkippedDeadline
