"""The PostgreSQL engine as callers see it. Opened by its first use, and again by the first use after a fork."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg import sql as compose

from holdfast.core.computed_once import computed_once
from holdfast.core.errors import StoreUnavailable
from holdfast.core.machine.database_time import Measurement
from holdfast.core.rules.value_rules import NAME
from holdfast.store import migrate
from holdfast.store.engine import AwaitableCalls, Changes, Ids, Listener, announce, is_urgent, new_uuid
from holdfast.store.forks import forget_after_fork
from holdfast.store.machine import node_id
from holdfast.store.postgres.clock_reader import ClockReader, Heed, read_clock
from holdfast.store.postgres.connection import PostgresTx
from holdfast.store.postgres.faults import kind_of, may_pass, translate
from holdfast.store.postgres.listener import ListenerThread, pack
from holdfast.store.postgres.pool import Connector, PgConnection, PgPool, begin_read, begun, send
from holdfast.store.postgres.recovering import Recovering
from holdfast.store.postgres.write_lock import AdvisoryLock, AdvisoryLockHeld
from holdfast.store.script_names import function_of, load_all
from holdfast.store.statements import Dialect
from holdfast.store.temporary import own_folder
from holdfast.store.trouble import LASTING, MAY_LAST, Trouble, TroubleKind, cause

if TYPE_CHECKING:
    from holdfast.store.maintenance import DatabaseMaintenance

T = TypeVar("T")

TRIES = 5
_TELL_AND_COMMIT = compose.SQL("SELECT pg_notify({}, {}); COMMIT")

log = logging.getLogger("holdfast.store")


class PostgresEngine(AwaitableCalls):
    """One schema of one database. Safe to use from any thread."""

    dialect = Dialect.POSTGRES

    _pool: PgPool | None
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
        self.schema = NAME.check("schema", schema)
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
        self._write_lock = AdvisoryLock(schema, self.title)
        load_all()
        self._start_fresh()
        forget_after_fork(self)

    @property
    def title(self) -> str:
        with suppress(psycopg.Error):
            parts = psycopg.conninfo.conninfo_to_dict(self.url)
            return f"PostgreSQL {parts.get('host') or 'localhost'}/{parts.get('dbname') or ''} schema {self.schema}"
        return "PostgreSQL"

    @property
    def is_shared(self) -> bool:
        return True

    def maintenance(self) -> DatabaseMaintenance:
        from holdfast.store.postgres.maintenance import ServerMaintenance

        return ServerMaintenance(self)

    @computed_once
    def node(self) -> str:
        """The id in the home of this program, if it has one; otherwise the one beside its locks."""
        if self._home is not None:
            with suppress(StoreUnavailable):  # A program may run where no home can be written.
                return node_id(self._home)
        return node_id(self.locks)

    @property
    def locks(self) -> Path:
        """A folder of this machine. Its locks matter to this machine only."""
        return own_folder("holdfast")

    @property
    def files(self) -> Path:
        """A folder of this machine for this schema of this database, whatever the user and password."""
        if self._files is not None:
            return self._files
        name = hashlib.blake2b(self.identity.encode(), digest_size=8).hexdigest()
        return self.locks / f"files-{name}"

    @property
    def identity(self) -> str:
        """The same for all who use this schema of this database, whatever user and password they have."""
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
        function = function_of(script)
        for _ in range(TRIES):
            self._opened()
            threads = self._urgent_thread if is_urgent(function) else self._threads
            if threads is not None:
                with suppress(RuntimeError):  # Closed in between; the next round opens it again.
                    return threads.submit(self._write, function, args, kw)
        raise StoreUnavailable(f"{self.title} was closed while it was called")

    def query(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        function = function_of(script)
        try:
            with self._connection(begin_read) as connection:
                return function(PostgresTx(connection, self._ids, self._here), *args, **kw)
        except psycopg.Error as error:
            raise translate(error, self.title) from error

    def listen(self, listener: Listener) -> Callable[[], None]:
        self._opened()
        self._listeners.append(listener)
        with self._opening:
            if self._listening is None:
                self._listening = ListenerThread(
                    self._connector.connect, self._channel, self._me, self._announce, self.notifications
                )

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
            # After the threads, which could begin another one.
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
        self._connector.close_copies()
        self._listeners = []
        self._forget_troubles()
        self._start_fresh()
        return inherited

    def _start_fresh(self) -> None:
        self._opening = threading.Lock()
        # Not the lock above: `close` holds that while it waits for threads that need this one.
        self._mending = threading.Lock()
        self._pool = None
        self._threads = None
        self._urgent_thread = None
        self._listening = None
        self._recovering = None
        self._clock_reader = None
        self._connector = Connector(self.url, self.schema, self._durability)
        self._me = self._ids()

    def _opened(self) -> PgPool:
        pool = self._pool
        if pool is not None:
            return pool
        with self._opening:
            if self._pool is None:
                self._prepare()
                self._threads = ThreadPoolExecutor(self._pool_size, "holdfast-writer")
                self._urgent_thread = ThreadPoolExecutor(1, "holdfast-urgent")
                self._pool = self._connector.make_pool(self._pool_size * 2 + 1)
                if self._heed_clock is not None:
                    self._clock_reader = ClockReader(self.read_clock, self._heed_clock)
            return self._pool

    def _prepare(self) -> None:
        """Bring the schema up to date, while no other process does."""
        refusal = self.troubles.refusal()
        if refusal is not None and self.troubles.kind is TroubleKind.LOCKED:
            # Another call has just waited for the lock in vain. Those behind it need not wait one after another.
            self._recover()
            raise refusal
        try:
            with self._connector.connect() as connection:
                if self._heed_clock is not None:
                    # Before any caller asks for the time.
                    self._heed_clock(read_clock(connection))
                self._retry_while_held(lambda: self._migrate(connection), waits_for_work=True)
        except psycopg.Error as error:
            raise translate(error, self.title) from error

    def _migrate(self, connection: PgConnection) -> None:
        self._write_lock.begin(connection)
        migrate.postgres(connection.execute, self.schema, self._now(), self._migrate_to)
        connection.commit()

    def read_clock(self) -> Measurement:
        """Read the clock of the server."""
        try:
            with self._connection(begin_read) as connection:
                return read_clock(connection)
        except psycopg.Error as error:
            raise translate(error, self.title) from error

    def connect(self) -> PgConnection:
        """A connection for the caller alone, outside of the pool. Each statement is a transaction."""
        return self._connector.connect()

    def _commit(self, connection: PgConnection, changes: Changes) -> None:
        """Commit, and tell other processes in the same round trip."""
        if changes:
            send(connection, _TELL_AND_COMMIT.format(self._channel, pack(changes, self._me)).as_bytes(connection))
        else:
            connection.commit()

    def _connection(self, begin: Callable[[PgConnection], None]) -> AbstractContextManager[PgConnection]:
        """A connection in a transaction that `begin` has opened."""
        return begun(self._opened(), begin)

    def _write(self, script: Callable[..., T], args: tuple[Any, ...], kw: dict[str, Any]) -> T:
        refusal = self.troubles.refusal()
        if refusal is not None:
            self._recover()
            raise refusal
        return self._retry_while_held(lambda: self._try_to_write(script, args, kw))

    def _retry_while_held(self, write: Callable[[], T], *, waits_for_work: bool = False) -> T:
        """Write. While others keep the lock of writers, tell of it and try again, for a bounded time.

        With `waits_for_work`, the time in which our own user is at work, such as at a migration, does not count.
        """
        tries, is_told = 0, False
        while True:
            try:
                result = write()
            except AdvisoryLockHeld as held:
                tries += not (waits_for_work and held.is_our_work)
                if tries == 0 and not is_told:
                    is_told = True
                    log.warning("%s; it is at work, and is waited for", held.says, extra={"event": "store_waits"})
                self._tell_of_holder(held, gives_up=tries == TRIES)
                if tries == TRIES:
                    raise Trouble(TroubleKind.LOCKED, held.says, self._now()).refusal(0.0) from held
            else:
                if self.troubles.current is not None:
                    # One that refuses nobody ends in the same way as all others: by a try that goes well.
                    self._recover()
                return result

    def _tell_of_holder(self, held: AdvisoryLockHeld, *, gives_up: bool) -> None:
        """Tell people who holds the lock of writers. One that is at work is left in peace, until a write gives up."""
        if gives_up:
            self.troubles.count(TroubleKind.LOCKED, held.says, self._now(), lasts=True)
        if gives_up or held.is_stuck:
            self.troubles.begin(TroubleKind.LOCKED, held.says, self._now(), refuses=gives_up)
            self._recover()

    def _try_to_write(self, script: Callable[..., T], args: tuple[Any, ...], kw: dict[str, Any]) -> T:
        for left in reversed(range(TRIES)):
            try:
                return self._transact(script, args, kw)
            except psycopg.Error as error:
                if not (left and may_pass(error)):
                    failure = translate(error, self.title)
                    self._find_out(kind_of(error), str(failure))
                    raise failure from error
        raise AssertionError

    def _find_out(self, kind: TroubleKind | None, says: str) -> None:
        """After a failure: find out whether the server is to blame, and whether it can be written at all."""
        if kind is None:
            return
        # Only a damaged server itself can tell what it still stores.
        cannot_write = (
            kind in MAY_LAST
            and kind is not TroubleKind.CORRUPT
            and self._trouble_with_writing() not in (None, TroubleKind.LOCKED)
        )
        self.troubles.count(kind, says, self._now(), lasts=cannot_write or kind in LASTING)
        if cannot_write:
            self.troubles.begin(kind, cause(says), self._now())
            self._recover()

    def _recover(self) -> None:
        with self._mending:
            if self._recovering is None or self._recovering.is_over:
                self._recovering = Recovering(self.troubles, lambda: self._trouble_with_writing() is None, self._now)

    def _trouble_with_writing(self) -> TroubleKind | None:
        """What keeps a commit from going well on a fresh connection. None: it does go well."""
        try:
            with self._connector.connect() as connection:
                self._write_lock.begin(connection)
                connection.execute("UPDATE schema_version SET name = name WHERE version = 1")
                connection.commit()
        except pg.UndefinedTable:
            return None  # A migration could not begin. Now it can.
        except AdvisoryLockHeld as held:
            self._tell_of_holder(held, gives_up=False)
            return TroubleKind.LOCKED
        except psycopg.Error as error:
            return kind_of(error) or TroubleKind.LOST
        return None

    def _transact(self, script: Callable[..., T], args: tuple[Any, ...], kw: dict[str, Any]) -> T:
        committing = False
        try:
            with self._connection(self._write_lock.begin) as connection:
                began = time.monotonic()
                tx = PostgresTx(connection, self._ids, self._here)
                result = script(tx, *args, **kw)
                committing = True
                self._commit(connection, tx.changes)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if committing and kind_of(error) is TroubleKind.LOST:
                self.troubles.count(TroubleKind.LOST, str(error), self._now(), lasts=True)
                raise translate(error, self.title, committing=True) from error
            raise
        if tx.changes:
            self._announce(tx.changes)
        self._committed(time.monotonic() - began, tx.tally)
        return result

    def _here(self) -> str:
        return self.node

    def _announce(self, changes: Changes) -> None:
        announce(changes, self._listeners)
