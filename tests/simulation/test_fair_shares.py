"""What each tenant gets of a queue, by the numbers that were promised, on the real store."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from math import ceil
from random import Random

import pytest

from holdfast.store.engine import Engine
from holdfast.store.scripts.queues.tenants import set_weight
from holdfast.store.scripts.runs.finish import finish
from tests.simulation.world import Place
from tests.store.acts import NOW, claim_some, new_job, open_session, put, report, write

STARTS = 2_400
WINDOW = 1_000
FLOOD = 100_000
AT_ONCE = 1_000


class Crowd:
    """A queue that tenants want more of than there is, and two workers that take a few jobs at a time."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine = engine
        self.random = Random(seed)
        self.starts: list[str] = []
        self.made = 0
        for session in ("s1", "s2"):
            open_session(engine, session)

    def want(self, tenant: str, jobs: int, weight: int | None = None) -> None:
        """Somebody enqueues so many."""
        if weight is not None:
            write(self.engine, set_weight, tenant, weight)
        numbers = range(self.made, self.made + jobs)
        for part in batched(numbers, AT_ONCE):
            put(self.engine, *[new_job(f"{tenant}-{number}", tenant=tenant) for number in part])
        self.made += jobs

    def claim(self, slots: int) -> list[str]:
        """A worker asks: whose jobs it gets. They end at once."""
        runs = claim_some(self.engine, slots, session=self.random.choice(("s1", "s2")))
        write(self.engine, finish, [report(run) for run in runs], NOW)
        tenants = [run.job_id.rpartition("-")[0] for run in runs]
        self.starts += tenants
        return tenants

    def go_on(self, starts: int) -> None:
        """So many jobs start, a few at a time."""
        until = len(self.starts) + starts
        while len(self.starts) < until:
            slots = min(self.random.randint(1, 60), until - len(self.starts))
            assert len(self.claim(slots)) == slots, "somebody waits, and a slot stays empty"


def batched(numbers: range, size: int) -> list[range]:
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


@pytest.fixture
def crowd(place: Place, seed: int) -> Crowd:
    """Nobody wants anything yet."""
    return Crowd(place.engine, seed)


def test_weights_of_100_and_10_share_any_thousand_starts_ten_to_one(crowd: Crowd) -> None:
    crowd.want("much", STARTS, 100)
    crowd.want("little", STARTS // 5, 10)
    crowd.go_on(STARTS)
    much = [0, *accumulate(name == "much" for name in crowd.starts)]
    ratios = [
        count / (WINDOW - count)
        for first in range(STARTS - WINDOW + 1)
        if (count := much[first + WINDOW] - much[first])
    ]
    assert len(ratios) == STARTS - WINDOW + 1
    assert 9.5 <= min(ratios) <= max(ratios) <= 10.5


def test_a_newcomer_waits_at_most_for_its_fair_turn(crowd: Crowd) -> None:
    weights = {f"t{number}": crowd.random.choice((1, 10, 30, 100)) for number in range(5)}
    for name, weight in weights.items():
        crowd.want(name, 500, weight)
    crowd.go_on(crowd.random.randint(0, 300))
    weight = crowd.random.choice((1, 10, 100))
    crowd.want("new", 5, weight)
    before = len(crowd.starts)
    assert crowd.claim(1) == ["new"], "whoever had a turn before waits behind it"
    for turn in range(1, 3):
        while crowd.starts[before:].count("new") <= turn and len(crowd.starts) < 2_000:
            crowd.go_on(1)
        others = len(crowd.starts) - before - turn - 1
        most = ceil(turn * sum(weights.values()) / weight) + len(weights)
        assert others <= most or len(crowd.starts) >= 2_000


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_flood_of_100_000_delays_another_tenants_job_by_one_dispatch(crowd: Crowd) -> None:
    be_flooded(crowd)


@pytest.mark.long
@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_flood_of_100_000_delays_nobody_on_postgres(crowd: Crowd) -> None:
    be_flooded(crowd)


def be_flooded(crowd: Crowd) -> None:
    crowd.want("flood", FLOOD, 100)
    crowd.go_on(50)
    crowd.want("one", 1, 1)
    assert crowd.claim(1) == ["one"]


def test_a_share_that_nobody_uses_is_lent_and_given_back_at_once(crowd: Crowd) -> None:
    crowd.want("absent", 1, 100)
    crowd.want("here", 1_200, 10)
    crowd.go_on(400)
    assert Counter(crowd.starts) == {"absent": 1, "here": 399}
    crowd.want("absent", 600)
    crowd.go_on(220)
    assert Counter(crowd.starts[400:])["absent"] == pytest.approx(200, abs=2)
