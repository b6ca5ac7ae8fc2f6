"""What a step of the wall clock is, which part of it is news, and which jobs were stored before it."""

from __future__ import annotations

import pytest

from holdfast.core.machine.clock_step import is_step, new_part, waits_by_old_clock

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [(0, 0, False), (0, 1_000, False), (0, -1_000, False), (0, 1_001, True), (5, -996, True), (0, 400 * HOUR, True)],
)
def test_a_step_is_more_than_a_second(before: int, after: int, expected: bool) -> None:
    assert is_step(before, after) is expected


@pytest.mark.parametrize(
    ("seen", "recorded", "expected"),
    [
        (HOUR, 0, HOUR),  # nobody else has recorded it
        (HOUR, HOUR + 3, 0),  # another process has, and saw it a little differently
        (3 * HOUR, HOUR, 2 * HOUR),  # of two steps that were seen as one, another process recorded the first
        (-HOUR, 0, -HOUR),
        (0, HOUR, -HOUR),
    ],
)
def test_only_what_nobody_recorded_is_news(seen: int, recorded: int, expected: int) -> None:
    assert new_part(seen, recorded) == expected


@pytest.mark.parametrize(
    ("since", "expected"),
    [(None, False), (98, True), (99, False), (100, False), (101, True), (100 + HOUR, True)],
)
def test_who_began_to_wait_between_the_step_and_now_waits_by_the_new_clock(since: int | None, expected: bool) -> None:
    assert waits_by_old_clock(since, stepped_at=99, now=100) is expected
