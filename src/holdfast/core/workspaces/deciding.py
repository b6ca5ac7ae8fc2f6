"""What is to be stored about a workspace after a look at it: one pure step of the controller.

While its operation runs, only the conditions and the phase follow what is seen. When the job of the operation has
ended, a look that began after that says whether it is complete or has failed. Then the next operation is planned.
"""

from __future__ import annotations

from msgspec import Struct, structs

from holdfast.core.job import TERMINAL, Millis, StateName
from holdfast.core.workspaces import conditions, planning
from holdfast.core.workspaces.conditions import (
    ConditionName,
    ConditionReason,
    Conditions,
    WorkspaceCondition,
)
from holdfast.core.workspaces.planning import WorkspaceFacts
from holdfast.core.workspaces.states import MOST_FAILURES, ErrorReason, Operation, Phase

PATIENCE_MS: Millis = 30_000  # an operation that is done is seen to be so within this time
TIMEOUT_CODE = "ERR_TIMEOUT"
_REASONS = frozenset(map(str, ErrorReason))


class OperationJob(Struct, frozen=True):
    """The job of an operation that has ended before the look began. `tries` are those that failed by themselves."""

    state: StateName
    error_code: str | None
    ended_at: Millis
    tries: int

    def __post_init__(self) -> None:
        assert self.state in TERMINAL, f"{self.state}: a job that has not ended says nothing yet"


class WorkspaceDecision(Struct, frozen=True, kw_only=True):
    """What is to be stored. `has_ended`: the operation that was under way. `planned`: what begins now.

    `forgets_instance`: the process that the row names has ended.
    """

    conditions: dict[ConditionName, WorkspaceCondition]
    phase: Phase
    error_reason: ErrorReason | None
    failures: int
    has_ended: bool = False
    planned: Operation = Operation.NONE
    forgets_instance: bool = False


def decide(
    facts: WorkspaceFacts,
    known: Conditions,
    job: OperationJob | None,
    now: Millis,
    *,
    running_since: Millis | None = None,
    written_at: Millis = 0,
    names_instance: bool = False,
    ended_with_machine: bool = False,
) -> WorkspaceDecision:
    """What follows from the facts. `known` are the conditions before, and `job` is that of the operation, once it has
    ended.

    `running_since` is when it came to be RUNNING, and `written_at` when something was last stored about it.
    `names_instance`: the row names a process. `ended_with_machine`: the machine was started anew since that began.
    """
    if not facts.is_known:
        return _seen_only(facts, known, now)
    before = facts.failures
    has_ended = False
    if facts.operation is not Operation.NONE:
        after = _after_operation(facts, job, now, names_instance=names_instance)
        has_ended = after is not None
        if after is not None:
            facts = structs.replace(facts, operation=Operation.NONE, error_reason=after[0], failures=after[1])
    is_gone = names_instance and facts.of(ConditionName.INSTANCE).status is False
    if facts.operation is Operation.NONE:
        if is_gone and not has_ended and not ended_with_machine and facts.phase is Phase.RUNNING:
            facts = _with_failure(facts, ErrorReason.ACTION_FAILED)
        facts = _with_lasting_error(facts)
        if facts.failures and running_since is not None and planning.is_settled(running_since, now):
            facts = _forgiven(facts)
    elif planning.phase_of(facts) is Phase.ERROR:
        # ERROR comes with the end of the operation. Until then all stays as it was.
        return structs.replace(_seen_only(facts, known, now), conditions=dict(known))
    phase, planned = planning.phase_of(facts), planning.plan(facts)
    pause = planning.pause_of(planned, phase, facts.failures)
    has_failed = facts.failures > before
    if (phase is Phase.ERROR and has_ended) or (pause and (has_failed or now - written_at < pause)):
        planned = Operation.NONE
    return structs.replace(
        _seen_only(facts, known, now),
        has_ended=has_ended,
        phase=phase,
        planned=planned,
        forgets_instance=is_gone and facts.operation is Operation.NONE,
    )


def _seen_only(facts: WorkspaceFacts, known: Conditions, now: Millis) -> WorkspaceDecision:
    """What was seen is noted, and all else stays as it is."""
    return WorkspaceDecision(
        conditions=conditions.updated(known, {**facts.observed, ConditionName.HEALTHY: facts.health}, now),
        phase=facts.phase,
        error_reason=facts.error_reason,
        failures=facts.failures,
    )


def _after_operation(
    facts: WorkspaceFacts, job: OperationJob | None, now: Millis, *, names_instance: bool
) -> tuple[ErrorReason | None, int] | None:
    """The reason and the count of failures with which the operation ends. None: it goes on.

    An instance that was started and has certainly ended since needs no patience.
    """
    if job is None:
        return None
    if planning.is_complete(facts):
        # What is complete is no ERROR, however often it was tried.
        return None, min(planning.failures_after(facts.operation, facts.failures + job.tries), MOST_FAILURES - 1)
    if job.state is StateName.DONE:
        has_ended = facts.operation is Operation.STARTING and names_instance and not facts.has_instance
        if now - job.ended_at < PATIENCE_MS and facts.health.status is not False and not has_ended:
            return None
        return planning.after_failure(ErrorReason.ACTION_FAILED, facts.failures, job.tries + 1)
    if job.error_code is not None and job.error_code in _REASONS:
        # A last try that failed for good is not among those that could be repeated.
        return planning.after_failure(ErrorReason(job.error_code), facts.failures, job.tries + 1)
    reason = ErrorReason.TIMEOUT if job.error_code == TIMEOUT_CODE else ErrorReason.RETRY_EXCEEDED
    return planning.after_failure(reason, facts.failures, max(job.tries, 1))


def _with_failure(facts: WorkspaceFacts, reason: ErrorReason) -> WorkspaceFacts:
    if facts.health.status is False:
        return facts  # In ERROR nothing is counted any more.
    told, failures = planning.after_failure(reason, facts.failures)
    return structs.replace(facts, error_reason=told, failures=failures)


def _with_lasting_error(facts: WorkspaceFacts) -> WorkspaceFacts:
    """The facts with the reason for which they are an ERROR until somebody clears it."""
    if facts.error_reason is not None and facts.error_reason.is_terminal:
        return facts
    reason = planning.loss_of(facts)
    health = facts.health
    if health.reason is ConditionReason.INSTANCE_WITHOUT_VOLUME and facts.volume is not None:
        reason = ErrorReason.CONTAINER_WITHOUT_VOLUME
    elif health.reason is ConditionReason.ARCHIVE_ACCESS_ERROR:
        reason = ErrorReason.ARCHIVE_CORRUPTED
    return facts if reason is None else structs.replace(facts, error_reason=reason)


def _forgiven(facts: WorkspaceFacts) -> WorkspaceFacts:
    is_well = facts.phase is Phase.RUNNING and facts.health.status is True
    return structs.replace(facts, error_reason=None, failures=0) if is_well else facts
