"""The store against the model, over random histories. A failure prints its steps and the blob that repeats it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import StoreMachine
from tests.model.places import PostgresPlace, SqlitePlace

QUICK = settings(
    max_examples=60,
    stateful_step_count=50,
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


def test_the_sqlite_store_does_what_the_model_says(migrated_file: Path) -> None:
    counts: Counter[str] = Counter()
    run_state_machine_as_test(lambda: StoreMachine(SqlitePlace(migrated_file), counts), settings=QUICK)
    print(sorted(counts.items()))


def test_the_postgres_store_does_what_the_model_says(postgres_url: str, model_schema: str) -> None:
    counts: Counter[str] = Counter()
    few = settings(QUICK, max_examples=5)
    run_state_machine_as_test(lambda: StoreMachine(PostgresPlace(postgres_url, model_schema), counts), settings=few)
