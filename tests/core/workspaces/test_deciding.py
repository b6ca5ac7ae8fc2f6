"""What the controller stores after a look: how operations end, what counts as a failure, and when it is an ERROR."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from holdfast.core.job import StateName
from holdfast.core.workspaces.conditions import ConditionName, ConditionReason, updated
from holdfast.core.workspaces.deciding import PATIENCE_MS, OperationJob, WorkspaceDecision, decide
from holdfast.core.workspaces.planning import SETTLED_MS, WorkspaceFacts, pause_of
from holdfast.core.workspaces.states import DesiredState, ErrorReason, Operation, Phase
from tests.core.workspaces.test_planning import every_fact, seen

D, Op, P = DesiredState, Operation, Phase
NOW = 1_000_000


def standby(**more: Any) -> WorkspaceFacts:
    """A workspace with its home, and no instance."""
    return WorkspaceFacts(
        **({"observed": seen(True, False, False), "desired": D.RUNNING, "phase": P.STANDBY, "volume": "v"} | more)
    )


def running(**more: Any) -> WorkspaceFacts:
    """A workspace whose instance runs."""
    return standby(**({"observed": seen(True, False, True), "phase": P.RUNNING} | more))


def ended(state: StateName = StateName.DONE, code: str | None = None, tries: int = 0, ago: int = 0) -> OperationJob:
    """A job that has ended."""
    return OperationJob(state, code, NOW - ago, tries)


def decided(facts: WorkspaceFacts, job: OperationJob | None = None, **more: Any) -> WorkspaceDecision:
    return decide(facts, {}, job, NOW, **more)


def test_a_complete_operation_ends_and_the_next_one_is_planned_at_once() -> None:
    after = decided(standby(operation=Op.PROVISIONING, phase=P.PENDING, failures=2), ended(tries=1))
    assert (after.has_ended, after.phase, after.planned, after.failures) == (True, P.STANDBY, Op.STARTING, 0)


def test_an_operation_whose_job_runs_goes_on_whatever_is_seen() -> None:
    after = decided(running(operation=Op.STARTING, phase=P.STANDBY))
    assert (after.has_ended, after.phase, after.planned) == (False, P.RUNNING, Op.NONE)


def test_an_operation_that_is_complete_is_so_whatever_its_job_said() -> None:
    after = decided(running(operation=Op.STARTING), ended(StateName.FAILED, "Timeout", 2))
    assert (after.has_ended, after.phase, after.error_reason, after.failures) == (True, P.RUNNING, None, 2)


def test_a_job_that_is_done_has_a_while_until_that_is_seen() -> None:
    starting = standby(operation=Op.STARTING)
    assert not decided(starting, ended(ago=PATIENCE_MS - 1)).has_ended
    after = decided(starting, ended(ago=PATIENCE_MS))
    assert (after.has_ended, after.error_reason, after.failures) == (True, ErrorReason.ACTION_FAILED, 1)
    assert (after.phase, after.planned) == (P.STANDBY, Op.NONE)


@pytest.mark.parametrize(("failures", "pause"), [(0, 0), (1, 2_000), (2, 8_000)])
def test_a_start_after_failures_comes_after_a_pause(failures: int, pause: int) -> None:
    shaky = standby(failures=failures)
    assert decided(shaky, written_at=NOW - pause).planned is Op.STARTING
    if pause:
        assert decided(shaky, written_at=NOW - pause + 1).planned is Op.NONE
    stopping = running(failures=failures, desired=D.STANDBY)
    assert decided(stopping, written_at=NOW).planned is Op.STOPPING, "nothing else waits"


def test_one_that_was_started_and_has_ended_since_is_not_waited_for() -> None:
    after = decided(standby(operation=Op.STARTING), ended(), names_instance=True)
    assert (after.has_ended, after.failures, after.planned) == (True, 1, Op.NONE)
    assert after.forgets_instance


@pytest.mark.parametrize(
    ("code", "tries", "before", "reason", "failures", "phase"),
    [
        ("ERR_TASK_FAILED", 3, 0, ErrorReason.RETRY_EXCEEDED, 3, P.ERROR),
        ("ERR_TASK_FAILED", 1, 2, ErrorReason.RETRY_EXCEEDED, 3, P.ERROR),
        ("ERR_CRASH_RECOVERY", 0, 0, ErrorReason.RETRY_EXCEEDED, 1, P.ERROR),
        ("ERR_TIMEOUT", 3, 0, ErrorReason.TIMEOUT, 3, P.ERROR),
        ("DataLost", 0, 0, ErrorReason.DATA_LOST, 1, P.ERROR),
        ("Unreachable", 0, 0, ErrorReason.UNREACHABLE, 1, P.STANDBY),
        ("Unreachable", 0, 2, ErrorReason.RETRY_EXCEEDED, 3, P.ERROR),
    ],
)
def test_how_a_job_that_failed_ends_its_operation(
    code: str, tries: int, before: int, reason: ErrorReason, failures: int, phase: Phase
) -> None:
    after = decided(standby(operation=Op.STARTING, failures=before), ended(StateName.FAILED, code, tries))
    assert (after.has_ended, after.error_reason, after.failures, after.phase) == (True, reason, failures, phase)
    assert after.planned is Op.NONE, "it is begun once more after a pause"


def test_an_instance_that_ends_unasked_counts_and_is_started_again() -> None:
    gone = running(observed=seen(True, False, False))
    after = decided(gone, names_instance=True)
    assert (after.failures, after.phase, after.planned) == (1, P.STANDBY, Op.NONE)
    assert after.forgets_instance
    third = decided(structs.replace(gone, failures=2), names_instance=True)
    assert (third.failures, third.phase, third.planned) == (3, P.ERROR, Op.NONE)
    assert third.error_reason is ErrorReason.RETRY_EXCEEDED


def test_one_that_ended_with_its_machine_does_not_count() -> None:
    after = decided(running(observed=seen(True, False, False)), names_instance=True, ended_with_machine=True)
    assert (after.failures, after.planned, after.forgets_instance) == (0, Op.STARTING, True)


def test_nor_does_one_that_was_asked_to_stop() -> None:
    stopping = running(observed=seen(True, False, False), operation=Op.STOPPING, desired=D.STANDBY)
    after = decided(stopping, ended(), names_instance=True)
    assert (after.has_ended, after.failures, after.phase, after.planned) == (True, 0, P.STANDBY, Op.NONE)
    assert after.forgets_instance


def test_failures_are_forgotten_after_ten_minutes_of_running() -> None:
    shaky = running(failures=2, error_reason=ErrorReason.ACTION_FAILED)
    assert decided(shaky, running_since=NOW - SETTLED_MS + 1).failures == 2
    after = decided(shaky, running_since=NOW - SETTLED_MS)
    assert (after.failures, after.error_reason) == (0, None)


def test_a_home_that_is_gone_is_lost_and_stays_lost_when_it_is_back() -> None:
    after = decided(standby(observed=seen(False, False, False)))
    assert (after.phase, after.error_reason, after.planned) == (P.ERROR, ErrorReason.DATA_LOST, Op.NONE)
    back = decided(standby(phase=P.ERROR, error_reason=ErrorReason.DATA_LOST))
    assert (back.phase, back.error_reason) == (P.ERROR, ErrorReason.DATA_LOST)


def test_an_instance_without_its_home_is_an_error_that_says_so() -> None:
    after = decided(running(observed=seen(False, False, True)))
    assert (after.phase, after.error_reason) == (P.ERROR, ErrorReason.CONTAINER_WITHOUT_VOLUME)
    orphan = decided(running(observed=seen(False, False, True), volume=None))
    assert (orphan.phase, orphan.error_reason, orphan.planned) == (P.ERROR, None, Op.STOPPING)


def test_while_a_part_is_not_known_nothing_is_decided() -> None:
    blind = running(observed=seen(None, False, False), failures=1)
    after = decided(blind, names_instance=True)
    assert (after.phase, after.planned, after.failures, after.forgets_instance) == (P.RUNNING, Op.NONE, 1, False)
    assert after.conditions[ConditionName.VOLUME].reason is ConditionReason.NOT_OBSERVED


def test_an_error_comes_only_with_the_end_of_the_operation() -> None:
    broken = running(observed=seen(False, False, True), operation=Op.STARTING, phase=P.STANDBY)
    known = updated({}, seen(True, False, False), 1)
    during = decide(broken, known, None, NOW)
    assert (during.phase, during.conditions, during.has_ended) == (P.STANDBY, known, False)
    after = decide(broken, known, ended(), NOW)
    assert (after.phase, after.has_ended, after.planned) == (P.ERROR, True, Op.NONE)


def test_in_error_a_delete_that_fails_is_tried_again_later_and_later() -> None:
    doomed = standby(phase=P.ERROR, desired=D.DELETED, error_reason=ErrorReason.RETRY_EXCEEDED, failures=3)
    assert decided(doomed, written_at=NOW).planned is Op.DELETING, "the first try comes at once"
    failing = structs.replace(doomed, operation=Op.DELETING)
    after = decided(failing, ended(StateName.FAILED, "ERR_BACKEND", 1), written_at=NOW)
    assert (after.phase, after.has_ended, after.planned, after.failures) == (P.ERROR, True, Op.NONE, 4)
    pauses = [pause_of(Op.DELETING, P.ERROR, failures) for failures in range(3, 20)]
    assert pauses[:5] == [0, 2_000, 8_000, 32_000, 128_000]
    assert set(pauses[5:]) == {300_000}
    again = structs.replace(doomed, failures=5)
    assert decided(again, written_at=NOW - 7_999).planned is Op.NONE
    assert decided(again, written_at=NOW - 8_000).planned is Op.DELETING


def test_the_write_that_sets_error_plans_nothing() -> None:
    doomed = standby(operation=Op.DELETING, desired=D.DELETED)
    after = decided(doomed, ended(StateName.FAILED, "ERR_BACKEND", 3))
    assert (after.phase, after.planned) == (P.ERROR, Op.NONE)


def test_a_start_that_is_complete_is_no_error_however_often_it_was_tried() -> None:
    after = decided(running(operation=Op.STARTING, failures=1), ended(StateName.FAILED, "ERR_TIMEOUT", 3))
    assert (after.phase, after.error_reason, after.failures) == (P.RUNNING, None, 2)


jobs = st.none() | st.builds(
    OperationJob,
    st.sampled_from([StateName.DONE, StateName.FAILED, StateName.CANCELLED]),
    st.sampled_from([None, "ERR_TIMEOUT", "ERR_OTHER", *map(str, ErrorReason)]),
    st.integers(0, NOW),
    st.integers(0, 3),
)


@given(every_fact, jobs, st.booleans(), st.booleans())
def test_for_all_facts(found: WorkspaceFacts, job: OperationJob | None, named: bool, rebooted: bool) -> None:
    """What holds for every decision."""
    after = decide(found, {}, job, NOW, running_since=0, names_instance=named, ended_with_machine=rebooted)
    is_idle = found.operation is Op.NONE or after.has_ended
    if after.phase is P.ERROR and found.phase is not P.ERROR:
        assert is_idle, "ERROR and the end of the operation are one write"
    if after.planned is not Op.NONE:
        assert is_idle
        assert found.is_known
    if after.has_ended:
        assert job is not None
    if after.error_reason is not None and after.error_reason.is_terminal and is_idle and found.is_known:
        assert after.phase is P.ERROR
    if not found.is_known:
        assert (after.phase, after.failures, after.error_reason) == (found.phase, found.failures, found.error_reason)
