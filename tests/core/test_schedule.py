"""What becomes of the ticks of a schedule that have come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.schedules.cron import parse
from holdfast.core.schedules.schedule import (
    FAR_AHEAD,
    MISFIRE_GRACE,
    MOST_AT_ONCE,
    JudgedTicks,
    Misfire,
    SkippedTicks,
    SkipReason,
    is_far_ahead,
    jitter,
    judge,
)

MINUTE = 60_000
NOON = 1_700_000_040_000  # a whole minute
EVERY_MINUTE = parse("* * * * *")
EVERY_SECOND = parse("* * * * * *")


def test_before_its_time_nothing_fires() -> None:
    assert judge(EVERY_MINUTE, Misfire.LATEST, NOON, NOON + MINUTE - 1) == JudgedTicks((), None, NOON, NOON + MINUTE)


@pytest.mark.parametrize("misfire", Misfire)
def test_a_tick_on_time_fires_once_whatever_the_policy(misfire: Misfire) -> None:
    judged = judge(EVERY_MINUTE, misfire, NOON, NOON + MINUTE)
    assert judged == JudgedTicks((NOON + MINUTE,), None, NOON + MINUTE, NOON + 2 * MINUTE)
    assert judge(EVERY_MINUTE, misfire, judged.settled_until, NOON + MINUTE).fires == ()


def test_a_late_tick_is_missed_where_they_are_skipped() -> None:
    now = NOON + MINUTE + MISFIRE_GRACE
    assert judge(EVERY_MINUTE, Misfire.SKIP, NOON, now).fires == (NOON + MINUTE,)
    late = judge(EVERY_MINUTE, Misfire.SKIP, NOON, now + 1)
    assert late == JudgedTicks((), SkippedTicks(SkipReason.MISSED, 1, NOON + MINUTE), NOON + MINUTE, NOON + 2 * MINUTE)


@pytest.mark.parametrize("misfire", Misfire)
def test_ticks_that_follow_closely_are_all_on_time_for_a_loop_that_is_a_little_late(misfire: Misfire) -> None:
    judged = judge(EVERY_SECOND, misfire, NOON, NOON + 3_000)
    assert judged == JudgedTicks((NOON + 1_000, NOON + 2_000, NOON + 3_000), None, NOON + 3_000, NOON + 4_000)


def test_of_many_the_newest_fires() -> None:
    judged = judge(EVERY_MINUTE, Misfire.LATEST, NOON, NOON + 5 * MINUTE)
    assert judged.fires == (NOON + 5 * MINUTE,)
    assert judged.skipped == SkippedTicks(SkipReason.MISSED, 4, NOON + 4 * MINUTE)


def test_after_an_absence_the_newest_fires_alone_though_others_were_nearly_on_time() -> None:
    judged = judge(EVERY_SECOND, Misfire.LATEST, NOON, NOON + 60_000)
    assert judged.fires == (NOON + 60_000,)
    assert judged.skipped == SkippedTicks(SkipReason.MISSED, 59, NOON + 59_000)


def test_every_tick_of_three_days_is_counted() -> None:
    judged = judge(EVERY_MINUTE, Misfire.LATEST, NOON, NOON + 4_319 * MINUTE)
    assert judged.skipped == SkippedTicks(SkipReason.MISSED, 4_318, NOON + 4_318 * MINUTE)


def test_all_are_made_up_for_up_to_a_bound() -> None:
    some = judge(EVERY_MINUTE, Misfire.ALL, NOON, NOON + 3 * MINUTE)
    assert (some.fires, some.skipped) == ((NOON + MINUTE, NOON + 2 * MINUTE, NOON + 3 * MINUTE), None)
    many = judge(EVERY_MINUTE, Misfire.ALL, NOON, NOON + (MOST_AT_ONCE + 7) * MINUTE)
    assert many.fires == tuple(NOON + n * MINUTE for n in range(8, MOST_AT_ONCE + 8))
    assert many.skipped == SkippedTicks(SkipReason.TOO_MANY, 7, NOON + 7 * MINUTE)


@pytest.mark.parametrize("misfire", Misfire)
def test_a_year_of_seconds_is_not_walked_through(misfire: Misfire) -> None:
    now = NOON + 365 * 86_400_000
    judged = judge(EVERY_SECOND, misfire, NOON, now)
    assert judged.skipped is not None
    assert judged.skipped.ticks + len(judged.fires) == 365 * 86_400
    assert (judged.settled_until, judged.next) == (now, now + 1_000)


def test_a_clock_that_was_set_back_fires_nothing_twice() -> None:
    assert judge(EVERY_MINUTE, Misfire.ALL, NOON, NOON - 3 * MINUTE) == JudgedTicks((), None, NOON, NOON + MINUTE)


def test_only_a_wrong_clock_brings_a_schedule_more_than_a_day_ahead() -> None:
    assert not is_far_ahead(NOON + FAR_AHEAD, NOON)
    assert is_far_ahead(NOON + FAR_AHEAD + 1, NOON)


@given(st.uuids().map(str), st.integers(0, 2**42), st.integers(0, 86_400_000))
def test_jitter_stays_within_its_bounds_and_is_the_same_everywhere(schedule: str, tick: int, most: int) -> None:
    assert 0 <= jitter(schedule, tick, most) <= most
    assert jitter(schedule, tick, most) == jitter(schedule, tick, most)


def test_jitter_spreads_ticks_and_schedules() -> None:
    assert len({jitter(name, tick, 86_400_000) for name in "abcdefgh" for tick in range(8)}) > 60
    assert jitter("s1", NOON, 1_000) == 826  # on every machine
