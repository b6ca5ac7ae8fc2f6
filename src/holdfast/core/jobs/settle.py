"""What the outcome of a run means for the run and for its job: the outcome table.

Every way back to waiting goes through `way_back`, which asks first whether the job is still wanted.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from holdfast.core.job import Millis, Move
from holdfast.core.jobs.run import RunStatus
from holdfast.core.rules import timing
from holdfast.core.values.retry import (
    Failure,
    FailureKind,
    Park,
    RetryAt,
    RetryMode,
    RetryPolicy,
    Tries,
    after_failure,
)

NEWER_TICK = "a newer tick of its schedule came"
POISON_CODE = "ERR_POISON"


class Completed(Struct, frozen=True, tag=True):
    """The task returned; `result` is JSON."""

    result: str


class Skipped(Struct, frozen=True, tag=True):
    """The task saw that there was nothing to do."""

    reason: str


class Snoozed(Struct, frozen=True, tag=True):
    """The task wants to be called again later, at no charge."""

    delay_ms: Millis


class Yielded(Struct, frozen=True, tag=True):
    """The run was asked to make room and did; it goes on later, at no charge."""

    reason: str


class Broke(Struct, frozen=True, tag=True):
    """The run failed. `charge` is False where the job is not to blame; `death` where it took its process down."""

    failure: Failure
    charge: bool = True
    death: bool = False


class StoppedByCancel(Struct, frozen=True, tag="Cancelled"):
    """The run was stopped because its job was cancelled."""


class Outdated(Struct, frozen=True, tag=True):
    """The run was stopped because a newer generation of its subject came."""


class Overdue(Struct, frozen=True, tag=True):
    """The run was stopped at its job's deadline."""


Outcome: TypeAlias = Completed | Skipped | Snoozed | Yielded | Broke | StoppedByCancel | Outdated | Overdue


class SettleFacts(Struct, frozen=True):
    """What the settlement depends on, besides the outcome. `replaced`: by a newer tick of its schedule."""

    policy: RetryPolicy
    tries: Tries
    cancel_requested: bool = False
    outdated: bool = False
    deadline: Millis | None = None
    jitter: float = 0.0
    replaced: bool = False


class End(Struct, frozen=True):
    """The job ends by `move`."""

    move: Move
    reason: str | None = None
    error_code: str | None = None
    result: str | None = None


class Wait(Struct, frozen=True):
    """The job waits until a moment and is then ready again."""

    move: Move
    until: Millis
    reason: str


class Again(Struct, frozen=True):
    """The job is ready again at once, in its old place."""

    reason: str
    move: Move = Move.YIELD


class Continue(Struct, frozen=True):
    """The job ends as failed, and a new one continues it (CHAIN)."""

    until: Millis
    reason: str
    error_code: str
    move: Move = Move.FAIL


Next: TypeAlias = End | Wait | Again | Continue


class Settlement(Struct, frozen=True):
    """How the run closes, what comes next for the job, and the tries it has used by then."""

    status: RunStatus
    then: Next
    tries: Tries
    failure: Failure | None = None


def settle(job: SettleFacts, outcome: Outcome, now: Millis) -> Settlement:
    """The row of the outcome table for this outcome."""
    match outcome:
        case Completed(result=result):
            return Settlement(RunStatus.COMPLETED, End(Move.COMPLETE, result=result), job.tries)
        case Skipped(reason=reason):
            return Settlement(RunStatus.SKIPPED, End(Move.COMPLETE, reason=f"skipped: {reason}"), job.tries)
        case Snoozed(delay_ms=delay):
            then = way_back(job, Wait(Move.SNOOZE, now + delay, "snoozed"), now)
            return Settlement(RunStatus.YIELDED, then, job.tries)
        case Yielded(reason=reason):
            return Settlement(RunStatus.YIELDED, way_back(job, Again(reason), now), job.tries)
        case Broke(failure=failure, charge=False):
            again = Again(f"{failure.code}: {failure.message}")
            return Settlement(RunStatus.FAILED, way_back(job, again, now), job.tries, failure)
        case Broke(failure=failure, death=death):
            tries = job.tries.charged(failure.kind, death=death)
            return Settlement(RunStatus.FAILED, _after(job, tries, failure, now), tries, failure)
        case StoppedByCancel():
            return Settlement(RunStatus.CANCELLED, End(Move.CANCEL, "cancelled while running"), job.tries)
        case Outdated():
            end = End(Move.SUPERSEDE, NEWER_TICK if job.replaced else "a newer generation came while it ran")
            return Settlement(RunStatus.CANCELLED, end, job.tries)
        case Overdue():
            failure = Failure(FailureKind.TRANSIENT, "ERR_DEADLINE", "stopped at its deadline")
            end = End(Move.EXPIRE_DEADLINE, failure.message, failure.code)
            return Settlement(RunStatus.FAILED, end, job.tries, failure)


def _after(job: SettleFacts, tries: Tries, failure: Failure, now: Millis) -> Next:
    said = f"{failure.code}: {failure.message}"
    match after_failure(job.policy, tries, failure, now, job.jitter):
        case RetryAt(at=at) if job.policy.mode is RetryMode.CHAIN:
            return way_back(job, Continue(at, failure.message, failure.code), now)
        case RetryAt(at=at):
            return way_back(job, Wait(Move.RETRY, at, said), now)
        case Park(reason=reason):
            return End(Move.FAIL, f"parked: {reason}; last error {said}", POISON_CODE)
        case _:
            return End(Move.FAIL, failure.message, failure.code)


def way_back(job: SettleFacts, then: Next, now: Millis) -> Next:
    """`then`, unless the job is not wanted any more: cancelled, outdated, replaced or past its deadline."""
    if job.cancel_requested:
        return End(Move.CANCEL, "cancelled on request")
    if job.outdated:
        return End(Move.SUPERSEDE, "a newer generation of its subject exists")
    if job.replaced:
        return End(Move.SUPERSEDE, NEWER_TICK)
    if timing.is_overdue(job.deadline, now):
        return End(Move.EXPIRE_DEADLINE, "its deadline passed")
    return then
