"""A transaction in which the database lets everything pass: no CHECK, no unique index, no foreign key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw
import psycopg
from psycopg import sql

from holdfast.store.engine import Engine, Tx, new_uuid
from holdfast.store.postgres.connection import PostgresTx
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.sqlite.connection import SqliteTx
from holdfast.store.sqlite.engine import SqliteEngine

# The counters stay: a test that changes a state wants them to follow.
GUARDS = ("job_runs_closed_is_final", "jobs_ended_is_final", "reservations_exclude_each_other")


@contextmanager
def unguarded(engine: Engine) -> Iterator[Tx]:
    """What is written here is seen here only, and never committed."""
    if isinstance(engine, SqliteEngine):
        with _sqlite(engine.path) as tx:
            yield tx
    else:
        assert isinstance(engine, PostgresEngine)
        with _postgres(engine.url, engine.schema) as other:
            yield other


@contextmanager
def _sqlite(path: str) -> Iterator[Tx]:
    connection = apsw.Connection(path)
    connection.pragma("ignore_check_constraints", True)
    connection.execute("BEGIN IMMEDIATE")
    unique = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE%'"
    for (name,) in connection.execute(unique).fetchall():
        connection.execute(f"DROP INDEX {name}")
    for name in GUARDS:
        connection.execute(f"DROP TRIGGER {name}")
    try:
        yield SqliteTx(connection, new_uuid, lambda: "here")
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@contextmanager
def _postgres(url: str, schema: str) -> Iterator[Tx]:
    with psycopg.connect(url) as connection:
        connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(schema)))
        for (statement,) in connection.execute(DROPS, {"schema": schema, "guards": list(GUARDS)}).fetchall():
            connection.execute(statement)
        yield PostgresTx(connection, new_uuid, lambda: "here")
        connection.rollback()


DROPS = """
SELECT format('ALTER TABLE %%I DROP CONSTRAINT %%I', conrelid::regclass::name, conname)
FROM pg_constraint WHERE connamespace = %(schema)s::regnamespace AND contype IN ('c', 'f')
UNION ALL
SELECT format('DROP INDEX %%I', relname)
FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
WHERE relnamespace = %(schema)s::regnamespace AND indisunique
  AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)
UNION ALL
SELECT format('DROP TRIGGER %%I ON %%I', tgname, pg_class.relname)
FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE relnamespace = %(schema)s::regnamespace AND tgname = ANY(%(guards)s)
"""
