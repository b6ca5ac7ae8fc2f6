"""The PostgreSQL engine as callers see it. Opened by its first use, and again by the first use after a fork."""

from __future__ import annotations

import hashlib
import os
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

import psycopg
from psycopg import errors as pg
from psycopg import sql as compose
from psycopg_pool import ConnectionPool

from holdfast.core.database_time import Measurement
from holdfast.core.errors import StoreUnavailable
from holdfast.core.limits import check_name
from holdfast.store import migrate
from holdfast.store.engine import AwaitableCalls, Changes, Ids, Listener, announce, is_urgent, new_uuid
from holdfast.store.forks import forget_after_fork
from holdfast.store.machine import node_id
from holdfast.store.postgres.clock_reader import ClockReader, Heed, read_clock
from holdfast.store.postgres.connection import PostgresTx
from holdfast.store.postgres.faults import kind_of, may_pass, translate
from holdfast.store.postgres.listener import ListenerThread, pack
from holdfast.store.postgres.recovering import Recovering
from holdfast.store.statements import Dialect
from holdfast.store.temporary import own_folder
from holdfast.store.trouble import LASTING, MAY_LAST, Kind

T = TypeVar("T")

TRIES = 5
CONNECT_S = 10.0
RECONNECT_S = 5.0  # A server that is back is found soon, well within a lease.
SILENCE_S = 10.0
# A network that swallows everything is noticed within a lease too.
KEEPALIVE: dict[str, Any] = {
    "keepalives_idle": 5,
    "keepalives_interval": 5,
    "keepalives_count": 2,
    "tcp_user_timeout": 15_000,
}
LOCK_SPACE = 0x486F6C64  # "Hold": apart from advisory locks of the user's own

_SETTINGS = (
    # Each statement sees what was committed before the lock was granted, whatever the server's default.
    "SET default_transaction_isolation TO 'read committed'",
    # A machine that falls silent in a transaction, frozen or cut off, must not keep the lock from all others.
    f"SET idle_in_transaction_session_timeout TO {round(SILENCE_S * 1000)}",
    # Plans are kept: one that was made while a table was empty would read all of it when it has grown.
    "SET enable_seqscan TO off",
    # Older servers give what is turned off a price at which they would compile it.
    "SET jit TO off",
)
_BEGIN_READ = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_WRITE = compose.SQL("BEGIN; SELECT pg_advisory_xact_lock({}, CAST({} AS INT))")
_TELL_AND_COMMIT = compose.SQL("SELECT pg_notify({}, {}); COMMIT")


class PostgresEngine(AwaitableCalls):
    """One schema of one database. Safe to use from any thread."""

    dialect = Dialect.POSTGRES

    _pool: ConnectionPool[psycopg.Connection[Any]] | None
    _threads: ThreadPoolExecutor | None
    _urgent_thread: ThreadPoolExecutor | None
    _listening: ListenerThread | None
    _recovering: Recovering | None
    _clock_reader: ClockReader | None
    _me: str

    def __init__(
        self,
        url: str,
        *,
        schema: str = "holdfast",
        durability: str = "full",
        pool_size: int = 4,
        now: Callable[[], int],
        ids: Ids = new_uuid,
        migrate_to: int | None = None,
        files: Path | None = None,
        home: Path | None = None,
        heed_clock: Heed | None = None,
    ) -> None:
        self.url = url
        self.schema = check_name("schema", schema)
        self._durability = durability
        self._pool_size = pool_size
        self._now = now
        self._ids = ids
        self._migrate_to = migrate_to
        self._files = files
        self._home = home
        self._heed_clock = heed_clock
        self._listeners: list[Listener] = []
        self._channel = f"holdfast_{schema}"
        self._begin = _BEGIN_WRITE.format(LOCK_SPACE, zlib.crc32(schema.encode()) - 2**31).as_bytes()
        self._start_fresh()
        forget_after_fork(self)

    @property
    def where(self) -> str:
        """The database as messages name it, without a password."""
        with suppress(psycopg.Error):
            parts = psycopg.conninfo.conninfo_to_dict(self.url)
            return f"PostgreSQL {parts.get('host') or 'localhost'}/{parts.get('dbname') or ''} schema {self.schema}"
        return "PostgreSQL"

    @cached_property
    def node(self) -> str:
        """By the id in the home of this program, if it has one; otherwise beside its locks."""
        if self._home is not None:
            with suppress(StoreUnavailable):  # A program may run where nobody has a home that can be written.
                return node_id(self._home)
        return node_id(self.locks)

    @property
    def locks(self) -> Path:
        """A folder of this machine; what it says matters to this machine only."""
        return own_folder("holdfast")

    @property
    def files(self) -> Path:
        """A folder of this machine for this schema of this database, by whatever user and password it is reached."""
        if self._files is not None:
            return self._files
        name = hashlib.blake2b(self.identity.encode(), digest_size=8).hexdigest()
        return self.locks / f"files-{name}"

    @property
    def identity(self) -> str:
        """The same for everybody who reaches this schema of this database, by whatever user and password."""
        parts: dict[str, Any] = {}
        with suppress(psycopg.Error):
            parts = psycopg.conninfo.conninfo_to_dict(self.url)
        place = [str(parts.get(part) or "") for part in ("host", "hostaddr", "port", "dbname")]
        return "\0".join([*place, self.schema])

    @property
    def is_open(self) -> bool:
        return self._pool is not None

    def open(self) -> None:
        self._opened()

    def submit(self, script: Callable[..., T], *args: Any, **kw: Any) -> Future[T]:
        for _ in range(TRIES):
            self._opened()
            threads = self._urgent_thread if is_urgent(script) else self._threads
            if threads is not None:
                with suppress(RuntimeError):  # Closed in between; the next round opens it again.
                    return threads.submit(self._write, script, args, kw)
        raise StoreUnavailable(f"{self.where} was closed while it was called")

    def query(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        try:
            with self._connection(_begin_read) as connection:
                return script(PostgresTx(connection, self._ids, self._here), *args, **kw)
        except psycopg.Error as error:
            raise translate(error, self.where) from error

    def listen(self, listener: Listener) -> Callable[[], None]:
        self._opened()
        self._listeners.append(listener)
        with self._opening:
            if self._listening is None:
                self._listening = ListenerThread(self._connect, self._channel, self._me, self._announce)

        def leave() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return leave

    def check(self) -> list[str]:
        self._opened()
        return []

    def close(self) -> None:
        with self._opening:
            for threads in (self._threads, self._urgent_thread):
                if threads is not None:
                    threads.shutdown(wait=True)
            self._threads = self._urgent_thread = None
            if self._listening is not None:
                self._listening.close()
                self._listening = None
            if self._clock_reader is not None:
                self._clock_reader.close()
                self._clock_reader = None
            # Nobody writes any more, so that nobody begins another one.
            if self._recovering is not None:
                self._recovering.close()
                self._recovering = None
            if self._pool is not None:
                self._pool.close()
                self._pool = None

    def forget(self) -> object:
        inherited = (
            self._pool,
            self._threads,
            self._urgent_thread,
            self._listening,
            self._recovering,
            self._clock_reader,
        )
        for connection in list(self._connections):
            # The copy of the socket alone: as long as one is open, the server takes a dead parent for alive.
            with suppress(psycopg.Error, OSError):
                os.close(connection.fileno())
        self._listeners = []
        self._forget_troubles()
        self._start_fresh()
        return inherited

    def _start_fresh(self) -> None:
        self._opening = threading.Lock()
        # Not the one above: a close has that while it waits for those who need this one.
        self._mending = threading.Lock()
        self._pool = None
        self._threads = None
        self._urgent_thread = None
        self._listening = None
        self._recovering = None
        self._clock_reader = None
        self._connections: WeakSet[psycopg.Connection[Any]] = WeakSet()
        self._me = self._ids()

    def _opened(self) -> ConnectionPool[psycopg.Connection[Any]]:
        pool = self._pool
        if pool is not None:
            return pool
        with self._opening:
            if self._pool is None:
                self._prepare()
                self._threads = ThreadPoolExecutor(self._pool_size, "holdfast-writer")
                self._urgent_thread = ThreadPoolExecutor(1, "holdfast-urgent")
                self._pool = ConnectionPool(
                    self.url,
                    min_size=1,
                    max_size=self._pool_size * 2 + 1,
                    timeout=CONNECT_S,
                    reconnect_timeout=RECONNECT_S,
                    kwargs={"autocommit": True, **KEEPALIVE},
                    configure=self._configure,
                    open=True,
                )
                if self._heed_clock is not None:
                    self._clock_reader = ClockReader(self.read_clock, self._heed_clock)
            return self._pool

    def _prepare(self) -> None:
        """The newest schema, while nobody else migrates."""
        try:
            with self._connect() as connection:
                if self._heed_clock is not None:
                    # Before anybody asks what time it is.
                    self._heed_clock(read_clock(connection))
                self._migrate(connection)
        except psycopg.Error as error:
            raise translate(error, self.where) from error

    def _migrate(self, connection: psycopg.Connection[Any]) -> None:
        self._begin_write(connection)
        migrate.postgres(connection.execute, self.schema, self._now(), self._migrate_to)
        connection.commit()

    def read_clock(self) -> Measurement:
        """What time the server has, by an idle connection."""
        try:
            with self._connection(_begin_read) as connection:
                return read_clock(connection)
        except psycopg.Error as error:
            raise translate(error, self.where) from error

    def connect(self) -> psycopg.Connection[Any]:
        """A connection of the caller's own, outside of the pool; each statement is a transaction."""
        return self._connect()

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self.url, autocommit=True, connect_timeout=int(CONNECT_S), **KEEPALIVE)
        self._configure(connection)
        return connection

    def _configure(self, connection: psycopg.Connection[Any]) -> None:
        self._connections.add(connection)
        path = compose.Identifier(self.schema)
        connection.execute(compose.SQL("SET search_path TO {}").format(path))
        connection.execute(f"SET synchronous_commit TO {'on' if self._durability == 'full' else 'off'}")
        for setting in _SETTINGS:
            connection.execute(setting)

    def _begin_write(self, connection: psycopg.Connection[Any]) -> None:
        """PostgreSQL's BEGIN IMMEDIATE, in one round trip: what a script reads stays true until it commits."""
        _send(connection, self._begin)

    def _commit(self, connection: psycopg.Connection[Any], changes: Changes) -> None:
        """And tell other processes, in the same round trip."""
        if changes:
            _send(connection, _TELL_AND_COMMIT.format(self._channel, pack(changes, self._me)).as_bytes(connection))
        else:
            connection.commit()

    @contextmanager
    def _connection(self, begin: Callable[[psycopg.Connection[Any]], Any]) -> Iterator[psycopg.Connection[Any]]:
        """A connection in a transaction that `begin` has opened.

        The pool may still hold connections from before the server was restarted. As long as nothing was done on one, it
        is safe to take another.
        """
        pool = self._opened()
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
                    # It may be another server that takes writes by now.
                    connection.close()
                    raise
                return

    def _write(self, script: Callable[..., T], args: tuple[Any, ...], kw: dict[str, Any]) -> T:
        refusal = self.troubles.refusal()
        if refusal is not None:
            self._recover()
            raise refusal
        for left in reversed(range(TRIES)):
            try:
                return self._transact(script, args, kw)
            except psycopg.Error as error:
                if not (left and may_pass(error)):
                    failure = translate(error, self.where)
                    self._find_out(kind_of(error), str(failure))
                    raise failure from error
        raise AssertionError

    def _find_out(self, kind: Kind | None, says: str) -> None:
        """A transaction has failed: was it the server, and can that be written at all?"""
        if kind is None:
            return
        # What a damaged server still stores, only it can tell.
        cannot_write = kind in MAY_LAST and kind is not Kind.CORRUPT and not self._can_write()
        self.troubles.count(kind, says, self._now(), lasts=cannot_write or kind in LASTING)
        if cannot_write:
            self.troubles.begin(kind, says, self._now())
            self._recover()

    def _recover(self) -> None:
        with self._mending:
            if self._recovering is None or self._recovering.is_over:
                self._recovering = Recovering(self.troubles, self._can_write, self._now)

    def _can_write(self) -> bool:
        """Whether a commit goes well on a fresh connection."""
        try:
            with self._connect() as connection:
                connection.execute("UPDATE schema_version SET name = name WHERE version = 1")
        except psycopg.Error:
            return False
        return True

    def _transact(self, script: Callable[..., T], args: tuple[Any, ...], kw: dict[str, Any]) -> T:
        committing = False
        try:
            with self._connection(self._begin_write) as connection:
                began = time.monotonic()
                tx = PostgresTx(connection, self._ids, self._here)
                result = script(tx, *args, **kw)
                committing = True
                self._commit(connection, tx.changes)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if committing and kind_of(error) is Kind.LOST:
                self.troubles.count(Kind.LOST, str(error), self._now(), lasts=True)
                raise translate(error, self.where, committing=True) from error
            raise
        if tx.changes:
            self._announce(tx.changes)
        self._committed(time.monotonic() - began, tx.tally)
        return result

    def _here(self) -> str:
        return self.node

    def _announce(self, changes: Changes) -> None:
        announce(changes, self._listeners)


def _begin_read(connection: psycopg.Connection[Any]) -> None:
    _send(connection, _BEGIN_READ)


def _send(connection: psycopg.Connection[Any], statements: bytes) -> None:
    """As one text, since several statements at once cannot be prepared."""
    connection.execute(statements, prepare=False)
