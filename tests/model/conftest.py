"""Stores for random histories; each history gets a fresh one, which must be quick to make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from holdfast.store.scripts.queues import list_queues
from holdfast.store.sqlite.engine import SqliteEngine
from tests.model.driver import START


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the newest schema, to be copied."""
    path = tmp_path_factory.mktemp("model") / "migrated.db"
    engine = SqliteEngine(path, now=lambda: START)
    engine.query(list_queues)
    engine.close()
    return path


@pytest.fixture(scope="session")
def model_schema(postgres_url: str) -> Iterator[str]:
    """One schema for all histories, to be emptied."""
    name = f"t_{uuid4().hex}"
    yield name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))
