"""The only writing connection of a process. It is opened when it is needed, and anew after a failure."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress

import apsw

from holdfast.core.errors import OutcomeUnknown, StoreBusy, StoreError
from holdfast.store.forks import occupancy
from holdfast.store.sqlite.checkpoint import Checkpoints
from holdfast.store.sqlite.connection import identity
from holdfast.store.sqlite.faults import DATABASE_ERRORS, kind_of
from holdfast.store.sqlite.write_lock import WriteLock
from holdfast.store.trouble import TroubleKind

SURE_POLL_S = 0.5
BUSY_TRIES = 25

log = logging.getLogger("holdfast.store")


class WritingConnection:
    """Lives on the writer's thread. Only the first connection is made where this object is made.

    A second connection, the anchor, does nothing. As long as it is open, the write-ahead log and its index stay when
    the other is closed. A full disk has no room to make them anew, and without them no one can read. `is_hopeless`:
    nothing can be written now, so no connection is opened yet.
    """

    def __init__(
        self, path: str, connect: Callable[[], apsw.Connection], write_lock: WriteLock, *, is_hopeless: bool = False
    ) -> None:
        self._path = path
        self._connect = connect
        self._write_lock = write_lock
        self._checkpoints = Checkpoints()
        self._looked_at = 0.0
        self._wal_path = f"{path}-wal"
        self._wal_seen = (0, 0)
        self._damaged: tuple[int, ...] | None = None
        self._file: tuple[int, int] | None = None
        self.connection: apsw.Connection | None = None
        self.anchor: apsw.Connection | None = None
        self._data_version: int | None = None
        if is_hopeless:
            return
        try:
            self._data_version = self.opened().pragma("data_version")
        except BaseException:
            self.close()
            raise

    def opened(self) -> apsw.Connection:
        """The connection, made now if there is none."""
        if self.connection is None:
            self._file = identity(self._path)
            self.anchor = self.anchor or self._anchor()
            connection = self._connect()
            self._checkpoints.adopt(connection)
            self.connection = connection
        return self.connection

    def give_up(self) -> None:
        """Close it; the next use opens another one."""
        connection, self.connection = self.connection, None
        # Each connection counts foreign commits for itself. None: the next look takes it that there was one.
        self._data_version = None
        if connection is not None:
            with suppress(apsw.Error):
                connection.close(True)

    def close(self) -> None:
        """Close both connections."""
        self.give_up()
        anchor, self.anchor = self.anchor, None
        if anchor is not None:
            with suppress(apsw.Error):
                anchor.close(True)

    def _anchor(self) -> apsw.Connection:
        connection = self._connect()
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        except BaseException:
            connection.close(True)
            raise
        return connection

    def begin(self, tries: int | None = None) -> apsw.Connection:
        """Begin a transaction that can write; StoreBusy if another program keeps the file locked."""
        tries = BUSY_TRIES if tries is None else tries
        if identity(self._path) != self._file:
            # Another file has the name, or none does: what is written into the old file would be lost.
            self.close()
        connection = self.opened()
        for _ in range(tries):
            try:
                connection.execute("BEGIN IMMEDIATE")
                return connection
            except apsw.BusyError:
                continue
        raise StoreBusy(f"another program has kept {self._path} locked for {tries * 0.2:.0f} s; close it or try again")

    def commit(self) -> None:
        """Commit. After a failure the connection is given up."""
        assert self.connection is not None
        try:
            self.connection.execute("COMMIT")
        except apsw.FullError:
            # The mark of a commit is written last, so this one will never be seen.
            self.give_up()
            raise
        except apsw.Error as error:
            self.give_up()
            raise OutcomeUnknown(
                f"the commit on {self._path} failed ({error}): it may or may not be there. "
                "Repeat the call with the same idempotency key, or look before you repeat"
            ) from error
        except BaseException:
            self.give_up()
            raise

    def abort(self) -> None:
        """After a failure: roll back. If that fails, give the connection up."""
        if self.connection is not None and self.connection.in_transaction:
            try:
                self.connection.execute("ROLLBACK")
            except apsw.Error:
                self.give_up()

    def note_damage(self) -> None:
        """Remember that the file is damaged as it is now."""
        self._damaged = _stamp(self._path)

    def can_write(self, kind: TroubleKind) -> bool:
        """Whether a commit goes well on a fresh connection. A damaged file has to be replaced first."""
        found = _stamp(self._path)
        if kind is TroubleKind.CORRUPT and found in (None, self._damaged):
            return False
        try:
            with self._write_lock, occupancy:
                if kind is TroubleKind.CORRUPT:
                    self.close()
                self.give_up()
                self._write_something(kind)
        except (*DATABASE_ERRORS, OSError, StoreError) as error:
            with occupancy:
                self.give_up()
            if kind_of(error) is TroubleKind.CORRUPT:
                # As it was before the look: another file may just be coming.
                self._damaged = found
            return False
        return True

    def _write_something(self, kind: TroubleKind) -> None:
        connection = self.opened()
        if kind is TroubleKind.CORRUPT and connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
            raise apsw.CorruptError(self._path)
        if kind is TroubleKind.FULL:
            # Emptying the log may make enough room.
            with suppress(apsw.Error):
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        # One try, because callers wait meanwhile, only to be refused.
        self.begin(tries=1)
        connection.pragma("user_version", connection.pragma("user_version"))
        self.commit()

    def checkpoint_if_long(self) -> None:
        """Move the log into the database if it is long."""
        if self.connection is None or not self._checkpoints.is_due:
            return
        try:
            with self._write_lock, occupancy:
                self._checkpoints.run(self.connection)
        except apsw.BusyError:
            pass  # A reader still needs the old pages.
        except (apsw.Error, OSError) as error:
            log.warning("checkpoint of %s failed: %s", self._path, error)

    @property
    def looked_at(self) -> float:
        """When `others_have_committed` was last asked, by the monotonic clock."""
        return self._looked_at

    def log_has_moved(self) -> bool:
        """Whether the log has changed, or the last look was long ago: two writes in one tick look like one."""
        try:
            found = os.stat(self._wal_path)
        except OSError:
            return True
        seen, self._wal_seen = self._wal_seen, (found.st_mtime_ns, found.st_size)
        return seen != self._wal_seen or time.monotonic() - self._looked_at > SURE_POLL_S

    def others_have_committed(self) -> bool:
        """Whether another process has committed since this was last asked."""
        self._looked_at = time.monotonic()
        if self.connection is None:
            return False
        try:
            with occupancy:
                version = self.connection.pragma("data_version")
        except apsw.Error:
            return False
        before, self._data_version = self._data_version, version
        return bool(version != before)


def _stamp(path: str) -> tuple[int, ...] | None:
    """Which file has this name, its size, and when it was written. None: there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
