"""Connections to one schema of a PostgreSQL database: how they are made, and how a transaction begins on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias
from weakref import WeakSet

import psycopg
from psycopg import errors as pg
from psycopg import sql as compose
from psycopg_pool import ConnectionPool

PgConnection: TypeAlias = psycopg.Connection[Any]
PgPool: TypeAlias = ConnectionPool[PgConnection]

CONNECT_S = 10.0
RECONNECT_S = 5.0  # A server that is back is found soon, well within a lease.
SILENCE_S = 10.0
# A network that drops everything is noticed within a lease too.
KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
}
_BEGIN_READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class Connector:
    """Makes connections to one schema, and remembers them for a fork."""

    def __init__(self, url: str, schema: str, durability: str) -> None:
        self._url = url
        self._schema = schema
        self._durability = durability
        self._made: WeakSet[PgConnection] = WeakSet()

    def connect(self) -> PgConnection:
        """A connection outside of the pool. Each statement is a transaction."""
        connection = psycopg.connect(self._url, autocommit=True, connect_timeout=int(CONNECT_S), **KEEPALIVE)
        self._configure(connection)
        return connection

    def make_pool(self, size: int) -> PgPool:
        """A pool of at most so many connections."""
        return ConnectionPool(
            self._url,
            min_size=1,
            max_size=size,
            timeout=CONNECT_S,
            reconnect_timeout=RECONNECT_S,
            kwargs={"autocommit": True, **KEEPALIVE},
            configure=self._configure,
            open=True,
        )

    def close_copies(self) -> None:
        """In a forked child: close the copies of the sockets, and nothing else.

        As long as a copy is open, the server takes a dead parent for alive.
        """
        for connection in list(self._made):
            with suppress(psycopg.Error, OSError):
                os.close(connection.fileno())

    def _configure(self, connection: PgConnection) -> None:
        self._made.add(connection)
        path = compose.Identifier(self._schema)
        connection.execute(compose.SQL("SET search_path TO {}").format(path))
        connection.execute(f"SET synchronous_commit TO {'on' if self._durability == 'full' else 'off'}")
        # Each statement sees what was committed before the lock was granted, whatever the default of the server.
        connection.execute("SET default_transaction_isolation TO 'read committed'")
        # A machine that falls silent in a transaction, frozen or cut off, must not keep the lock from all others.
        connection.execute(f"SET idle_in_transaction_session_timeout TO {round(SILENCE_S * 1000)}")
        # Plans are kept: one that was made while a table was empty would read all of it when it has grown.
        connection.execute("SET enable_seqscan TO off")
        # Older servers give a plan that is turned off such a high price that they would compile it.
        connection.execute("SET jit TO off")


@contextmanager
def begun(pool: PgPool, begin: Callable[[PgConnection], None]) -> Iterator[PgConnection]:
    """A connection of the pool in a transaction that `begin` has opened.

    The pool may still hold connections from before the server was restarted. As long as nothing was done on one, it is
    safe to take another.
    """
    for left in reversed(range(pool.max_size + 1)):
        with pool.connection() as connection:
            try:
                begin(connection)
            except psycopg.OperationalError:
                if not (left and connection.broken):
                    raise
                continue
            try:
                yield connection
            except pg.ReadOnlySqlTransaction:
                # Another server may take the writes by now.
                connection.close()
                raise
            return


def begin_read(connection: PgConnection) -> None:
    """Begin a transaction that only reads."""
    send(connection, _BEGIN_READ)


def send(connection: PgConnection, statements: bytes) -> None:
    """Run statements in one round trip. They are not prepared, which several at once cannot be."""
    connection.execute(statements, prepare=False)
