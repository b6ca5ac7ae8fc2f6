"""Lengths of time and sizes are written in one way, and shown so that they can be read again."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.core.rules.number_rules import Period, Size
from holdfast.core.rules.units import (
    duration_words,
    parse_duration,
    parse_size,
    parse_window,
    written_duration,
    written_size,
)
from holdfast.core.rules.value_rules import DURATION, MOMENT, SPAN


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        (90, 90),
        (0.5, 0.5),
        (timedelta(minutes=2), 120),
        ("90", 90),
        ("1.5", 1.5),
        ("500ms", 0.5),
        ("1h30m", 5_400),
        ("1h 30m", 5_400),
        ("5min", 300),
        ("5 minutes", 300),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("1d 1h 1m 1s 1ms", 90_061.001),
    ],
)
def test_a_duration_is_read_as_people_write_it(written: object, seconds: float) -> None:
    assert parse_duration(written) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "written", ["", " ", "1y", "h", "1h30", "1h  30m", "-1s", "1e9", "٣s", "1.s", ".5s", True, None, [], b"1s", 1j]
)
def test_what_is_no_duration_means_nothing(written: object) -> None:
    assert parse_duration(written) is None


@given(st.integers(0, 10**12))
def test_a_duration_is_written_as_it_is_read(millis: int) -> None:
    assert parse_duration(written_duration(millis / 1000)) == pytest.approx(millis / 1000)


@given(st.integers(0, 1 << 50))
def test_a_size_is_written_as_it_is_read(size: int) -> None:
    assert parse_size(written_size(size)) == size


@pytest.mark.parametrize(
    ("written", "size"), [(7, 7), ("7", 7), ("7B", 7), ("64MiB", 64 << 20), ("1.5 GiB", 3 << 29), ("2kB", 2_000)]
)
def test_a_size_is_read_as_people_write_it(written: object, size: int) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize("written", ["", "MiB", "1 mib", "-1B", "1e3", 1.5, True, None, "9" * 400 + "B"])
def test_what_is_no_size_means_nothing(written: object) -> None:
    assert parse_size(written) is None


@pytest.mark.parametrize(("text", "seconds"), [("min", 60), ("s", 1), ("30s", 30), ("2 hours", 7_200)])
def test_a_unit_alone_is_a_window_of_one(text: str, seconds: float) -> None:
    assert parse_window(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "y", "1 fortnight"])
def test_a_window_has_a_unit(text: str) -> None:
    assert parse_window(text) is None


@pytest.mark.parametrize(
    ("millis", "words"),
    [
        (0, "0 s"),
        (1, "1 ms"),
        (1_500, "1500 ms"),
        (300_000, "5 min"),
        (86_400_000, "1 day"),
        (31_536_000_000, "1 year"),
    ],
)
def test_bounds_are_told_in_the_largest_unit_that_fits(millis: int, words: str) -> None:
    assert duration_words(millis) == words


@pytest.mark.parametrize("value", [-1, "soon", math.nan, math.inf, 10**400, True, timedelta.max, "9999w"])
def test_what_is_out_of_bounds_is_refused_in_one_form_of_words(value: object) -> None:
    says = 'is not valid: use 0 s to 100 years, in seconds or as a text such as "500ms", "90s", "1h30m", "7d"$'
    with pytest.raises(InvalidInput, match=rf"^--ttl .* {says}"):
        DURATION.millis("--ttl", value)


@given(st.integers(0, 5_000))
def test_a_period_keeps_its_bounds_to_the_millisecond(millis: int) -> None:
    rule = Period(100, 3_000)
    assert rule.allows(millis) == (100 <= millis <= 3_000)
    if rule.allows(millis):
        assert rule.millis("it", f"{millis}ms") == rule.millis("it", millis / 1000) == millis
    else:
        with pytest.raises(InvalidInput, match="use 100 ms to 3 s"):
            rule.millis("it", f"{millis}ms")


def test_no_time_at_all_is_no_span() -> None:
    assert SPAN.millis("timeout", 0.001) == 1
    for nothing in (0, 0.0004, "0s", timedelta(0)):
        with pytest.raises(InvalidInput, match="use 1 ms to 100 years"):
            SPAN.millis("timeout", nothing)


def test_a_moment_has_a_time_zone_and_a_year_that_can_be_stored() -> None:
    assert MOMENT.millis("at", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)) == 1_000
    for value in (datetime(2030, 1, 1), datetime(1969, 1, 1, tzinfo=UTC), "2030-01-01", 5, None):
        with pytest.raises(InvalidInput, match="use a moment from 1970 to 9999, as a datetime with a time zone"):
            MOMENT.millis("at", value)


def test_a_size_without_its_unit_is_told_what_was_meant() -> None:
    rule = Size(1 << 20, 1 << 40, may_be_none=True)
    assert (rule.bytes("wal", 0), rule.bytes("wal", "1MiB")) == (0, 1 << 20)
    for value in (300, "300"):
        with pytest.raises(InvalidInput, match=r'use 0, or 1MiB to 1TiB, .*; "300MiB" for 300 MiB$'):
            rule.bytes("wal", value)
    with pytest.raises(InvalidInput, match=r'such as "64MiB"$'):
        rule.bytes("wal", "2TiB")
