"""The database that a test of the embedded surface works on: SQLite, and PostgreSQL where `acts.both_engines` asks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from holdfast import Holdfast
from holdfast.store.statements import Dialect
from tests.migrated import copy_migrated


class Database(NamedTuple):
    """What `Holdfast` is given."""

    path_or_url: str
    schema: str = "holdfast"


@pytest.fixture(scope="session")
def migrated_schema(postgres_url: str) -> Iterator[Database]:
    """One schema for the whole run, emptied before each test."""
    database = Database(postgres_url, f"t_{uuid4().hex}")
    hf = Holdfast(postgres_url, schema=database.schema)
    hf.counts()
    hf.close()
    yield database
    remove_files(database)


@pytest.fixture(scope="session")
def in_the_background() -> Iterator[ThreadPoolExecutor]:
    """For closing: a listener on PostgreSQL takes its time to hang up, and no test needs to wait for that."""
    with ThreadPoolExecutor(4, "closing") as threads:
        yield threads


@pytest.fixture(params=[Dialect.SQLITE, pytest.param(Dialect.POSTGRES, marks=pytest.mark.long)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """An empty database. What the engine cannot matter much to is tried on PostgreSQL by the long tests."""
    if request.param is Dialect.SQLITE:
        return Database(str(copy_migrated(tmp_path / "work.db")))
    migrated: Database = request.getfixturevalue("migrated_schema")
    empty(migrated)
    return migrated


@pytest.fixture
def make_holdfast(
    database: Database, in_the_background: ThreadPoolExecutor, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Holdfast]]:
    """Makes any number of Holdfast objects on the same database. Afterwards every invariant must hold."""
    made: list[Holdfast] = []

    def make(**settings: object) -> Holdfast:
        made.append(Holdfast(database.path_or_url, schema=database.schema, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for hf in made:
        hf.stop(short=0, grace=30)
    found = made[0].doctor() if made else []
    for hf in made:
        in_the_background.submit(hf.close)
    assert found == []


@pytest.fixture
def hf(make_holdfast: Callable[..., Holdfast]) -> Holdfast:
    """A Holdfast that does not run yet."""
    return make_holdfast()


def remove_files(database: Database) -> None:
    """Whatever is where logs and artifacts are kept."""
    files = Holdfast(database.path_or_url, schema=database.schema)._access.engine.files
    if files.is_file():
        files.unlink()
    shutil.rmtree(files, ignore_errors=True)


def empty(database: Database) -> None:
    """Quicker than TRUNCATE; without triggers and foreign keys the order of the tables does not matter."""
    remove_files(database)
    with psycopg.connect(database.path_or_url) as connection:
        connection.execute("SET LOCAL session_replication_role = replica")
        tables = connection.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'schema_version'", [database.schema]
        )
        names = [sql.Identifier(database.schema, name) for (name,) in tables]
        deletes = [sql.SQL("DELETE FROM {}").format(name) for name in names]
        connection.execute(sql.SQL(";").join(deletes))
