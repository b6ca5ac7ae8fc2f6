"""Maintain a file that other programs work with: statistics, the write-ahead log, free space."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import apsw

from holdfast.store.forks import occupancy
from holdfast.store.maintenance import Disturbed, Vacuumed
from holdfast.store.sqlite.connection import connect
from holdfast.store.sqlite.faults import DATABASE_ERRORS, translate
from holdfast.store.sqlite.parts import remove_dead_parts
from holdfast.store.sqlite.vacuum import remove_leftover, vacuumed
from holdfast.store.sqlite.write_lock import WriteLock, locks_of

ROWS_COUNTED = 400
LONG_LOG = 4 << 20
STAND_ASIDE_S = 0.2

# The rows of these tables change by the minute, so statistics would soon be wrong. Their statements are written so that
# one index fits, and a test checks that it is used.
UNCOUNTED = frozenset({"jobs", "job_runs", "sessions", "workers"})


class FileMaintenance:
    """The maintenance of one file. Each call has a connection of its own."""

    def __init__(self, path: str) -> None:
        self._path = path

    def tables(self) -> list[str]:
        with self._connection() as connection:
            found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        names = [str(name) for (name,) in found]
        return [name for name in names if name not in UNCOUNTED and not name.startswith("sqlite_")]

    def analyse(self, table: str) -> None:
        with self._write_lock(), self._connection() as connection:
            connection.pragma("analysis_limit", ROWS_COUNTED)
            connection.execute(f'ANALYZE "{table}"')

    def empty_log(self) -> int:
        # Chores are done one at a time, so a leftover is of one that was killed.
        remove_leftover(self._path)
        remove_dead_parts(locks_of(self._path))
        before = self._log_size()
        with self._connection() as connection:
            # This keeps no one waiting, and leaves little for the checkpoint that does.
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        # If a reader still needs the log, it is emptied next time.
        with self._write_lock(), self._connection() as connection, suppress(apsw.BusyError):
            connection.set_busy_timeout(0)
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        return max(0, before - self._log_size())

    def vacuum(self, should_stop: Callable[[], bool]) -> Vacuumed:
        with self._errors(), self._lock() as write_lock:
            try:
                return vacuumed(self._path, write_lock, should_stop)
            except Disturbed:
                # The program that wants to write goes first.
                time.sleep(STAND_ASIDE_S)
                raise
            finally:
                if self._log_size() > LONG_LOG:
                    # Pages that were thrown away, or are in the file by now, need not take up the disk.
                    self.empty_log()

    def _log_size(self) -> int:
        try:
            return os.stat(f"{self._path}-wal").st_size
        except FileNotFoundError:
            return 0

    @contextmanager
    def _connection(self) -> Iterator[apsw.Connection]:
        with self._errors(), occupancy, closing(connect(self._path, writable=True, durability="full")) as connection:
            yield connection

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """Hold the write lock. It is taken before a connection: its holder may wait for a fork, which waits for us."""
        with self._lock() as write_lock, write_lock:
            yield

    @contextmanager
    def _lock(self) -> Iterator[WriteLock]:
        write_lock = WriteLock(locks_of(self._path))
        try:
            yield write_lock
        finally:
            write_lock.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except DATABASE_ERRORS as error:
            raise translate(error, self._path) from error
