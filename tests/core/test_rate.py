"""Rates: how people write them, and what they let through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.core.rules.limits import LONGEST_WINDOW, MOST_STARTS
from holdfast.core.values.rate import Rate, Starts, free_starts, opened_by, parse_rate


@pytest.mark.parametrize(
    ("text", "limit", "window_ms"),
    [
        ("10/min", 10, 60_000),
        ("5/s", 5, 1_000),
        ("100/30s", 100, 30_000),
        ("1 / 1.5 hours", 1, 5_400_000),
        ("10/ 30  s", 10, 30_000),
        ("7/250ms", 7, 250),
        ("2/day", 2, 86_400_000),
    ],
)
def test_a_rate_is_read_as_people_write_it(text: str, limit: int, window_ms: int) -> None:
    assert parse_rate(text) == Rate(limit, window_ms)


@pytest.mark.parametrize("text", ["", "10", "10/", "/min", "ten/min", "0/min", "10/0s", "1/year", "-1/s", "1/400d", 10])
def test_what_is_no_rate_is_refused_with_its_value(text: object) -> None:
    with pytest.raises(InvalidInput, match="rate"):
        parse_rate(text)


@given(st.integers(1, MOST_STARTS), st.integers(1, LONGEST_WINDOW))
def test_a_rate_is_written_as_it_is_read(limit: int, window_ms: int) -> None:
    rate = Rate(limit, window_ms)
    assert parse_rate(str(rate)) == rate


@given(st.integers(1, 100), st.integers(0, 1_000), st.integers(0, 200))
def test_one_more_fits_once_those_up_to_the_opening_have_left(limit: int, before: int, in_window: int) -> None:
    rate, starts = Rate(limit, 1_000), Starts(0, before + in_window, before)
    if free_starts(rate, starts) == 0:
        left = Starts(0, starts.total, opened_by(rate, starts))
        assert free_starts(rate, left) == 1
