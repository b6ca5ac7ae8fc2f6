"""The schema files say what the migrations make, in both dialects, and both dialects say the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import apsw
import psycopg
import pytest
from psycopg import sql

from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.statements import Dialect
from tests.migrated import migrated_file
from tests.store.schema_files import merged, path_of, split


@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_file_is_what_the_migrations_merge_into(dialect: Dialect) -> None:
    assert path_of(dialect).read_text() == merged(dialect), "run python -m tests.store.schema_files"


def test_a_migration_without_a_comment_is_refused_rather_than_cut() -> None:
    assert split("-- Jobs have a colour.\n\nSELECT 1;\n", Dialect.SQLITE) == ["SELECT 1;"]
    with pytest.raises(ValueError, match="begins with a comment and an empty line, not with 'SELECT 1;'"):
        split("SELECT 1;\nSELECT 2;\n", Dialect.SQLITE)


def sqlite_catalogue(connection: apsw.Connection) -> dict[str, str]:
    """Every table, index and trigger, with its SQL freed of comments and white space."""
    query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'schema_version'"
    return {str(name): normalised(str(text)) for name, text in connection.execute(query)}


def normalised(text: str) -> str:
    # SQLite quotes the name of a table that was renamed.
    words = re.sub(r'--[^\n]*|"', "", text).split()
    return re.sub(r" ?([(),;]) ?", r"\1", " ".join(words))


def test_on_sqlite_the_file_makes_what_the_migrations_make() -> None:
    fresh = apsw.Connection(":memory:")
    fresh.execute(path_of(Dialect.SQLITE).read_text())
    made = sqlite_catalogue(apsw.Connection(str(migrated_file()), flags=apsw.SQLITE_OPEN_READONLY))
    assert len(made) > 30
    assert sqlite_catalogue(fresh) == made


CATALOGUE = {
    "columns": """
        SELECT table_name, row_number() OVER (PARTITION BY table_name ORDER BY ordinal_position), column_name,
          data_type, collation_name, is_nullable, column_default, is_identity
        FROM information_schema.columns WHERE table_schema = {schema} AND table_name <> 'schema_version'""",
    "constraints": """
        -- Newer servers name what makes a column NOT NULL, by the first name of the column.
        SELECT conrelid::regclass::text, CASE contype WHEN 'n' THEN '' ELSE conname END, pg_get_constraintdef(oid)
        FROM pg_constraint
        WHERE connamespace = {schema}::regnamespace AND conrelid::regclass::text NOT LIKE '%schema_version'""",
    "indexes": """
        SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE relnamespace = {schema}::regnamespace AND relname NOT LIKE 'schema_version%'""",
    "triggers": """
        SELECT pg_get_triggerdef(pg_trigger.oid) FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
        WHERE relnamespace = {schema}::regnamespace AND NOT tgisinternal""",
    "functions": "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = {schema}::regnamespace",
}


@pytest.fixture
def schema_from_file(postgres_url: str) -> Iterator[str]:
    """A schema that was made from the file."""
    name = f"t_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {0}; SET search_path TO {0}").format(sql.Identifier(name)))
        connection.execute(path_of(Dialect.POSTGRES).read_bytes())
        yield name
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def postgres_catalogue(url: str, schema: str) -> dict[str, list[str]]:
    """Everything in a schema, without the schema's own name."""
    with psycopg.connect(url) as connection:
        found: dict[str, list[Any]] = {
            kind: connection.execute(sql.SQL(query).format(schema=sql.Literal(schema))).fetchall()
            for kind, query in CATALOGUE.items()
        }
    return {kind: sorted(str(row).replace(schema, "SCHEMA") for row in rows) for kind, rows in found.items()}


def test_on_postgres_the_file_makes_what_the_migrations_make(
    postgres_url: str, shared_postgres: PostgresEngine, schema_from_file: str
) -> None:
    shared_postgres.query(lambda tx: None)
    made = postgres_catalogue(postgres_url, shared_postgres.schema)
    assert all(made.values())
    found = postgres_catalogue(postgres_url, schema_from_file)
    for kind, rows in made.items():
        assert found[kind] == rows


def columns(dialect: Dialect) -> dict[str, list[str]]:
    """The names of the columns of every table, in their order."""
    text = re.sub(r"--[^\n]*", "", path_of(dialect).read_text())
    tables = re.findall(r"^CREATE (?:UNLOGGED )?TABLE (\w+) \((.*?)^\)", text, re.DOTALL | re.MULTILINE)
    return {name: re.findall(r"^  ([a-z_]+) ", body, re.MULTILINE) for name, body in tables}


def test_both_dialects_have_the_same_columns_in_the_same_order() -> None:
    # Rows are read by place, and the places of `SELECT *` are worked out once for both.
    assert columns(Dialect.SQLITE) == columns(Dialect.POSTGRES)
    assert len(columns(Dialect.SQLITE)["jobs"]) > 50


def names(dialect: Dialect, kind: str) -> set[str]:
    return set(re.findall(rf"^CREATE (?:UNIQUE |UNLOGGED )?{kind} (\w+)", path_of(dialect).read_text(), re.MULTILINE))


@pytest.mark.parametrize("kind", ["TABLE", "INDEX", "TRIGGER"])
def test_both_dialects_have_the_same_tables_indexes_and_triggers(kind: str) -> None:
    assert names(Dialect.SQLITE, kind) == names(Dialect.POSTGRES, kind) != set()
