"""Turns between tenants: by weight, without banking, and nobody waits longer than his turn."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.gates.fairness import (
    ACTIVE_WEIGHT,
    BACKGROUND_WEIGHT,
    FADING_MS,
    RECENT_MS,
    RECENT_WEIGHT,
    FairLine,
    WaitingTenant,
    take_turns,
    weight_now,
)

WEIGHTS = st.integers(1, 1_000)
TENANTS = st.dictionaries(st.sampled_from("abcdefgh"), WEIGHTS, min_size=1, max_size=8).map(
    lambda weights: [WaitingTenant(name, 0.0, float(weight)) for name, weight in sorted(weights.items())]
)


def play(tenants: list[WaitingTenant], turns: int, clock: float = 0.0, step: int = 7) -> list[str]:
    """Many small dispatches, each from what the one before has stored."""
    order: list[str] = []
    while len(order) < turns:
        line = take_turns(tenants, clock, min(step, turns - len(order)))
        order += line.order
        taken = line.after(step)
        clock = taken.clock
        tenants = [
            WaitingTenant(tenant.name, taken.virtual_times.get(tenant.name, tenant.virtual_time), tenant.weight)
            for tenant in tenants
        ]
    return order


def test_shares_are_as_the_weights_over_any_thousand_starts() -> None:
    order = play([WaitingTenant("much", 0.0, 100.0), WaitingTenant("little", 0.0, 10.0)], 5_000)
    for start in range(0, 4_000, 37):
        counts = Counter(order[start : start + 1_000])
        assert abs(counts["much"] / counts["little"] - 10) <= 0.5


@given(TENANTS, st.integers(1, 200), st.integers(1, 20))
def test_many_small_dispatches_are_one_big_one(tenants: list[WaitingTenant], turns: int, step: int) -> None:
    assert play(tenants, turns, step=step) == take_turns(tenants, 0.0, turns).order


@given(TENANTS, st.integers(0, 50), st.integers(0, 50))
def test_the_first_of_many_turns_are_what_fewer_turns_would_be(
    tenants: list[WaitingTenant], turns: int, more: int
) -> None:
    many, few = take_turns(tenants, 1.0, turns + more), take_turns(tenants, 1.0, turns)
    assert many.order[:turns] == few.order
    assert many.after(turns) == few.after(turns)


@given(TENANTS, st.integers(0, 20), st.integers(0, 50))
def test_a_job_that_starts_early_costs_its_tenant_a_turn(tenants: list[WaitingTenant], early: int, turns: int) -> None:
    first, clock = tenants[0], 1.0
    line = FairLine(clock)
    for _ in range(early):
        line.take_early(first)
    assert line.after(early).clock == clock
    paid = line.after(early).virtual_times.get(first.name, first.virtual_time)
    for tenant in tenants:
        line.join(tenant)
    for _ in range(turns):
        line.take()
    later = take_turns([WaitingTenant(first.name, paid, first.weight), *tenants[1:]], clock, turns)
    assert line.order == [first.name] * early + later.order
    assert line.after(early + turns).clock == later.after(turns).clock


@given(TENANTS, st.integers(1, 300))
def test_nobody_is_ahead_of_anybody_by_more_than_one_turn(tenants: list[WaitingTenant], turns: int) -> None:
    counts = Counter(take_turns(tenants, 0.0, turns).order)
    for one in tenants:
        for other in tenants:
            assert (counts[one.name] - 1) / one.weight <= (counts[other.name] + 1e-6) / other.weight + 1e-9


@given(TENANTS, st.integers(0, 500))
def test_a_newcomer_banks_nothing_and_waits_no_longer_than_its_turn(tenants: list[WaitingTenant], before: int) -> None:
    past = take_turns(tenants, 0.0, before).after(before)
    others = [WaitingTenant(t.name, past.virtual_times.get(t.name, 0.0), t.weight) for t in tenants]
    order = take_turns([*others, WaitingTenant("new", 0.0, 10.0)], past.clock, 200).order
    heaviest = max(tenant.weight for tenant in tenants)
    turns_of_all = sum(tenant.weight for tenant in tenants) / 10 + len(tenants) + 1
    assert "new" in order[: int(turns_of_all) + 1] or turns_of_all > 200
    few = order[: max(1, int(heaviest / 10))]
    assert few.count("new") <= max(1, len(few))


@given(TENANTS, st.integers(0, 100), st.data())
def test_who_has_few_jobs_lends_his_turns(tenants: list[WaitingTenant], turns: int, data: st.DataObject) -> None:
    most = {tenant.name: data.draw(st.integers(0, 5)) for tenant in tenants}
    counts = Counter(take_turns(tenants, 0.0, turns, most).order)
    assert sum(counts.values()) == min(turns, sum(most.values()))
    assert all(counts[name] <= count for name, count in most.items())


def test_a_weight_is_raised_by_activity_and_sinks_back() -> None:
    active = weight_now(BACKGROUND_WEIGHT, 1_000, 1_000)
    fading = weight_now(BACKGROUND_WEIGHT, 1_000, 1_000 + FADING_MS // 2)
    recent = weight_now(BACKGROUND_WEIGHT, 1_000, 1_000 + FADING_MS)
    gone = weight_now(BACKGROUND_WEIGHT, 1_000, 1_000 + RECENT_MS)
    assert (active, gone) == (ACTIVE_WEIGHT, BACKGROUND_WEIGHT)
    assert gone < recent < RECENT_WEIGHT < fading < active
    assert weight_now(500, 1_000, 0) == 500


@given(st.integers(1, 1_000), st.lists(st.integers(-RECENT_MS, 2 * RECENT_MS), min_size=2, max_size=9))
def test_a_weight_never_grows_by_itself_and_never_sinks_below_what_was_set(weight: int, moments: list[int]) -> None:
    weights = [weight_now(weight, 0, now) for now in sorted(moments)]
    assert weights == sorted(weights, reverse=True)
    assert all(weight <= one <= max(weight, ACTIVE_WEIGHT) for one in weights)
