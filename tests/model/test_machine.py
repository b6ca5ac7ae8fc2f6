"""The store against the model, over random histories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.model.places import PostgresPlace, SqlitePlace
from tests.model.profiles import LONG, QUICK, told, try_histories


def test_the_sqlite_store_does_what_the_model_says(migrated_file: Path) -> None:
    try_histories(lambda: SqlitePlace(migrated_file), QUICK, 100)


def test_the_postgres_store_does_what_the_model_says(postgres_url: str, model_schema: str) -> None:
    try_histories(lambda: PostgresPlace(postgres_url, model_schema), QUICK, 12)


@pytest.mark.long
def test_the_sqlite_store_does_what_the_model_says_for_long(migrated_file: Path) -> None:
    print(told(try_histories(lambda: SqlitePlace(migrated_file), LONG, 5_000)))


@pytest.mark.long
def test_the_postgres_store_does_what_the_model_says_for_long(postgres_url: str, model_schema: str) -> None:
    print(told(try_histories(lambda: PostgresPlace(postgres_url, model_schema), LONG, 1_000)))
