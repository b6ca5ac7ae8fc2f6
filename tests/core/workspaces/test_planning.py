"""What a workspace is, what is to be done with it next, and when that is done: against a table, and for all facts."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from holdfast.core.workspaces.conditions import (
    ConditionName,
    ConditionReason,
    Observation,
    WorkspaceCondition,
    updated,
)
from holdfast.core.workspaces.planning import (
    SETTLED_MS,
    WorkspaceFacts,
    after_failure,
    failures_after,
    is_complete,
    is_settled,
    loss_of,
    phase_of,
    plan,
    steps,
)
from holdfast.core.workspaces.states import DesiredState, ErrorReason, Operation, Phase

VOLUME, ARCHIVE, INSTANCE = ConditionName.VOLUME, ConditionName.ARCHIVE, ConditionName.INSTANCE
WHY = {
    (VOLUME, True): ConditionReason.VOLUME_PROVISIONED,
    (VOLUME, False): ConditionReason.VOLUME_NOT_FOUND,
    (INSTANCE, True): ConditionReason.INSTANCE_RUNNING,
    (INSTANCE, False): ConditionReason.INSTANCE_NOT_RUNNING,
    (ARCHIVE, True): ConditionReason.ARCHIVE_UPLOADED,
    (ARCHIVE, False): ConditionReason.NO_ARCHIVE,
}
NEVER_BACK = (ConditionReason.ARCHIVE_CORRUPTED, ConditionReason.ARCHIVE_EXPIRED, ConditionReason.ARCHIVE_NOT_FOUND)
NOT_NOW = (ConditionReason.ARCHIVE_UNREACHABLE, ConditionReason.ARCHIVE_TIMEOUT)


def seen(volume: bool | None, archive: bool | None, instance: bool | None) -> dict[ConditionName, Observation]:
    """What was observed of the three parts."""
    parts = {VOLUME: volume, ARCHIVE: archive, INSTANCE: instance}
    return {
        name: Observation(status, WHY.get((name, status), ConditionReason.NOT_OBSERVED))  # type: ignore[arg-type]
        for name, status in parts.items()
    }


def facts(
    volume: bool | None = False,
    archive: bool | None = False,
    instance: bool | None = False,
    desired: DesiredState = DesiredState.RUNNING,
    **more: object,
) -> WorkspaceFacts:
    return WorkspaceFacts(observed=seen(volume, archive, instance), desired=desired, **more)  # type: ignore[arg-type]


def in_phase(phase: Phase, desired: DesiredState) -> WorkspaceFacts:
    """Facts by which a workspace is in a phase."""
    match phase:
        case Phase.PENDING:
            # With nothing left, one that shall be deleted is.
            return facts(desired=desired)
        case Phase.ARCHIVED:
            return facts(archive=True, desired=desired, archive_key="a")
        case Phase.STANDBY:
            return facts(True, desired=desired)
        case Phase.RUNNING:
            return facts(True, instance=True, desired=desired)
        case _:
            return facts(True, desired=desired, error_reason=ErrorReason.TIMEOUT)


D, Op, P = DesiredState, Operation, Phase
TABLE = {
    P.PENDING: {D.ARCHIVED: Op.CREATE_EMPTY_ARCHIVE, D.STANDBY: Op.PROVISIONING, D.RUNNING: Op.PROVISIONING},
    P.ARCHIVED: {D.ARCHIVED: Op.NONE, D.STANDBY: Op.RESTORING, D.RUNNING: Op.RESTORING},
    P.STANDBY: {D.ARCHIVED: Op.ARCHIVING, D.STANDBY: Op.NONE, D.RUNNING: Op.STARTING, D.DELETED: Op.DELETING},
    P.RUNNING: {D.ARCHIVED: Op.STOPPING, D.STANDBY: Op.STOPPING, D.RUNNING: Op.NONE, D.DELETED: Op.STOPPING},
    P.ERROR: {D.ARCHIVED: Op.NONE, D.STANDBY: Op.NONE, D.RUNNING: Op.NONE, D.DELETED: Op.DELETING},
}
CASES = [(phase, desired, planned) for phase, plans in TABLE.items() for desired, planned in plans.items()]


@pytest.mark.parametrize(("phase", "desired", "planned"), CASES)
def test_each_phase_and_wish_has_its_plan(phase: Phase, desired: DesiredState, planned: Operation) -> None:
    found = in_phase(phase, desired)
    assert (phase_of(found), plan(found)) == (phase, planned)


def test_what_shall_be_deleted_and_has_nothing_left_is_deleted() -> None:
    found = facts(desired=D.DELETED)
    assert (phase_of(found), plan(found)) == (P.DELETED, Op.NONE)


def test_what_tries_have_left_is_deleted_too() -> None:
    found = WorkspaceFacts(observed=seen(False, False, False), desired=D.DELETED, has_leftovers=True)
    assert (phase_of(found), plan(found)) == (P.PENDING, Op.DELETING)
    assert not is_complete(structs.replace(found, operation=Op.DELETING))


@pytest.mark.parametrize("desired", list(D))
@pytest.mark.parametrize("phase", [phase for phase in P if phase is not P.ERROR])
def test_the_steps_lead_to_what_is_wanted(phase: Phase, desired: DesiredState) -> None:
    taken = steps(phase, desired)
    if phase is P.DELETED or phase.value == desired.value or (phase, desired) == (P.ARCHIVED, D.DELETED):
        assert taken == []
    else:
        reached = {Op.STARTING: P.RUNNING, Op.DELETING: P.DELETED, Op.CREATE_EMPTY_ARCHIVE: P.ARCHIVED}
        last = reached.get(taken[-1], P.ARCHIVED if taken[-1] is Op.ARCHIVING else P.STANDBY)
        assert last.value == desired.value


@pytest.mark.parametrize("reason", NOT_NOW)
def test_an_archive_that_does_not_answer_is_still_an_archive(reason: ConditionReason) -> None:
    parts = {**seen(False, False, False), ARCHIVE: Observation(False, reason)}
    assert phase_of(WorkspaceFacts(observed=parts, desired=D.ARCHIVED, archive_key="a")) is P.ARCHIVED
    assert phase_of(WorkspaceFacts(observed=parts, desired=D.RUNNING)) is P.PENDING
    away = WorkspaceFacts(observed=parts, desired=D.RUNNING, archive_key="a")
    assert (phase_of(away), plan(away)) == (P.ARCHIVED, Op.NONE), "what needs it is not begun meanwhile"


def test_an_archive_that_is_not_known_holds_nothing_back_where_a_home_counts() -> None:
    parts = seen(True, None, False)
    assert plan(WorkspaceFacts(observed=parts, desired=D.RUNNING, volume="v", archive_key="a")) is Op.STARTING
    assert plan(WorkspaceFacts(observed=seen(False, None, False), desired=D.RUNNING, archive_key="a")) is Op.NONE


def test_one_that_shall_be_deleted_and_has_an_archive_alone_is_deleted() -> None:
    assert phase_of(WorkspaceFacts(observed=seen(False, True, False), desired=D.DELETED, archive_key="a")) is P.DELETED


@pytest.mark.parametrize("reason", NEVER_BACK)
def test_an_archive_that_is_lost_is_an_error(reason: ConditionReason) -> None:
    parts = {**seen(False, False, False), ARCHIVE: Observation(False, reason, "gone")}
    found = WorkspaceFacts(observed=parts, desired=D.RUNNING, archive_key="a")
    assert (phase_of(found), found.health.reason) == (P.ERROR, ConditionReason.ARCHIVE_ACCESS_ERROR)


def test_an_instance_without_a_home_is_an_error_and_is_ended_if_no_home_belongs_to_it() -> None:
    orphan = facts(instance=True)
    assert (phase_of(orphan), plan(orphan)) == (P.ERROR, Op.STOPPING)
    assert orphan.health.reason is ConditionReason.INSTANCE_WITHOUT_VOLUME
    named = WorkspaceFacts(observed=seen(False, False, True), desired=D.RUNNING, volume="v")
    assert plan(named) is Op.NONE


@pytest.mark.parametrize("reason", list(ErrorReason))
def test_a_terminal_reason_is_an_error_and_others_are_not(reason: ErrorReason) -> None:
    is_error = phase_of(facts(True, error_reason=reason, failures=1)) is P.ERROR
    assert is_error == reason.is_terminal


def test_the_third_failure_in_a_row_is_an_error() -> None:
    reason, failures = ErrorReason.ACTION_FAILED, 0
    told = []
    for _ in range(3):
        reason, failures = after_failure(ErrorReason.ACTION_FAILED, failures)
        told.append((reason, phase_of(facts(True, error_reason=reason, failures=failures))))
    assert told == [
        (ErrorReason.ACTION_FAILED, P.STANDBY),
        (ErrorReason.ACTION_FAILED, P.STANDBY),
        (ErrorReason.RETRY_EXCEEDED, P.ERROR),
    ]


def test_a_terminal_failure_keeps_its_reason() -> None:
    assert after_failure(ErrorReason.TIMEOUT, 2) == (ErrorReason.TIMEOUT, 3)


def test_a_home_that_is_gone_is_lost_unless_it_is_being_deleted() -> None:
    gone = seen(False, True, False)
    assert loss_of(WorkspaceFacts(observed=gone, desired=D.RUNNING, volume="v")) is ErrorReason.DATA_LOST
    assert loss_of(WorkspaceFacts(observed=gone, desired=D.DELETED, volume="v")) is None
    assert loss_of(WorkspaceFacts(observed=gone, desired=D.RUNNING)) is None
    assert loss_of(WorkspaceFacts(observed=seen(None, True, False), desired=D.RUNNING, volume="v")) is None


COMPLETE = [
    (Op.PROVISIONING, {"volume": "v"}, (True, False, False)),
    (Op.RESTORING, {"volume": "v", "archive_key": "a", "restore_marker": "a"}, (True, True, False)),
    (Op.STARTING, {"volume": "v"}, (True, False, True)),
    (Op.STOPPING, {"volume": "v"}, (True, False, False)),
    (Op.ARCHIVING, {"archive_key": "a", "archive_is_new": True}, (False, True, False)),
    (Op.CREATE_EMPTY_ARCHIVE, {"archive_key": "a", "archive_is_new": True}, (False, True, False)),
    (Op.DELETING, {}, (False, False, False)),
    (Op.DELETING, {"archive_key": "a"}, (False, True, False)),
]
UNDONE = [
    (Op.PROVISIONING, {}, (True, False, False)),  # Nobody has named the home yet.
    (Op.PROVISIONING, {"volume": "v"}, (False, False, False)),
    (Op.RESTORING, {"volume": "v", "archive_key": "a", "restore_marker": "older"}, (True, True, False)),
    (Op.RESTORING, {"volume": "v"}, (True, True, False)),
    (Op.STARTING, {"volume": "v"}, (True, False, False)),
    (Op.STOPPING, {"volume": "v"}, (True, False, True)),
    (Op.STOPPING, {"volume": "v"}, (True, False, None)),
    (Op.ARCHIVING, {"archive_key": "a", "archive_is_new": True, "volume": "v"}, (True, True, False)),
    (Op.ARCHIVING, {"archive_key": "older"}, (False, True, False)),
    (Op.ARCHIVING, {"archive_key": "a", "archive_is_new": True}, (False, False, False)),
    (Op.CREATE_EMPTY_ARCHIVE, {"archive_key": "older"}, (False, True, False)),
    (Op.DELETING, {}, (True, False, False)),
    (Op.DELETING, {}, (False, False, True)),
    (Op.DELETING, {}, (False, None, False)),
    (Op.NONE, {}, (True, True, True)),
]


@pytest.mark.parametrize(("operation", "named", "parts"), COMPLETE)
def test_an_operation_is_complete_when_what_is_observed_says_so(
    operation: Operation, named: dict[str, str], parts: tuple[bool, bool, bool]
) -> None:
    found = WorkspaceFacts(observed=seen(*parts), desired=D.RUNNING, operation=operation, **named)  # type: ignore[arg-type]
    assert is_complete(found)


@pytest.mark.parametrize(("operation", "named", "parts"), UNDONE)
def test_an_operation_is_not_complete_before(
    operation: Operation, named: dict[str, str], parts: tuple[bool, bool, bool]
) -> None:
    found = WorkspaceFacts(observed=seen(*parts), desired=D.RUNNING, operation=operation, **named)  # type: ignore[arg-type]
    assert not is_complete(found)


def test_failures_are_forgotten_by_a_complete_operation_but_not_by_a_start() -> None:
    assert [failures_after(operation, 2) for operation in (Op.PROVISIONING, Op.STOPPING, Op.STARTING)] == [0, 0, 2]
    assert [is_settled(0, moment) for moment in (SETTLED_MS - 1, SETTLED_MS)] == [False, True]


def test_the_time_of_a_condition_moves_only_with_its_status() -> None:
    first = updated({}, seen(True, False, None), 5)
    again = updated(first, {**seen(True, True, None), VOLUME: Observation(True, WHY[VOLUME, True], "other")}, 9)
    assert again[VOLUME] == WorkspaceCondition(True, ConditionReason.VOLUME_PROVISIONED, "other", 5)
    assert (again[ARCHIVE].last_transition_time, again[INSTANCE].last_transition_time) == (9, 5)


# For all facts.

statuses = st.sampled_from([True, False, None])
every_fact = st.builds(
    lambda volume, archive, instance, desired, phase, operation, reason, failures, named, key: WorkspaceFacts(
        observed=seen(volume, archive, instance),
        desired=desired,
        phase=phase,
        operation=operation,
        error_reason=reason,
        failures=failures,
        volume="v" if named else None,
        archive_key="a" if key else None,
    ),
    statuses,
    statuses,
    statuses,
    st.sampled_from(DesiredState),
    st.sampled_from(Phase),
    st.sampled_from(Operation),
    st.none() | st.sampled_from(ErrorReason),
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
)


@given(every_fact)
def test_nothing_is_planned_while_something_is_under_way_or_not_known(found: WorkspaceFacts) -> None:
    if found.operation is not Op.NONE or not found.is_known:
        assert plan(found) is Op.NONE
    if not found.is_known:
        assert phase_of(found) is found.phase


@given(every_fact)
def test_a_plan_is_for_a_workspace_that_is_not_yet_what_it_shall_be(found: WorkspaceFacts) -> None:
    planned = plan(found)
    if planned is not Op.NONE and planned is not Op.STOPPING:
        assert str(phase_of(found)) != str(found.desired)
    if phase_of(found) is P.ERROR and found.is_known:
        assert planned in (Op.NONE, Op.DELETING, Op.STOPPING)


def test_every_set_of_observations_has_a_phase_and_a_plan() -> None:
    for volume, archive, instance, desired in product((True, False, None), (True, False, None), (True, False, None), D):
        found = facts(volume, archive, instance, desired)
        assert phase_of(found) in Phase
        assert plan(found) in Operation
