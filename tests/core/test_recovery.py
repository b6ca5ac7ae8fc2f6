"""Who pays when a process dies: every death, alone and in company, with every infra budget."""

from __future__ import annotations

import pytest

from holdfast.core.jobs.recovery import CRASH_CODE, Death, after_death, is_suspect
from holdfast.core.jobs.settle import Broke, Yielded
from holdfast.core.values.retry import FailureKind, RetryPolicy


@pytest.mark.parametrize("company", [1, 2, 500])
@pytest.mark.parametrize("death", list(Death))
def test_a_job_that_must_never_run_twice_fails_whoever_is_to_blame(death: Death, company: int) -> None:
    outcome = after_death(RetryPolicy(infra=0), death, company)
    assert isinstance(outcome, Broke)
    assert (outcome.charge, outcome.death) == (True, False)


@pytest.mark.parametrize("infra", [1, 2, 3, 100])
@pytest.mark.parametrize("company", [1, 2, 500])
@pytest.mark.parametrize("death", list(Death))
def test_only_a_crash_alone_is_charged(death: Death, company: int, infra: int) -> None:
    outcome = after_death(RetryPolicy(infra=infra), death, company)
    if death is Death.ORDERLY:
        assert isinstance(outcome, Yielded)
        return
    assert isinstance(outcome, Broke)
    alone = death is Death.CRASH and company == 1
    assert (outcome.charge, outcome.death) == (alone, alone)


@pytest.mark.parametrize("company", [1, 2])
@pytest.mark.parametrize("death", [Death.CRASH, Death.REBOOT])
def test_the_failure_is_one_of_the_machine(death: Death, company: int) -> None:
    outcome = after_death(RetryPolicy(), death, company)
    assert isinstance(outcome, Broke)
    assert (outcome.failure.kind, outcome.failure.code) == (FailureKind.INFRA, CRASH_CODE)


@pytest.mark.parametrize("company", [1, 2])
def test_a_run_with_a_process_of_its_own_did_not_die_itself(company: int) -> None:
    outcome = after_death(RetryPolicy(), Death.CRASH, company, has_own_process=True)
    assert isinstance(outcome, Broke)
    assert (outcome.charge, outcome.death, outcome.failure.message) == (company == 1, False, "its worker died")
    assert not is_suspect(Death.CRASH, has_own_process=True)


def test_only_a_crash_makes_suspects() -> None:
    assert [death for death in Death if is_suspect(death)] == [Death.CRASH]


def test_the_message_says_how_many_died_together() -> None:
    outcome = after_death(RetryPolicy(), Death.CRASH, 7)
    assert isinstance(outcome, Broke)
    assert outcome.failure.message == "its process died with 7 runs in it"
