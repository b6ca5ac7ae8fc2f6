"""The store against the model, over random histories."""

from __future__ import annotations

import pytest

from tests.model.places import PostgresPlace, SqlitePlace
from tests.model.profiles import PARTS, QUICK, try_histories, try_part


def test_the_sqlite_store_does_what_the_model_says() -> None:
    try_histories(SqlitePlace, QUICK, 40)


def test_the_postgres_store_does_what_the_model_says(postgres_url: str, model_schema: str) -> None:
    try_histories(lambda: PostgresPlace(postgres_url, model_schema), QUICK, 4)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_the_sqlite_store_does_what_the_model_says_for_long(part: int, seed: int) -> None:
    try_part(SqlitePlace, seed + part, 5_000)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_the_postgres_store_does_what_the_model_says_for_long(
    part: int, seed: int, postgres_url: str, model_schema: str
) -> None:
    try_part(lambda: PostgresPlace(postgres_url, model_schema), seed + part, 1_000)
