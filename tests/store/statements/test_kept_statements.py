"""What SQLite has prepared stays prepared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.store.engine import Tx
from holdfast.store.sqlite.connection import SqliteTx
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import statements
from tests.migrated import copy_migrated
from tests.store.acts import NOW, claim_one, end, new_job, open_session, put, put_one, write
from tests.store.conftest import DURABILITY


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[SqliteEngine]:
    """An empty database with the session `s1` open."""
    engine = SqliteEngine(copy_migrated(tmp_path / "store.db"), durability=DURABILITY, now=lambda: NOW)
    open_session(engine)
    yield engine
    engine.close()


def test_a_batch_throws_out_no_statement_of_the_next_job(on_sqlite: SqliteEngine) -> None:
    live_once(on_sqlite, "first")
    put(on_sqlite, *(new_job(f"batch-{number}", queue="other") for number in range(100)))
    before = misses(on_sqlite)
    live_once(on_sqlite, "second")
    assert misses(on_sqlite) == before


def test_there_is_a_place_for_every_statement(on_sqlite: SqliteEngine) -> None:
    assert len(statements("sql").names) < cache_stats(on_sqlite)["size"]


def live_once(engine: SqliteEngine, job_id: str) -> None:
    """A job from its enqueue to its end."""
    put_one(engine, job_id)
    end(engine, claim_one(engine))


def misses(engine: SqliteEngine) -> int:
    """How often the writing connection had to prepare a statement so far."""
    return cache_stats(engine)["misses"]


def cache_stats(engine: SqliteEngine) -> dict[str, int]:
    """What the writing connection says of its prepared statements."""

    def read(tx: Tx) -> dict[str, int]:
        assert isinstance(tx, SqliteTx)
        return tx._connection.cache_stats()

    return write(engine, read)
