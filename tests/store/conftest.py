"""The engine that a test of the store runs on: the same test, once on SQLite and once on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from holdfast.store.engine import Engine
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.maintenance.doctor import examine
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from tests.migrated import copy_migrated
from tests.store.acts import NOW, TABLES, emptying, execute, open_session
from tests.store.token_acts import worker

# What the disk has when the power fails is tested elsewhere; here nobody should wait for it.
DURABILITY = "normal"


@pytest.fixture(scope="session")
def shared_postgres(postgres_url: str) -> Iterator[PostgresEngine]:
    """One schema for the whole run; `engine` empties it before each test, which is quicker than migrating."""
    engine = PostgresEngine(postgres_url, schema=f"t_{uuid4().hex}", durability=DURABILITY, now=lambda: NOW)
    yield engine
    engine.close()


@pytest.fixture(params=list(Dialect))
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty database with the session `s1` open. Afterwards every invariant must hold."""
    if request.param is Dialect.SQLITE:
        path = copy_migrated(tmp_path / "store.db")
        made: Engine = SqliteEngine(path, durability=DURABILITY, now=lambda: NOW)
    else:
        made = emptied(request.getfixturevalue("shared_postgres"))
    open_session(made)
    yield made
    found = [] if request.node.get_closest_marker("broken_on_purpose") else examine(made)
    if request.param is Dialect.SQLITE:
        made.close()
    assert found == []


def emptied(engine: PostgresEngine) -> PostgresEngine:
    """The same engine without a row in it."""
    deletes = "".join(f"{emptying(table)};" for table in TABLES)
    execute(engine, f"DO $$ BEGIN {deletes} END $$")
    return engine


@pytest.fixture
def here(engine: Engine) -> str:
    """A worker on a machine with 4 cpu, 1 gpu and 2 io."""
    return worker(engine, "here")
