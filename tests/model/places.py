"""Where the store of one random history lives: a file of its own, or a PostgreSQL schema that is emptied."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from holdfast.store.engine import Tx
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from tests.migrated import copy_migrated
from tests.model.driver import PATIENCE_S, START, Call
from tests.model.observe import statement
from tests.store.acts import emptying

TABLES = {
    Dialect.SQLITE: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    Dialect.POSTGRES: "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()",
}


NUMBER = re.compile(r'"number":"\d+"')


class Ids:
    """Ids in a row, so that the same history meets the same ones on every engine."""

    def __init__(self) -> None:
        self.taken = 0

    def __call__(self) -> str:
        self.taken += 1
        return f"i{self.taken:05d}"


class SqlitePlace:
    """A copy of a migrated file. A crash leaves the file and its log as they are on disk at that moment."""

    def __init__(self) -> None:
        self._folder = Path(mkdtemp(prefix="holdfast-model-"))
        self._lives = 0
        self._ids = Ids()
        copy_migrated(self._path())
        self.engine = self._open()

    def crash(self) -> None:
        died = self._path()
        self._lives += 1
        for suffix in ("", "-wal"):
            if Path(f"{died}{suffix}").exists():
                shutil.copy(f"{died}{suffix}", f"{self._path()}{suffix}")
        self.engine.close()
        self.engine = self._open()

    def leave(self, history: list[Call]) -> None:
        self.engine.close()
        shutil.rmtree(self._folder)

    def _path(self) -> Path:
        return self._folder / f"life-{self._lives}.db"

    def _open(self) -> SqliteEngine:
        # A process that dies takes nothing with it that it wrote, synced or not; power loss is tested elsewhere.
        return SqliteEngine(self._path(), now=lambda: START, ids=self._ids, durability="normal")


class PostgresPlace:
    """A schema without a row in it. A crash costs the connections."""

    def __init__(self, url: str, schema: str) -> None:
        self._url = url
        self._schema = schema
        self._ids = Ids()
        self.engine = self._open()
        self.engine.submit(empty).result(PATIENCE_S)
        self._ids.taken = 0

    def crash(self) -> None:
        taken = self._ids.taken
        self.engine.close()
        self.engine = self._open()
        self._ids.taken = taken

    def leave(self, history: list[Call]) -> None:
        self.engine.close()

    def _open(self) -> PostgresEngine:
        return PostgresEngine(self._url, schema=self._schema, now=lambda: START, ids=self._ids, pool_size=1)


def empty(tx: Tx) -> None:
    """Remove every row but those that say which migrations were applied."""
    # The migrations have stored a user.
    tx.run(statement(f"TRUNCATE {', '.join(name for name in tables(tx) if name != 'users')} RESTART IDENTITY"))
    tx.run(statement(emptying("users")))


def tables(tx: Tx) -> list[str]:
    """Every table that holds rows of the user's."""
    names = [row["name"] for row in tx.rows(statement(TABLES[tx.dialect]))]
    return sorted(name for name in names if name != "schema_version")


def dump(tx: Tx) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table. Of a job's number only the order counts: PostgreSQL leaves gaps after refused calls."""
    found = {
        table: [_without_numbers(row) for row in tx.rows(statement(f"SELECT * FROM {table}"))] for table in tables(tx)
    }
    found["jobs"].sort(key=lambda row: row["number"])
    for place, row in enumerate(found["jobs"]):
        row["number"] = place
    return {table: sorted(rows, key=lambda row: repr(sorted(row.items()))) for table, rows in found.items()}


def _without_numbers(row: dict[str, Any]) -> dict[str, Any]:
    """An event knows the newest job of its moment, and tells the number of the one that it is about.

    Whether a tenant waits for a turn may be found out late: only that nobody is passed over counts.
    """
    told = {name: NUMBER.sub("", value) for name, value in row.items() if isinstance(value, str)}
    aside = {name: 0 for name in ("upto_number", "is_waiting") if name in row}
    return row | told | aside | ({"number": 0} if "fingerprint" in row else {})
