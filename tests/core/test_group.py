"""Groups and dependencies: every ending meets every rule."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest

from holdfast.core.job import TERMINAL, StateName
from holdfast.core.values.group import (
    DependencyTurn,
    GroupStatus,
    Needs,
    OnFailure,
    dependency_turn,
    group_progress,
    group_status,
    next_turn,
)

S = StateName


@pytest.mark.parametrize("ending", sorted(TERMINAL))
@pytest.mark.parametrize(
    ("on_failure", "turn"),
    [
        (OnFailure.STOP, DependencyTurn.CANCEL_ALL),
        (OnFailure.CONTINUE, DependencyTurn.START),
        (OnFailure.SKIP, DependencyTurn.CANCEL),
    ],
)
def test_the_next_member_starts_after_success_and_by_its_rule_after_failure(
    on_failure: OnFailure, turn: DependencyTurn, ending: StateName
) -> None:
    assert next_turn(on_failure, ending) is (DependencyTurn.START if ending is S.DONE else turn)


@pytest.mark.parametrize("ending", sorted(TERMINAL))
def test_a_dependent_starts_after_success_or_if_any_end_will_do(ending: StateName) -> None:
    assert dependency_turn(Needs.DONE, ending) is (DependencyTurn.START if ending is S.DONE else DependencyTurn.CANCEL)
    assert dependency_turn(Needs.ENDED, ending) is DependencyTurn.START


@pytest.mark.parametrize("size", range(1, 5))
def test_the_status_of_every_group_of_up_to_four_members(size: int) -> None:
    for states in combinations_with_replacement(StateName, size):
        if set(states) - TERMINAL:
            expected = GroupStatus.OPEN
        elif set(states) == {S.DONE}:
            expected = GroupStatus.COMPLETED
        elif S.DONE not in states and S.CANCELLED in states:
            expected = GroupStatus.CANCELLED
        else:
            expected = GroupStatus.PARTIAL
        assert group_status(states) is expected, states


def test_a_group_without_members_has_nothing_left_to_do() -> None:
    assert group_status([]) is GroupStatus.COMPLETED


def test_progress_counts_who_has_ended_as_a_whole_and_who_runs_by_what_he_says() -> None:
    ended = [(StateName.DONE, 0.0), (StateName.FAILED, 0.2)]
    waiting = [(StateName.QUEUED, 0.9), (StateName.SCHEDULED, 0.9)]
    assert group_progress([*ended, (StateName.RUNNING, 0.5), *waiting]) == 0.5
    assert group_progress([]) == 1
