"""When a job is due, how long it may wait and when it is too late."""

from __future__ import annotations

from itertools import product

import pytest

from holdfast.core.job import StateName
from holdfast.core.rules.timing import first_state, is_overdue, run_budget

NOW = 1000
MOMENTS = (None, NOW - 1, NOW, NOW + 1)


def test_where_a_new_job_starts() -> None:
    for due, deadline, blocked in product(MOMENTS, MOMENTS, (False, True)):
        if deadline in (NOW - 1, NOW):
            expected = StateName.SKIPPED_DEADLINE
        elif blocked or due == NOW + 1:
            expected = StateName.SCHEDULED
        else:
            expected = StateName.QUEUED
        assert first_state(NOW, due, deadline, blocked=blocked) is expected, (due, deadline, blocked)


@pytest.mark.parametrize(("deadline", "overdue"), [(None, False), (NOW - 1, True), (NOW, True), (NOW + 1, False)])
def test_the_very_moment_of_the_deadline_is_too_late(deadline: int | None, overdue: bool) -> None:
    assert is_overdue(deadline, NOW) is overdue


@pytest.mark.parametrize(
    ("timeout_ms", "deadline", "budget"),
    [
        (None, None, (None, False)),
        (50, None, (50, False)),
        (None, NOW + 50, (50, True)),
        (50, NOW + 40, (40, True)),
        (50, NOW + 50, (50, True)),
        (50, NOW + 60, (50, False)),
        (50, NOW - 1, (0, True)),
    ],
)
def test_a_run_is_bounded_by_the_earlier_of_time_out_and_deadline(
    timeout_ms: int | None, deadline: int | None, budget: tuple[int | None, bool]
) -> None:
    assert run_budget(NOW, timeout_ms, deadline) == budget
