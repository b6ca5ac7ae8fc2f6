"""Retry: how long to wait, and whether to try again at all."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.values.retry import (
    JITTER,
    POISON_DEATHS,
    Fail,
    Failure,
    FailureKind,
    Park,
    RetryAt,
    RetryPolicy,
    Tries,
    after_failure,
)

NOW = 1_000_000

policies = st.builds(
    RetryPolicy,
    initial_ms=st.integers(0, 10**9),
    factor=st.floats(1, 1000),
    cap_ms=st.integers(0, 10**12),
)
nth_tries = st.integers(1, 10_000)
jitters = st.floats(-1, 1)


def test_the_default_is_two_seconds_doubled_with_every_try() -> None:
    assert [RetryPolicy().backoff(nth, 0.0) for nth in (1, 2, 3, 4)] == [2_000, 4_000, 8_000, 16_000]


@given(policies, nth_tries)
def test_the_backoff_grows_until_the_cap(policy: RetryPolicy, nth: int) -> None:
    first, second = policy.backoff(nth, 0.0), policy.backoff(nth + 1, 0.0)
    assert 0 <= first <= second <= policy.cap_ms


@given(policies, nth_tries, jitters)
def test_jitter_stays_within_a_tenth(policy: RetryPolicy, nth: int, jitter: float) -> None:
    plain, spread = policy.backoff(nth, 0.0), policy.backoff(nth, jitter)
    assert 0 <= spread <= policy.cap_ms
    assert abs(spread - plain) <= plain * JITTER + 1


@given(st.integers(0, 10**9), st.integers(1, 1000), st.integers(0, 10**12), nth_tries)
def test_the_backoff_is_initial_times_factor_to_the_power(initial: int, factor: int, cap: int, nth: int) -> None:
    exact = min(Fraction(initial) * factor ** (nth - 1), Fraction(cap))
    backoff = RetryPolicy(initial_ms=initial, factor=float(factor), cap_ms=cap).backoff(nth, 0.0)
    assert backoff == pytest.approx(float(exact), rel=1e-9)


@given(nth_tries, jitters)
def test_no_pause_stays_no_pause(nth: int, jitter: float) -> None:
    assert RetryPolicy(initial_ms=0, factor=1000.0).backoff(nth, jitter) == 0


@pytest.mark.parametrize("retries", range(4))
@pytest.mark.parametrize("infra", range(5))
@pytest.mark.parametrize("kind", list(FailureKind))
def test_the_verdict_of_every_kind_and_budget(kind: FailureKind, retries: int, infra: int) -> None:
    policy = RetryPolicy(retries=retries, infra=infra)
    failure = Failure(kind, "ERR", "it broke")
    for transient, infra_tries in ((t, i) for t in range(6) for i in range(6)):
        for deaths in range(infra_tries + 1):
            verdict = after_failure(policy, Tries(transient, infra_tries, deaths), failure, NOW, 0.0)
            expected: dict[FailureKind, type] = {
                FailureKind.PERMANENT: Fail,
                FailureKind.TRANSIENT: RetryAt if transient <= retries else Fail,
                FailureKind.INFRA: Fail if infra_tries > infra else Park if deaths >= POISON_DEATHS else RetryAt,
            }
            assert type(verdict) is expected[kind]


@pytest.mark.parametrize(("kind", "nth"), [(FailureKind.TRANSIENT, 2), (FailureKind.INFRA, 3)])
def test_the_pause_grows_with_the_tries_of_that_kind(kind: FailureKind, nth: int) -> None:
    policy = RetryPolicy(retries=9, infra=9)
    verdict = after_failure(policy, Tries(transient=2, infra=3), Failure(kind, "ERR", "x"), NOW, 0.5)
    assert verdict == RetryAt(NOW + policy.backoff(nth, 0.5))


@pytest.mark.parametrize("death", [False, True])
@pytest.mark.parametrize("kind", list(FailureKind))
def test_a_try_is_charged_to_the_budget_of_its_kind(kind: FailureKind, death: bool) -> None:
    after = Tries(10, 20, 5).charged(kind, death=death)
    expected = {
        FailureKind.TRANSIENT: Tries(11, 20, 5),
        FailureKind.PERMANENT: Tries(10, 20, 5),
        FailureKind.INFRA: Tries(10, 21, 5 + death),
    }
    assert after == expected[kind]
