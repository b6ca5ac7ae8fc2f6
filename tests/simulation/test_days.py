"""Simulated days: everything may happen, and after each moment at which something did, all that must be true is looked
at. Whatever an earlier life found is lived through again by its seed.
"""

from __future__ import annotations

import pytest

from tests.simulation.life import Life
from tests.simulation.world import DAY, HOUR, MINUTE, Place


def live(place: Place, seed: int, length: int, *, closely: bool = False) -> Life:
    life = Life(place, seed, looks_closely=closely)
    life.live(length)
    print(f"{length / HOUR:g} hours, seed {seed}: {dict(life.world.counts)}")
    assert life.world.counts["started"]
    return life


@pytest.mark.parametrize(("place", "length"), [("sqlite", HOUR), ("postgres", 5 * MINUTE)], indirect=["place"])
def test_everything_holds_through_some_hours(place: Place, length: int, seed: int) -> None:
    live(place, seed, length)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("known", [6, 7])
def test_nobody_sleeps_through_a_run_that_held_back_what_he_could_start(place: Place, known: int) -> None:
    live(place, known, 10 * MINUTE, closely=True)


@pytest.mark.long
@pytest.mark.parametrize(("place", "length"), [("sqlite", 3 * DAY), ("postgres", 6 * HOUR)], indirect=["place"])
def test_everything_holds_through_days(place: Place, length: int, seed: int) -> None:
    life = live(place, seed, length, closely=True)
    shares = life.ledger.shares
    print(f"{shares.starts_compared} starts compared, at most {shares.widest:.2f} of what a turn may differ")
    assert shares.starts_compared
