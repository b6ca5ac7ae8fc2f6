"""The transaction that a script sees on a PostgreSQL connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec
import psycopg

from holdfast.store.engine import SHAPES, Changes, Ids
from holdfast.store.statements import Dialect, Statement
from holdfast.store.tally import Tally

T = TypeVar("T")

ALL_ROWS = "%(rows)s"
LARGEST_DOCUMENT = 32 << 20  # PostgreSQL refuses a JSON document of 256 MiB


class PostgresTx:
    """A transaction on one connection. It ends with the call of the script.

    A statement that takes `:rows` gets the parameters of all its rows as one JSON document: one round trip, and one
    call of the triggers, for many. `:count` is how many there are.
    """

    dialect = Dialect.POSTGRES

    def __init__(self, connection: psycopg.Connection[Any], ids: Ids, here: Callable[[], str]) -> None:
        self.changes = Changes()
        self.tally = Tally()
        self.new_id = ids
        self.here = here
        self._cursor = connection.cursor()

    def run(self, statement: Statement, /, **params: object) -> int:
        return self._cursor.execute(statement.postgres, params).rowcount

    def run_many(self, statement: Statement, rows: Iterable[Mapping[str, object]], /) -> None:
        if ALL_ROWS in statement.postgres:
            for document in _documents(rows):
                self._cursor.execute(statement.postgres, document)
        else:
            self._cursor.executemany(statement.postgres, list(rows))

    def rows_many(self, statement: Statement, rows: Iterable[Mapping[str, object]], /) -> list[tuple[Any, ...]]:
        if ALL_ROWS in statement.postgres:
            return [
                row
                for document in _documents(rows)
                for row in self._cursor.execute(statement.postgres, document).fetchall()
            ]
        self._cursor.executemany(statement.postgres, list(rows), returning=True)
        return [row for results in self._cursor.results() for row in results.fetchall()]

    def all(self, statement: Statement, into: Callable[..., T], /, **params: object) -> list[T]:
        rows = self._cursor.execute(statement.postgres, params).fetchall()
        # psycopg makes an object for each column that it describes, so it is asked once for each statement.
        columns = () if not rows or SHAPES.knows(statement, into) else self._columns()
        return SHAPES.build(statement, into, columns, rows)

    def one(self, statement: Statement, into: Callable[..., T], /, **params: object) -> T | None:
        found = self.all(statement, into, **params)
        return found[0] if found else None

    def value(self, statement: Statement, /, **params: object) -> Any:
        row = self._cursor.execute(statement.postgres, params).fetchone()
        return None if row is None else row[0]

    def rows(self, statement: Statement, /, **params: object) -> list[dict[str, Any]]:
        cursor = self._cursor.execute(statement.postgres, params)
        columns = self._columns()
        return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]

    def _columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self._cursor.description or ())


def _documents(rows: Iterable[Mapping[str, object]]) -> Iterator[dict[str, str | int]]:
    """The rows as JSON, in as few documents as the server takes. What is missing there is NULL."""
    batch: list[bytes] = []
    size = 0
    for row in rows:
        encoded = msgspec.json.encode({name: value for name, value in row.items() if value is not None})
        if batch and size + len(encoded) > LARGEST_DOCUMENT:
            yield {"rows": (b"[" + b",".join(batch) + b"]").decode(), "count": len(batch)}
            batch, size = [], 0
        batch.append(encoded)
        size += len(encoded)
    if batch:
        yield {"rows": (b"[" + b",".join(batch) + b"]").decode(), "count": len(batch)}
