"""Looks after a file that others work with: statistics, the write-ahead log, free space."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import apsw

from holdfast.store.forks import occupancy
from holdfast.store.sqlite.connection import connect
from holdfast.store.sqlite.faults import DATABASE_ERRORS, translate
from holdfast.store.sqlite.parts import remove_dead_parts
from holdfast.store.sqlite.turnstile import Turnstile, locks_of
from holdfast.store.sqlite.vacuum import remove_leftover, vacuumed
from holdfast.store.tending import Disturbed, Vacuumed

ROWS_COUNTED = 400
LONG_LOG = 4 << 20
STAND_ASIDE_S = 0.2

# Which rows of these there are changes by the minute, so what was counted would soon lead astray: their statements are
# written so that one index fits, and are held to it by a test.
UNCOUNTED = frozenset({"jobs", "job_runs", "sessions", "workers"})


class FileCare:
    """For one file; each call has a connection of its own."""

    def __init__(self, path: str) -> None:
        self._path = path

    def tables(self) -> list[str]:
        with self._connection() as connection:
            found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        names = [str(name) for (name,) in found]
        return [name for name in names if name not in UNCOUNTED and not name.startswith("sqlite_")]

    def analyse(self, table: str) -> None:
        with self._turnstile(), self._connection() as connection:
            connection.pragma("analysis_limit", ROWS_COUNTED)
            connection.execute(f'ANALYZE "{table}"')

    def empty_log(self) -> int:
        # Chores are done one at a time: whoever left this did not come to its end.
        remove_leftover(self._path)
        remove_dead_parts(locks_of(self._path))
        before = self._log_size()
        with self._connection() as connection:
            # This hinders nobody; what is left to do when the others have to wait is little.
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        # A reader may still need it; next time, then.
        with self._turnstile(), self._connection() as connection, suppress(apsw.BusyError):
            connection.set_busy_timeout(0)
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        return max(0, before - self._log_size())

    def vacuum(self, should_stop: Callable[[], bool]) -> Vacuumed:
        with self._errors(), self._turns() as turnstile:
            try:
                return vacuumed(self._path, turnstile, should_stop)
            except Disturbed:
                # Not in the way of whoever came.
                time.sleep(STAND_ASIDE_S)
                raise
            finally:
                if self._log_size() > LONG_LOG:
                    # What was written and not used, or is in the file by now, need not take up the disk.
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
    def _turnstile(self) -> Iterator[None]:
        """The turn; never asked for with a connection open, for whoever has it may have to wait for a fork to end."""
        with self._turns() as turnstile, turnstile:
            yield

    @contextmanager
    def _turns(self) -> Iterator[Turnstile]:
        turnstile = Turnstile(locks_of(self._path))
        try:
            yield turnstile
        finally:
            turnstile.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except DATABASE_ERRORS as error:
            raise translate(error, self._path) from error
