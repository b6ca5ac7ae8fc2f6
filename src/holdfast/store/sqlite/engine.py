"""The SQLite engine as callers see it. Opened by its first use, and again by the first use after a fork."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw

from holdfast.core.computed_once import computed_once
from holdfast.core.errors import StoreUnavailable
from holdfast.private_files import make_private
from holdfast.store import migrate
from holdfast.store.engine import AwaitableCalls, Changes, Ids, Listener, announce, new_uuid
from holdfast.store.forks import forget_after_fork, occupancy
from holdfast.store.machine import node_id
from holdfast.store.script_names import function_of, load_all
from holdfast.store.sqlite.connection import SqliteTx, connect, identity, let_go
from holdfast.store.sqlite.faults import DATABASE_ERRORS, lacks_room, translate
from holdfast.store.sqlite.write_lock import WriteLock, locks_of
from holdfast.store.sqlite.writer import QueuedWrite, Writer
from holdfast.store.statements import Dialect
from holdfast.store.trouble import TroubleKind, cause

if TYPE_CHECKING:
    from holdfast.store.maintenance import DatabaseMaintenance

T = TypeVar("T")

READ_LIMIT_S = 5.0
PROGRESS_STEPS = 50_000
# This VFS keeps the index of the write-ahead log in memory, and keeps other processes out.
WITHOUT_INDEX_FILE = "unix-excl"
ALL_TOGETHER = nullcontext()


class SqliteEngine(AwaitableCalls):
    """One database file. Safe to use from any thread."""

    dialect = Dialect.SQLITE

    _writer: Writer | None
    _write_lock: WriteLock | None
    _idle_readers: list[apsw.Connection]

    def __init__(
        self,
        path: str | Path,
        *,
        durability: str = "full",
        now: Callable[[], int],
        ids: Ids = new_uuid,
        vfs: str | None = None,
        migrate_to: int | None = None,
        files: Path | None = None,
    ) -> None:
        # A program that uses another name of the file must find the same locks.
        self._path = os.path.realpath(path)
        self._durability = durability
        self._now = now
        self._ids = ids
        self._vfs = vfs
        self._migrate_to = migrate_to
        self._files = files
        self._listeners: list[Listener] = []
        self._is_stranded = False
        self._file: tuple[int, int] | None = None
        load_all()
        self._start_fresh()
        forget_after_fork(self)

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def path(self) -> str:
        return self._path

    @property
    def title(self) -> str:
        return self.path

    @property
    def identity(self) -> str:
        return self.path

    def maintenance(self) -> DatabaseMaintenance:
        # Imported late: most programs do no maintenance.
        from holdfast.store.sqlite.maintenance import FileMaintenance

        return FileMaintenance(self.path)

    @computed_once
    def node(self) -> str:
        """The same for all programs that have the file open: its locks and logs are on one file system."""
        self._check_place()
        return node_id(self.locks)

    @property
    def locks(self) -> Path:
        """The folder of the lock files, beside the database."""
        return locks_of(self.path)

    @property
    def files(self) -> Path:
        """The folder of logs and artifacts, beside the database unless another one was given."""
        return self._files or Path(f"{self.path}-files")

    @property
    def is_open(self) -> bool:
        return self._writer is not None

    def open(self) -> None:
        self._opened()

    def submit(self, script: Callable[..., T], *args: Any, **kw: Any) -> Future[T]:
        write = QueuedWrite(function_of(script), args, kw)
        while not self._opened().post(write):
            pass  # Closed in between; the next round opens it again.
        return write.future

    def query(self, script: Callable[..., T], *args: Any, **kw: Any) -> T:
        self._opened()
        function = function_of(script)
        try:
            with self._reader() as connection:
                return function(SqliteTx(connection, self._ids, self._here), *args, **kw)
        except DATABASE_ERRORS as error:
            raise translate(error, self.path) from error

    def listen(self, listener: Listener) -> Callable[[], None]:
        self._listeners.append(listener)
        self._opened().wake()

        def leave() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return leave

    def check(self) -> list[str]:
        self._opened()
        try:
            with self._reader(limited=False) as connection:
                said = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
                keys = connection.execute("PRAGMA foreign_key_check").fetchall()
        except (apsw.CorruptError, apsw.NotADBError) as error:
            return [f"integrity_check: {error}"]
        except apsw.Error as error:
            raise translate(error, self.path) from error
        return [f"integrity_check: {line}" for line in said] + [f"foreign_key_check: {key}" for key in keys]

    def close(self) -> None:
        with self._opening:
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.close()
            with occupancy:
                self._close_readers()
            if self._write_lock is not None:
                self._write_lock.close()
                self._write_lock = None

    def forget(self) -> object:
        inherited = self._idle_readers
        if not occupancy.is_empty:
            self._is_stranded = True
        else:
            for connection in inherited:
                let_go(connection)
        self._listeners = []
        self._forget_troubles()
        self._start_fresh()
        return inherited

    def _start_fresh(self) -> None:
        self._opening = threading.Lock()
        self._writer = None
        self._write_lock = None
        self._idle_readers = []
        # While the index is in the memory of a connection, no other connection may be opened beside it.
        self._has_index_file = True
        self._without_index = threading.Lock()

    def _opened(self) -> Writer:
        writer = self._writer
        if writer is not None:
            return writer
        with self._opening:
            if self._writer is None:
                self._writer = self._open()
            return self._writer

    def _open(self) -> Writer:
        path = Path(self.path)
        if self._is_stranded:
            raise StoreUnavailable(
                f"this process was forked while {path} was in use for long, and can never use it; fork before, or after"
            )
        self._check_place()
        try:
            write_lock = WriteLock(self.locks)
        except OSError as error:
            raise StoreUnavailable(
                f"{self.locks} cannot be used ({error.strerror}); make the folder writable"
            ) from error
        try:
            with write_lock, occupancy:
                try:
                    self._prepare()
                    self._has_index_file = True
                except apsw.Error as error:
                    if not lacks_room(error) or not self._is_readable():
                        raise
                    self._has_index_file = False
                    self.troubles.begin(TroubleKind.FULL, cause(str(translate(error, self.path))), self._now())
                writer = Writer(
                    self.path,
                    self._connect_writer,
                    write_lock,
                    self._ids,
                    self._here,
                    self._announce,
                    self._committed,
                    lambda: bool(self._listeners),
                    self.troubles,
                    self._now,
                    is_hopeless=not self._has_index_file,
                )
        except apsw.Error as error:
            write_lock.close()
            raise translate(error, self.path) from error
        except BaseException:
            write_lock.close()
            raise
        self._write_lock = write_lock
        return writer

    def _check_place(self) -> None:
        """Refuse a path where there can be no database, before a folder of locks is made beside it."""
        path = Path(self.path)
        if path.is_dir():
            raise StoreUnavailable(f"{path} is a folder; give the path of a database file in it")
        if not path.parent.is_dir():
            raise StoreUnavailable(f"the folder {path.parent} does not exist; create it first")

    def _prepare(self) -> None:
        """Turn the write-ahead log on, and bring the schema up to date. The caller holds the write lock."""
        with suppress(OSError):
            # SQLite would let other users read it. If it cannot be made, SQLite says why.
            make_private(self.path)
        connection = self._connect()
        try:
            if not connection.pragma("page_count"):
                # While the file is empty: later it takes a VACUUM.
                connection.pragma("auto_vacuum", "INCREMENTAL")
            if connection.pragma("journal_mode") != "wal" and connection.pragma("journal_mode", "wal") != "wal":
                raise StoreUnavailable(f"{self.path} cannot use a write-ahead log; put it on a local disk")
            migrate.sqlite(connection, self.path, self._now(), self._migrate_to)
        finally:
            connection.close(True)

    def _is_readable(self) -> bool:
        """Whether the file has the newest schema, and can be read on a disk that is full."""
        if self._vfs is not None or not os.path.exists(self.path):
            return False
        connection = connect(self.path, writable=False, durability=self._durability, vfs=WITHOUT_INDEX_FILE)
        try:
            applied = migrate.applied_to(connection)
            return bool(applied) and not migrate.pending(Dialect.SQLITE, applied, self._migrate_to)
        finally:
            connection.close(True)

    def _connect(self) -> apsw.Connection:
        return connect(self.path, writable=True, durability=self._durability, vfs=self._vfs)

    def _connect_writer(self) -> apsw.Connection:
        # The writer needs a fresh connection, so the file may have been replaced.
        found = identity(self.path)
        if found != self._file:
            self._close_readers()
            if self._file is not None:
                self._take_over()
            self._file = found
        if self._has_index_file:
            return self._connect()
        with self._without_index:
            connection = self._connect()
            try:
                # This makes the file of the index, if there is room for it now.
                connection.execute("SELECT 1 FROM sqlite_master").fetchall()
            except BaseException:
                connection.close(True)
                raise
            self._has_index_file = True
            return connection

    def _take_over(self) -> None:
        """Another file has the name now. Check that it is complete before it is written to."""
        connection = connect(self.path, writable=False, durability=self._durability, vfs=self._vfs)
        try:
            if connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
                raise apsw.CorruptError(self.path)
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchall():
                raise StoreUnavailable(f"{self.path} was replaced by a file that is no database of ours; put it back")
        finally:
            connection.close(True)
        self._prepare()

    def _close_readers(self) -> None:
        idle, self._idle_readers = self._idle_readers, []
        with suppress(IndexError):
            while True:
                # Taken out first: another thread may take the same one.
                connection = idle.pop()
                with suppress(apsw.Error):
                    connection.close(True)

    def _here(self) -> str:
        return self.node

    def _announce(self, changes: Changes) -> None:
        announce(changes, self._listeners)

    @contextmanager
    def _reader(self, *, limited: bool = True) -> Iterator[apsw.Connection]:
        idle = self._idle_readers
        with occupancy, ALL_TOGETHER if self._has_index_file else self._without_index:
            vfs = self._vfs if self._has_index_file else WITHOUT_INDEX_FILE
            try:
                connection = idle.pop()
            except IndexError:
                connection = connect(self.path, writable=False, durability=self._durability, vfs=vfs)
            until = time.monotonic() + READ_LIMIT_S
            connection.set_progress_handler((lambda: time.monotonic() > until) if limited else None, PROGRESS_STEPS)
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(apsw.Error):
                    connection.close(True)
                raise
            if idle is self._idle_readers and vfs is self._vfs:
                idle.append(connection)
            else:
                # The engine was closed meanwhile, or this connection keeps other processes out.
                connection.close(True)
