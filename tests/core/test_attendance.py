"""For how much of a time somebody was there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.machine.attendance import attended, merged

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)).map(lambda pair: (min(pair), max(pair))), max_size=6)


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(0, 10, 0), (0, 12, 2), (12, 13, 1), (15, 35, 10), (0, 99, 20), (25, 30, 0), (40, 99, 0)],
)
def test_only_what_lies_within_counts(since: int, until: int, expected: int) -> None:
    assert attended([(10, 20), (30, 40)], since, until) == expected


@given(SPANS, st.integers(0, 30), st.integers(0, 30))
def test_no_moment_counts_twice(spans: list[tuple[int, int]], since: int, until: int) -> None:
    moments = [moment for moment in range(since, until) if any(begin <= moment < end for begin, end in spans)]
    assert attended(merged(spans), since, until) == len(moments)
