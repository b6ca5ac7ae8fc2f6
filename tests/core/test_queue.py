"""Who makes room in a full queue."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.gates.queue import WaitingJob, make_room

PRIORITIES = st.lists(st.integers(-3, 3), max_size=8)


def waiting(priorities: list[int]) -> list[WaitingJob]:
    return [WaitingJob(f"j{number}", priority, number) for number, priority in enumerate(priorities)]


def test_the_lowest_priority_goes_first_and_of_equals_the_newest() -> None:
    found = make_room([5, 5], waiting([1, 0, 0, 2]), 2)
    assert found is not None
    assert [job.id for job in found] == ["j2", "j1"]


def test_nobody_goes_for_an_equal() -> None:
    assert make_room([1], waiting([1, 2]), 1) is None


def test_a_batch_fits_as_a_whole_or_not_at_all() -> None:
    assert make_room([5, 1], waiting([0, 1]), 2) is not None
    assert make_room([5, 1], waiting([1, 1]), 2) is None


@given(PRIORITIES, PRIORITIES, st.integers(0, 8))
def test_each_who_goes_is_matched_by_a_newcomer_of_higher_priority(new: list[int], old: list[int], needed: int) -> None:
    found = make_room(new, waiting(old), needed)
    if found is None:
        return
    assert len(found) == needed
    gone = sorted(job.priority for job in found)
    assert all(low < high for low, high in zip(gone, sorted(new)[len(new) - needed :], strict=True))
    stay = [job.priority for job in waiting(old) if job not in found]
    assert not gone or not stay or max(gone) <= min(stay)
