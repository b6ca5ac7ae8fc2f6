"""The breaker of a queue. It stops the queue for a while when run after run fails by the fault of the machine.

A closed breaker counts failures. While it is open, nothing starts. While it is half-open, one job probes the machine.
It is stored as one row, so that every process decides alike.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import JobId, Millis
from holdfast.core.jobs.settle import Broke, Outcome, Outdated, StoppedByCancel, Yielded
from holdfast.core.values.retry import FailureKind

USUAL_FAILURES = 5
USUAL_OPEN_MS: Millis = 30_000
FORGOTTEN_MS: Millis = 86_400_000  # failures that are further apart do not count as in a row
CLOCKS_DIFFER: Millis = 60_000  # a breaker that opens further ahead than this was opened by a wrong clock


class Sign(StrEnum):
    """What the end of a run says about the machine. It says nothing if the run was stopped."""

    FINE = "fine"
    INFRA = "infra"
    NOTHING = "nothing"


class BreakerState(StrEnum):
    """Whether a queue may start jobs: any number, none, or one that probes."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class BreakerPolicy(Struct, frozen=True):
    """After so many infra failures in a row it opens, for so long. With 0 failures it never opens."""

    failures: int = USUAL_FAILURES
    open_ms: Millis = USUAL_OPEN_MS


class Breaker(Struct, frozen=True):
    """How many infra failures came in a row, and the last one. If it has opened, since when and until when.

    `probe` is the job that probes, or did last. `is_half_open`: it was announced that one may.
    """

    failures: int
    failed_at: Millis
    reason: str
    opened_at: Millis | None = None
    half_opens_at: Millis | None = None
    is_half_open: bool = False
    probe: JobId | None = None


def sign_of(outcome: Outcome) -> Sign:
    """What the reported end of a run says about the machine. A run that failed by its own fault says that it works."""
    match outcome:
        case Broke(failure=failure, charge=charge) if failure.kind is FailureKind.INFRA:
            return Sign.INFRA if charge else Sign.NOTHING
        case Yielded() | StoppedByCancel() | Outdated():
            return Sign.NOTHING
        case _:
            return Sign.FINE


def state_at(opened_at: Millis | None, half_opens_at: Millis | None, now: Millis) -> BreakerState:
    """The state of a breaker at a moment."""
    if opened_at is None or half_opens_at is None:
        return BreakerState.CLOSED
    is_over = half_opens_at <= now or opened_at > now + CLOCKS_DIFFER
    return BreakerState.HALF_OPEN if is_over else BreakerState.OPEN


def after_end(
    policy: BreakerPolicy, breaker: Breaker | None, sign: Sign, job_id: JobId | None, reason: str, now: Millis
) -> Breaker | None:
    """The breaker after a run of this job has ended. None: it is closed, and has nothing to count.

    Once it has opened, only the probe decides. The other runs began before.
    """
    if sign is Sign.NOTHING or (breaker is not None and has_opened(breaker) and not _is_probe(breaker, job_id)):
        return breaker
    if sign is Sign.FINE or not policy.failures:
        return None
    failures = 1 if breaker is None or _is_forgotten(breaker, now) else breaker.failures + 1
    if failures < policy.failures and not has_opened(breaker):
        return Breaker(failures, now, reason)
    return Breaker(failures, now, reason, opened_at=now, half_opens_at=now + policy.open_ms)


def has_opened(breaker: Breaker | None) -> bool:
    """Whether it is open or half-open."""
    return breaker is not None and breaker.opened_at is not None


def _is_probe(breaker: Breaker, job_id: JobId | None) -> bool:
    return job_id is not None and breaker.probe == job_id


def _is_forgotten(breaker: Breaker, now: Millis) -> bool:
    return breaker.opened_at is None and abs(now - breaker.failed_at) > FORGOTTEN_MS
