"""Positions and the order they make."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.job import Queued
from holdfast.core.jobs.order import GAP, between, next_position, rank, renumber
from holdfast.core.jobs.stored_job import Job

places = st.integers(-(2**62), 2**62)
few = st.integers(-2, 2)


@given(places, places)
def test_between_two_places_lies_between_or_there_is_no_room(one: int, other: int) -> None:
    low, high = sorted((one, other))
    middle = between(low, high)
    if high - low < 2:
        assert middle is None
    else:
        assert middle is not None
        assert low < middle < high


@given(places)
def test_at_either_end_there_is_always_room(place: int) -> None:
    before, after = between(None, place), between(place, None)
    assert before is not None
    assert after is not None
    assert before < place < after


def test_alone_it_takes_the_first_place() -> None:
    assert between(None, None) == next_position(None) == GAP


@given(places)
def test_the_next_place_lies_behind_the_last(highest: int) -> None:
    assert next_position(highest) == highest + GAP


@given(st.integers(0, 2000))
def test_renumbering_keeps_the_order_and_leaves_gaps(count: int) -> None:
    fresh = list(renumber(count))
    assert len(fresh) == count
    assert all(later - earlier == GAP for earlier, later in pairwise(fresh))
    assert all(between(earlier, later) is not None for earlier, later in pairwise(fresh))


def jobs(ids: st.SearchStrategy[str]) -> st.SearchStrategy[Job]:
    return st.builds(
        Job,
        id=ids,
        number=st.just(1),
        task=st.just("t"),
        queue=st.just("q"),
        state=st.just(Queued(0)),
        payload=st.just("{}"),
        priority=few,
        position=few,
        tenant=st.just("default"),
        created_at=few,
        policy=st.none(),
        tries=st.none(),
    )


@given(st.lists(jobs(st.text("ab", max_size=3)), unique_by=lambda job: job.id))
def test_rank_is_a_total_order(found: list[Job]) -> None:
    ranks = [rank(job) for job in found]
    assert len(set(ranks)) == len(found)
    ordered = sorted(found, key=rank)
    for earlier, later in pairwise(ordered):
        assert earlier.priority >= later.priority
        if earlier.priority == later.priority:
            assert (earlier.position, earlier.created_at, earlier.id) < (later.position, later.created_at, later.id)
