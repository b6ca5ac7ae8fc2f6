"""A configured connection, and the transaction that a script sees on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

import apsw

from holdfast.store.engine import SHAPES, Changes, Ids
from holdfast.store.statements import Dialect, Statement
from holdfast.store.tally import Tally

T = TypeVar("T")

WRITER_BUSY_MS = 200
READER_BUSY_MS = 5_000
PAGES_IN_MEMORY = -16_000  # negative: in KiB
# apsw keeps prepared statements in a ring, where each use takes the next place and throws out what stood there. A batch
# is one use for each of its rows. With the default of 100 places, a batch throws out all statements of the hot path.
STATEMENTS_KEPT = 512  # the most that apsw takes


def connect(path: str, *, writable: bool, durability: str, vfs: str | None = None) -> apsw.Connection:
    """Open the file with Holdfast's settings. A file that is not there is an error."""
    connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE, vfs=vfs, statementcachesize=STATEMENTS_KEPT)
    try:
        connection.set_busy_timeout(WRITER_BUSY_MS if writable else READER_BUSY_MS)
        connection.pragma("cache_size", PAGES_IN_MEMORY)
        connection.pragma("temp_store", "memory")
        # A plan that depends on the values would be made anew at every call, which costs more than the call itself.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        if writable:
            connection.pragma("foreign_keys", True)
            connection.pragma("synchronous", "FULL" if durability == "full" else "NORMAL")
            # On macOS a plain fsync leaves the data in the drive's cache.
            connection.pragma("fullfsync", durability == "full")
            connection.pragma("checkpoint_fullfsync", True)
        else:
            connection.pragma("query_only", True)
    except BaseException:
        connection.close(True)
        raise
    return connection


def identity(path: str) -> tuple[int, int] | None:
    """Which file has this name: its device and inode."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def let_go(connection: apsw.Connection) -> None:
    """Close the copy of a connection in a forked child, and leave the file to the parent."""
    with suppress(apsw.Error):
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close(True)


class SqliteTx:
    """A transaction on one connection. It ends with the call of the script."""

    dialect = Dialect.SQLITE

    def __init__(self, connection: apsw.Connection, ids: Ids, here: Callable[[], str]) -> None:
        self.changes = Changes()
        self.tally = Tally()
        self.new_id = ids
        self.here = here
        self._connection = connection
        self._cursor = connection.cursor()

    def run(self, statement: Statement, /, **params: object) -> int:
        for _ in self._cursor.execute(statement.sqlite, params):
            pass
        return self._connection.changes()

    def run_many(self, statement: Statement, rows: Iterable[Mapping[str, object]], /) -> None:
        for _ in self._cursor.executemany(statement.sqlite, rows):
            pass

    def rows_many(self, statement: Statement, rows: Iterable[Mapping[str, object]], /) -> list[tuple[Any, ...]]:
        return list(self._cursor.executemany(statement.sqlite, rows))

    def all(self, statement: Statement, into: Callable[..., T], /, **params: object) -> list[T]:
        cursor = self._cursor.execute(statement.sqlite, params)
        # Before the rows are read: a cursor at its end has no description.
        columns = () if SHAPES.knows(statement, into) else _columns(cursor)
        return SHAPES.build(statement, into, columns, cursor.fetchall())

    def one(self, statement: Statement, into: Callable[..., T], /, **params: object) -> T | None:
        found = self.all(statement, into, **params)
        return found[0] if found else None

    def value(self, statement: Statement, /, **params: object) -> Any:
        rows = self._cursor.execute(statement.sqlite, params).fetchall()
        return rows[0][0] if rows else None

    def rows(self, statement: Statement, /, **params: object) -> list[dict[str, Any]]:
        cursor = self._cursor.execute(statement.sqlite, params)
        columns = _columns(cursor)
        return [dict(zip(columns, row, strict=True)) for row in cursor]


def _columns(cursor: apsw.Cursor) -> tuple[str, ...]:
    try:
        return tuple(column[0] for column in cursor.description)
    except apsw.ExecutionCompleteError:
        return ()
