"""The transition table: every state meets every move."""

from __future__ import annotations

import pytest

from holdfast.core.job import TERMINAL, TRANSITIONS, WAITING, Move, StateName, follow

S, M = StateName, Move

ALLOWED = {
    S.SCHEDULED: {
        M.PROMOTE: S.QUEUED,
        M.CANCEL: S.CANCELLED,
        M.SUPERSEDE: S.SUPERSEDED,
        M.EXPIRE_DEADLINE: S.SKIPPED_DEADLINE,
    },
    S.QUEUED: {
        M.CLAIM: S.RUNNING,
        M.CANCEL: S.CANCELLED,
        M.SUPERSEDE: S.SUPERSEDED,
        M.EXPIRE_TTL: S.SKIPPED_TTL,
        M.EXPIRE_DEADLINE: S.SKIPPED_DEADLINE,
    },
    S.RUNNING: {
        M.COMPLETE: S.DONE,
        M.RETRY: S.SCHEDULED,
        M.SNOOZE: S.SCHEDULED,
        M.YIELD: S.QUEUED,
        M.FAIL: S.FAILED,
        M.CANCEL: S.CANCELLED,
        M.SUPERSEDE: S.SUPERSEDED,
        M.EXPIRE_DEADLINE: S.SKIPPED_DEADLINE,
    },
}


@pytest.mark.parametrize("move", list(Move))
@pytest.mark.parametrize("state", list(StateName))
def test_a_move_leads_where_the_table_says_or_nowhere(state: StateName, move: Move) -> None:
    assert follow(state, move) is ALLOWED.get(state, {}).get(move)


def test_states_are_waiting_running_or_terminal() -> None:
    assert len(StateName) == 9
    assert WAITING | TERMINAL | {S.RUNNING} == set(StateName)
    assert len(WAITING) + len(TERMINAL) + 1 == 9


def test_nothing_leaves_a_terminal_state() -> None:
    assert [start for start, _ in TRANSITIONS if start in TERMINAL] == []


def test_only_a_claim_leads_to_running() -> None:
    assert [key for key, target in TRANSITIONS.items() if target is S.RUNNING] == [(S.QUEUED, M.CLAIM)]


def test_every_state_but_the_first_two_is_reached_and_every_move_is_used() -> None:
    assert set(TRANSITIONS.values()) == set(StateName)
    assert {move for _, move in TRANSITIONS} == set(Move)
