"""The outcome table: what a run's outcome means for the run, for the job, and for the tries it has left."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec import Struct, structs

from holdfast.core.job import Move, StateName, follow
from holdfast.core.jobs.run import RunStatus
from holdfast.core.jobs.settle import (
    POISON_CODE,
    Again,
    Broke,
    Completed,
    Continue,
    End,
    Next,
    Outcome,
    Outdated,
    Overdue,
    SettleFacts,
    Skipped,
    Snoozed,
    StoppedByCancel,
    Wait,
    Yielded,
    settle,
    way_back,
)
from holdfast.core.values.retry import POISON_DEATHS, Failure, FailureKind, RetryMode, RetryPolicy, Tries

NOW = 1_000_000
TRANSIENT = Failure(FailureKind.TRANSIENT, "ERR_T", "timed out")
PERMANENT = Failure(FailureKind.PERMANENT, "ERR_P", "bad payload")
INFRA = Failure(FailureKind.INFRA, "ERR_I", "died")

REQUEUE = RetryPolicy(retries=1)
CHAIN = RetryPolicy(retries=1, mode=RetryMode.CHAIN)
LAST_TRY = Tries(transient=1)
TWO_DEATHS = Tries(infra=2, deaths=2)


class Row(Struct, frozen=True):
    """A row of the table. `new_job`: the job ends and another one continues it."""

    outcome: Outcome
    run: RunStatus
    job: StateName
    uses_up_a_try: bool
    policy: RetryPolicy = REQUEUE
    tries: Tries = Tries()
    new_job: bool = False
    error_code: str | None = None


R, S = RunStatus, StateName

TABLE = {
    # outcome                             run          job                 uses up a try
    "returned": Row(Completed("1"), R.COMPLETED, S.DONE, False),
    "skip": Row(Skipped("no"), R.SKIPPED, S.DONE, False),
    "snooze": Row(Snoozed(5), R.YIELDED, S.SCHEDULED, False),
    "asked to yield": Row(Yielded("room"), R.YIELDED, S.QUEUED, False),
    "failed, retry left": Row(Broke(TRANSIENT), R.FAILED, S.SCHEDULED, True),
    "failed, retry left, chain": Row(Broke(TRANSIENT), R.FAILED, S.FAILED, True, CHAIN, new_job=True),
    "failed, none left": Row(Broke(TRANSIENT), R.FAILED, S.FAILED, True, tries=LAST_TRY, error_code="ERR_T"),
    # A try too, but the last one: no budget is left to be used up.
    "failed, permanent": Row(Broke(PERMANENT), R.FAILED, S.FAILED, False, error_code="ERR_P"),
    "failed, infra": Row(Broke(INFRA), R.FAILED, S.SCHEDULED, True),
    "failed, not its fault": Row(Broke(INFRA, charge=False), R.FAILED, S.QUEUED, False),
    "parked as poison": Row(
        Broke(INFRA, death=True), R.FAILED, S.FAILED, True, tries=TWO_DEATHS, error_code=POISON_CODE
    ),
    "stopped on request": Row(StoppedByCancel(), R.CANCELLED, S.CANCELLED, False),
    "stopped, newer generation": Row(Outdated(), R.CANCELLED, S.SUPERSEDED, False),
    "stopped at its deadline": Row(Overdue(), R.FAILED, S.SKIPPED_DEADLINE, False, error_code="ERR_DEADLINE"),
}


@pytest.mark.parametrize("row", TABLE.values(), ids=TABLE.keys())
def test_the_outcome_table(row: Row) -> None:
    settled = settle(SettleFacts(row.policy, row.tries), row.outcome, NOW)
    assert settled.status is row.run
    assert follow(StateName.RUNNING, settled.then.move) is row.job
    assert isinstance(settled.then, Continue) is row.new_job
    assert used(settled.tries) - used(row.tries) == row.uses_up_a_try
    if isinstance(settled.then, End):
        assert settled.then.error_code == row.error_code


def used(tries: Tries) -> int:
    return tries.transient + tries.infra


# Everything that may meet an outcome. What ends the job outright ends it whatever else is true; every way back to
# waiting asks, in this order: cancel requested? newer generation? deadline passed? and only then the verdict.

OUTRIGHT: dict[type, Move] = {
    Completed: Move.COMPLETE,
    Skipped: Move.COMPLETE,
    StoppedByCancel: Move.CANCEL,
    Outdated: Move.SUPERSEDE,
    Overdue: Move.EXPIRE_DEADLINE,
}
OUTCOMES: list[Outcome] = [
    Completed("1"),
    Skipped("no"),
    Snoozed(0),
    Snoozed(5),
    Yielded("room"),
    StoppedByCancel(),
    Outdated(),
    Overdue(),
    *(
        Broke(failure, charge, death)
        for failure in (TRANSIENT, PERMANENT, INFRA)
        for charge in (True, False)
        for death in (True, False)
    ),
]
DEADLINES = (None, NOW - 1, NOW, NOW + 1)
TRIES = [Tries(transient, infra, deaths) for transient in range(3) for infra in range(4) for deaths in range(infra + 1)]


def verdict(outcome: Broke, policy: RetryPolicy, tries: Tries) -> Move:
    """What a failure would mean for a job that is still wanted."""
    kind = outcome.failure.kind
    infra = tries.infra + (kind is FailureKind.INFRA)
    deaths = tries.deaths + (kind is FailureKind.INFRA and outcome.death)
    if not outcome.charge:
        return Move.YIELD
    if kind is FailureKind.PERMANENT:
        return Move.FAIL
    if kind is FailureKind.TRANSIENT:
        none_left = tries.transient + 1 > policy.retries
    else:
        none_left = infra > policy.infra or deaths >= POISON_DEATHS
    return Move.FAIL if none_left or policy.mode is RetryMode.CHAIN else Move.RETRY


def ends_for_good(outcome: Broke, policy: RetryPolicy, tries: Tries) -> bool:
    requeue = structs.replace(policy, mode=RetryMode.REQUEUE)
    return verdict(outcome, requeue, tries) is Move.FAIL


@pytest.mark.parametrize("mode", list(RetryMode))
@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
def test_whatever_else_is_true(outcome: Outcome, mode: RetryMode) -> None:
    policy = RetryPolicy(retries=1, infra=2, mode=mode)
    for cancel, outdated, deadline, tries in product((False, True), (False, True), DEADLINES, TRIES):
        facts = SettleFacts(policy, tries, cancel, outdated, deadline)
        then = settle(facts, outcome, NOW).then
        if type(outcome) in OUTRIGHT:
            expected = OUTRIGHT[type(outcome)]
        elif isinstance(outcome, Broke) and ends_for_good(outcome, policy, tries):
            expected = Move.FAIL
        elif cancel:
            expected = Move.CANCEL
        elif outdated:
            expected = Move.SUPERSEDE
        elif deadline is not None and deadline <= NOW:
            expected = Move.EXPIRE_DEADLINE
        elif isinstance(outcome, Broke):
            expected = verdict(outcome, policy, tries)
        else:
            expected = Move.SNOOZE if isinstance(outcome, Snoozed) else Move.YIELD
        assert then.move is expected, facts


@pytest.mark.parametrize("mode", list(RetryMode))
@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
def test_only_a_charged_failure_changes_the_tries(outcome: Outcome, mode: RetryMode) -> None:
    for tries in TRIES:
        after = settle(SettleFacts(RetryPolicy(mode=mode), tries), outcome, NOW).tries
        if isinstance(outcome, Broke) and outcome.charge:
            assert after == tries.charged(outcome.failure.kind, death=outcome.death)
        else:
            assert after == tries


@pytest.mark.parametrize("outcome", OUTCOMES, ids=str)
def test_every_settlement_is_a_transition_that_exists(outcome: Outcome) -> None:
    for tries, mode in product(TRIES, RetryMode):
        then = settle(SettleFacts(RetryPolicy(retries=1, mode=mode), tries), outcome, NOW).then
        assert follow(StateName.RUNNING, then.move) is not None


def test_moments_are_counted_from_now() -> None:
    assert settle(SettleFacts(REQUEUE, Tries()), Snoozed(5), NOW).then == Wait(Move.SNOOZE, NOW + 5, "snoozed")
    retry = settle(SettleFacts(REQUEUE, Tries()), Broke(TRANSIENT), NOW).then
    assert retry == Wait(Move.RETRY, NOW + 2000, "ERR_T: timed out")
    chained = settle(SettleFacts(CHAIN, Tries()), Broke(TRANSIENT), NOW).then
    assert chained == Continue(NOW + 2000, "timed out", "ERR_T")


def test_the_failure_is_kept_for_the_run() -> None:
    assert settle(SettleFacts(REQUEUE, Tries()), Broke(TRANSIENT), NOW).failure == TRANSIENT
    assert settle(SettleFacts(REQUEUE, Tries(), cancel_requested=True), Broke(INFRA), NOW).failure == INFRA
    assert settle(SettleFacts(REQUEUE, Tries()), Completed("1"), NOW).failure is None


@pytest.mark.parametrize("then", [Again("x"), Wait(Move.RETRY, NOW, "x"), Continue(NOW, "x", "E")], ids=str)
def test_a_job_that_is_wanted_goes_its_way(then: Next) -> None:
    assert way_back(SettleFacts(REQUEUE, Tries(), deadline=NOW + 1), then, NOW) is then
