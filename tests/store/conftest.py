"""The engine that a test of the store runs on: the same test, once on SQLite and once on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from holdfast.store.engine import Engine
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.doctor import examine
from holdfast.store.scripts.queues import list_queues
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from tests.store.acts import NOW, TABLES, execute, open_session
from tests.store.token_acts import worker

# What the disk has when the power fails is tested elsewhere; here nobody should wait for it.
DURABILITY = "normal"


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the newest schema; tests take copies, which is quicker than migrating."""
    path = tmp_path_factory.mktemp("sqlite") / "migrated.db"
    engine = SqliteEngine(path, now=lambda: NOW)
    engine.query(list_queues)
    engine.close()
    return path


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
        path = tmp_path / "store.db"
        shutil.copy(request.getfixturevalue("migrated_file"), path)
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
    deletes = "".join(f"DELETE FROM {table};" for table in TABLES)
    execute(engine, f"DO $$ BEGIN {deletes} END $$")
    return engine


@pytest.fixture
def here(engine: Engine) -> str:
    """A worker on a machine with 4 cpu, 1 gpu and 2 io."""
    return worker(engine, "here")
