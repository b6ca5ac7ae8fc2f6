"""What a process believes of the time of a database server, one measurement after the other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.machine.database_time import (
    AGAIN_MS,
    EVERY_MS,
    JUMP_MS,
    SILENCE_MS,
    ClockDoubt,
    ClockEstimate,
    Measurement,
    doubt_at,
    is_jump,
    next_in,
    weigh,
)

HOUR = 3_600_000


def estimated(*found: tuple[int, int]) -> ClockEstimate:
    """After measurements at moments, of how far the server was ahead."""
    estimate: ClockEstimate | None = None
    for at, ahead in found:
        estimate = weigh(estimate, Measurement(at, ahead, 5))
    assert estimate is not None
    return estimate


def test_half_of_the_round_trip_is_the_error() -> None:
    assert Measurement.of(asked=1_000, server=50_000, answered=1_100) == Measurement(1_050, 48_950, 50)
    assert Measurement.of(asked=1_000, server=50_000, answered=1_000).error == 0


@given(asked=st.integers(0, 10**12), trip=st.integers(0, 10**7), looked=st.floats(0, 1), ahead=st.integers(0, 10**12))
def test_the_truth_is_within_the_error(asked: int, trip: int, looked: float, ahead: int) -> None:
    server = asked + int(trip * looked) + ahead
    found = Measurement.of(asked, server, asked + trip)
    assert abs(found.ahead - ahead) <= found.error + 1


CALM = (0, HOUR)
NEXT = EVERY_MS


@pytest.mark.parametrize(
    ("found", "ahead", "doubt"),
    [
        pytest.param([CALM], HOUR, None, id="the first one is used"),
        pytest.param([CALM, (NEXT, HOUR + 40)], HOUR + 40, None, id="the newest counts"),
        pytest.param([CALM, (NEXT, HOUR + JUMP_MS)], HOUR + JUMP_MS, None, id="a minute is no jump"),
        pytest.param([CALM, (NEXT, HOUR + JUMP_MS + 1)], HOUR, ClockDoubt.JUMPED, id="more than a minute is one"),
        pytest.param([CALM, (NEXT, -HOUR)], HOUR, ClockDoubt.JUMPED, id="and so it is back in time"),
        pytest.param([CALM, (NEXT, -HOUR), (NEXT + 5, -HOUR + 900)], -HOUR + 900, None, id="two that agree"),
        pytest.param([CALM, (NEXT, -HOUR), (NEXT + 5, HOUR)], HOUR, ClockDoubt.SILENT, id="two that do not"),
        pytest.param([CALM, (NEXT, -HOUR), (NEXT + 5, HOUR), (NEXT + 9, HOUR)], HOUR, None, id="it was a mistake"),
        pytest.param([CALM, (NEXT, -HOUR), (NEXT + 5, 0)], HOUR, ClockDoubt.JUMPED, id="it jumps again"),
        pytest.param([CALM, (SILENCE_MS, HOUR + 7)], HOUR + 7, None, id="two minutes are no silence"),
        pytest.param([CALM, (SILENCE_MS + 1, HOUR + 7)], HOUR, ClockDoubt.SILENT, id="after a silence one is too few"),
        pytest.param([CALM, (SILENCE_MS + 1, HOUR + 7), (SILENCE_MS + 9, HOUR)], HOUR, None, id="and two are enough"),
    ],
)
def test_which_measurement_is_used_after(found: list[tuple[int, int]], ahead: int, doubt: ClockDoubt | None) -> None:
    estimate = estimated(*found)
    assert (estimate.measured.ahead, doubt_at(estimate, found[-1][0])) == (ahead, doubt)


def test_without_a_measurement_for_two_minutes_it_is_in_doubt() -> None:
    estimate = estimated(CALM)
    assert doubt_at(estimate, SILENCE_MS) is None
    assert doubt_at(estimate, SILENCE_MS + 1) is ClockDoubt.SILENT


def test_a_round_trip_that_took_too_long_says_nothing() -> None:
    estimate = estimated(CALM)
    assert weigh(estimate, Measurement(NEXT, HOUR + 20_000, 1_001)) is estimate
    assert weigh(None, Measurement(NEXT, HOUR, 1_001)).measured.ahead == HOUR


def test_in_doubt_it_is_measured_more_often() -> None:
    assert next_in(estimated(CALM)) == EVERY_MS
    assert next_in(estimated(CALM, (NEXT, -HOUR))) == AGAIN_MS


def test_what_was_confirmed_after_a_jump_is_one() -> None:
    before, after = estimated(CALM), estimated(CALM, (NEXT, 0), (NEXT + 5, 0))
    assert is_jump(before, after)
    assert not is_jump(before, estimated(CALM, (NEXT, 0)))
    assert not is_jump(None, after)
