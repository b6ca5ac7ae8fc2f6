"""Stores for simulated worlds, and the seed of all chance in them, which is shown when a test fails."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.model.conftest import model_schema as model_schema
from tests.model.places import PostgresPlace, SqlitePlace
from tests.simulation.world import Place
from tests.strides import SEED, chosen_seed


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The one that is to be repeated; otherwise another one each time where there is time to look, and 1 elsewhere."""
    is_long = request.node.get_closest_marker("long") is not None
    chosen = chosen_seed() if is_long else int(os.environ.get(SEED, 1))
    print(f"repeat with {SEED}={chosen}")
    return chosen


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """An empty store."""
    made: Place
    if request.param == "sqlite":
        made = SqlitePlace()
    else:
        made = PostgresPlace(request.getfixturevalue("postgres_url"), request.getfixturevalue("model_schema"))
    yield made
    made.leave([])
