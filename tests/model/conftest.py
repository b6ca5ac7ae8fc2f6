"""Stores for random histories; each history gets a fresh one, which must be quick to make."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql


@pytest.fixture(scope="session")
def model_schema(postgres_url: str) -> Iterator[str]:
    """One schema for all histories, to be emptied."""
    name = f"t_{uuid4().hex}"
    yield name
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))
