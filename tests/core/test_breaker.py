"""When a breaker opens, who closes it, and what counts for nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.gates.breaker import (
    CLOCKS_DIFFER,
    FORGOTTEN_MS,
    Breaker,
    BreakerPolicy,
    BreakerState,
    Sign,
    after_end,
    has_opened,
    sign_of,
    state_at,
)
from holdfast.core.jobs.settle import (
    Broke,
    Completed,
    Outcome,
    Outdated,
    Overdue,
    Skipped,
    Snoozed,
    StoppedByCancel,
    Yielded,
)
from holdfast.core.values.retry import Failure, FailureKind

NOW = 1_700_000_000_000
POLICY = BreakerPolicy()


def broke(kind: FailureKind) -> Broke:
    return Broke(Failure(kind, "ERR_TEST", "it broke"))


def fail(breaker: Breaker | None, job: str = "j", now: int = NOW, policy: BreakerPolicy = POLICY) -> Breaker | None:
    return after_end(policy, breaker, Sign.INFRA, job, "why", now)


def opened(probe: str | None = None) -> Breaker:
    return Breaker(5, NOW, "why", NOW, NOW + 30_000, is_half_open=probe is not None, probe=probe)


@pytest.mark.parametrize(
    ("outcome", "sign"),
    [
        (Completed("1"), Sign.FINE),
        (Skipped("nothing to do"), Sign.FINE),
        (Snoozed(5), Sign.FINE),
        (Overdue(), Sign.FINE),
        (broke(FailureKind.TRANSIENT), Sign.FINE),
        (broke(FailureKind.PERMANENT), Sign.FINE),
        (broke(FailureKind.INFRA), Sign.INFRA),
        (Broke(Failure(FailureKind.INFRA, "ERR_TEST", "a reboot"), charge=False), Sign.NOTHING),
        (Yielded("asked to"), Sign.NOTHING),
        (StoppedByCancel(), Sign.NOTHING),
        (Outdated(), Sign.NOTHING),
    ],
)
def test_each_end_says_something_about_the_machine_or_nothing(outcome: Outcome, sign: Sign) -> None:
    assert sign_of(outcome) is sign


@given(st.lists(st.sampled_from(Sign), max_size=30), st.integers(1, 6))
def test_it_opens_exactly_when_so_many_failed_in_a_row(signs: list[Sign], most: int) -> None:
    breaker: Breaker | None = None
    in_a_row = 0
    for sign in signs:
        breaker = after_end(BreakerPolicy(most), breaker, sign, "j", "why", NOW)
        in_a_row = {Sign.FINE: 0, Sign.INFRA: in_a_row + 1, Sign.NOTHING: in_a_row}[sign]
        assert has_opened(breaker) == (in_a_row >= most)
        if has_opened(breaker):
            return


def test_with_a_limit_of_zero_it_never_opens() -> None:
    breaker = None
    for _ in range(20):
        breaker = fail(breaker, policy=BreakerPolicy(0))
    assert breaker is None


def test_failures_that_are_days_apart_are_not_in_a_row() -> None:
    breaker = None
    for day in range(20):
        breaker = fail(breaker, now=NOW + day * (FORGOTTEN_MS + 1))
    assert breaker is not None
    assert (breaker.failures, breaker.opened_at) == (1, None)


@pytest.mark.parametrize("sign", Sign)
def test_once_it_has_opened_nobody_but_the_probe_decides(sign: Sign) -> None:
    assert after_end(POLICY, opened("probe"), sign, "another", "why", NOW + 1) == opened("probe")


def test_the_probe_closes_it_or_opens_it_once_more() -> None:
    assert after_end(POLICY, opened("probe"), Sign.FINE, "probe", "", NOW + 40_000) is None
    again = fail(opened("probe"), "probe", NOW + 40_000)
    assert again == Breaker(6, NOW + 40_000, "why", NOW + 40_000, NOW + 70_000)
    assert after_end(POLICY, opened("probe"), Sign.NOTHING, "probe", "", NOW + 40_000) == opened("probe")


def test_it_is_open_for_its_time_and_half_open_from_then_on() -> None:
    assert state_at(None, None, NOW) is BreakerState.CLOSED
    assert state_at(NOW, NOW + 10, NOW + 9) is BreakerState.OPEN
    assert state_at(NOW, NOW + 10, NOW + 10) is BreakerState.HALF_OPEN


def test_a_clock_that_was_wrong_holds_nobody_for_long() -> None:
    ahead = NOW + CLOCKS_DIFFER
    assert state_at(ahead, ahead + 30_000, NOW) is BreakerState.OPEN
    assert state_at(ahead + 1, ahead + 30_001, NOW) is BreakerState.HALF_OPEN
