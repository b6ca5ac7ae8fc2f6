"""The writer: one thread that owns the only writing connection of this process.

It takes the scripts that wait in its mailbox, runs each in a savepoint, commits once, and only then answers.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import apsw

from holdfast.core.errors import OutcomeUnknown, StoreBusy, StoreError, StoreUnavailable
from holdfast.store.engine import Changes, Ids
from holdfast.store.forks import forget_after_fork, occupancy
from holdfast.store.sqlite.connection import SqliteTx, let_go
from holdfast.store.sqlite.faults import DATABASE_ERRORS, translate
from holdfast.store.sqlite.turnstile import Turnstile
from holdfast.store.tally import Tally, Watcher

SLICE_S = 0.005
FOREIGN_POLL_S = 0.025
SURE_POLL_S = 0.5
BUSY_TRIES = 25
CHECKPOINT_PAGES = 2_000
TRUNCATE_PAGES = 8_000
PATIENT_PAGES = 16_000  # 64 MiB: worth waiting until the slowest reader is done

log = logging.getLogger("holdfast.store")


class Letter:
    """A script in the mailbox, and where its answer goes."""

    __slots__ = ("args", "changes", "error", "future", "kw", "result", "script")

    def __init__(self, script: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> None:
        self.script = script
        self.args = args
        self.kw = kw
        self.future: Future[Any] = Future()
        self.result: Any = None
        self.error: BaseException | None = None


class Writer:
    """Runs letters until it is closed. Everything but `post` and `close` happens on its own thread."""

    def __init__(
        self,
        path: str,
        connect: Callable[[], apsw.Connection],
        turnstile: Turnstile,
        ids: Ids,
        announce: Callable[[Changes], None],
        committed: Watcher,
        is_heard: Callable[[], bool],
    ) -> None:
        self._path = path
        self._connect = connect
        self._turnstile = turnstile
        self._ids = ids
        self._announce = announce
        self._committed = committed
        self._is_heard = is_heard
        self._mailbox: queue.SimpleQueue[Letter | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._is_closed = False
        self._has_work = True
        self._connection: apsw.Connection | None = connect()
        self._wal_pages = 0
        self._checkpoint_at = CHECKPOINT_PAGES
        self._data_version = 0
        self._looked_at = 0.0
        self._wal_path = f"{path}-wal"
        self._wal_seen = (0, 0)
        self._adopt(self._connection)
        forget_after_fork(self)
        self._thread = threading.Thread(target=self._work, name="holdfast-writer", daemon=True)
        self._thread.start()

    def post(self, letter: Letter) -> bool:
        """Put a script in the mailbox. False: the writer is closed, and will not run it."""
        with self._door:
            if not self._is_closed:
                self._mailbox.put(letter)
            return not self._is_closed

    def wake(self) -> None:
        """Look again whether somebody listens, which decides whether foreign commits are watched for."""
        self.post(Letter(lambda tx: None, (), {}))

    def close(self) -> None:
        """Run what is in the mailbox, then stop."""
        with self._door:
            self._is_closed = True
            self._mailbox.put(None)
        self._thread.join()

    def forget(self) -> object:
        """In a forked child: give up the copy of the connection.

        SQLite keeps its locks for each process, not for each connection. As long as a copy is open, it believes that
        the child has the parent's locks, and lets the child's own connections work without any.
        """
        if self._connection is not None and occupancy.is_empty:
            let_go(self._connection)
        return self._connection

    def _work(self) -> None:
        while self._has_work:
            try:
                first = self._mailbox.get(timeout=FOREIGN_POLL_S if self._is_heard() else None)
            except queue.Empty:
                if self._wal_has_moved():
                    self._notice_foreign_commits()
                continue
            if first is None:
                self._has_work = False
            else:
                self._run_batch(first)
        with occupancy:
            self._reopen_later()

    def _run_batch(self, first: Letter) -> None:
        """One transaction for all that waits, within a slice of time."""
        letters = [first]
        changes = Changes()
        tally = Tally()
        took: float | None = None
        try:
            with self._turnstile, occupancy:
                began = time.monotonic()
                try:
                    changes = self._transact(letters, tally)
                    took = time.monotonic() - began
                except BaseException:
                    self._abort()
                    raise
        except BaseException as error:
            failure = self._failure_of_all(error)
            for letter in letters:
                letter.error = letter.error or failure
        for letter in letters:
            _answer(letter)
        if took is not None:
            self._committed(took, tally)
        self._checkpoint_if_long()
        if changes:
            self._announce(changes)
        if self._is_heard() and time.monotonic() - self._looked_at > FOREIGN_POLL_S:
            self._notice_foreign_commits()

    def _transact(self, letters: list[Letter], tally: Tally) -> Changes:
        connection = self._begin()
        tx = SqliteTx(connection, self._ids)
        until = time.monotonic() + SLICE_S
        changes = Changes()
        letter: Letter | None = letters[0]
        while letter is not None:
            tx.changes, tx.tally = Changes(), Tally()
            self._run_one(connection, tx, letter)
            if letter.error is None:
                changes.merge(tx.changes)
                tally.merge(tx.tally)
            if time.monotonic() >= until:
                break
            try:
                letter = self._mailbox.get_nowait()
            except queue.Empty:
                break
            if letter is None:
                self._has_work = False
            else:
                letters.append(letter)
        self._commit(connection)
        return changes

    def _begin(self) -> apsw.Connection:
        if self._connection is None:
            connection = self._connect()
            self._adopt(connection)
            self._connection = connection
        for _ in range(BUSY_TRIES):
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                return self._connection
            except apsw.BusyError:
                continue
        raise StoreBusy(
            f"another program has kept {self._path} locked for {BUSY_TRIES * 0.2:.0f} s; close it or try again"
        )

    def _run_one(self, connection: apsw.Connection, tx: SqliteTx, letter: Letter) -> None:
        connection.execute("SAVEPOINT script")
        try:
            letter.result = letter.script(tx, *letter.args, **letter.kw)
            connection.execute("RELEASE script")
        except BaseException as error:
            letter.error = self._translated(error)
            if not connection.in_transaction:
                # Full, I/O error, out of memory: SQLite has thrown away the work of the others too.
                raise
            connection.execute("ROLLBACK TO script")
            connection.execute("RELEASE script")

    def _commit(self, connection: apsw.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except apsw.FullError:
            # The mark that makes it count is written last, so it is certain that nothing will ever be seen of it.
            self._reopen_later()
            raise
        except apsw.Error as error:
            self._reopen_later()
            raise OutcomeUnknown(
                f"the commit on {self._path} failed ({error}): it may or may not be there. "
                "Repeat the call with the same idempotency key, or look before you repeat"
            ) from error
        except BaseException:
            self._reopen_later()
            raise

    def _abort(self) -> None:
        """After a failed batch: no transaction stays open, whatever it takes."""
        if self._connection is not None and self._connection.in_transaction:
            try:
                self._connection.execute("ROLLBACK")
            except apsw.Error:
                self._reopen_later()

    def _reopen_later(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(apsw.Error):
                connection.close(True)

    def _checkpoint_if_long(self) -> None:
        """Move the WAL into the database while nobody else can write, so that it cannot grow without bound."""
        if self._connection is None or self._wal_pages < self._checkpoint_at:
            return
        try:
            with self._turnstile, occupancy:
                self._checkpoint(self._connection, self._wal_pages)
        except apsw.BusyError:
            pass  # A reader still needs the old pages.
        except (apsw.Error, OSError) as error:
            log.warning("checkpoint of %s failed: %s", self._path, error)

    def _checkpoint(self, connection: apsw.Connection, pages: int) -> None:
        # Where it comes to nothing, it is tried again when the WAL has grown by some more.
        self._checkpoint_at = pages + max(CHECKPOINT_PAGES, pages // 4)
        if pages < TRUNCATE_PAGES:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            return
        # Many short tries: one long one waits for a place among the readers that the next reader has already taken
        # with a newer snapshot, and would not notice.
        for tries_left in reversed(range(1 if pages < PATIENT_PAGES else BUSY_TRIES)):
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                break
            except apsw.BusyError:
                if not tries_left:
                    raise
        self._wal_pages, self._checkpoint_at = 0, CHECKPOINT_PAGES

    def _adopt(self, connection: apsw.Connection) -> None:
        connection.set_wal_hook(self._note_wal_size)
        connection.pragma("journal_size_limit", TRUNCATE_PAGES * connection.pragma("page_size"))
        self._data_version = connection.pragma("data_version")

    def _note_wal_size(self, connection: apsw.Connection, database: str, pages: int) -> int:
        if pages < self._wal_pages:
            # It began anew at its start.
            self._checkpoint_at = CHECKPOINT_PAGES
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _wal_has_moved(self) -> bool:
        """Whether it is worth asking the database. Two writes in one tick of the file's clock look like one."""
        try:
            found = os.stat(self._wal_path)
        except OSError:
            return True
        seen, self._wal_seen = self._wal_seen, (found.st_mtime_ns, found.st_size)
        return seen != self._wal_seen or time.monotonic() - self._looked_at > SURE_POLL_S

    def _notice_foreign_commits(self) -> None:
        self._looked_at = time.monotonic()
        if self._connection is None:
            return
        try:
            with occupancy:
                version = self._connection.pragma("data_version")
        except apsw.Error:
            return
        if version != self._data_version:
            self._data_version = version
            self._announce(Changes(unknown=True))

    def _translated(self, error: BaseException) -> BaseException:
        if not isinstance(error, DATABASE_ERRORS):
            return error
        translated = translate(error, self._path)
        translated.__cause__ = error
        return translated

    def _failure_of_all(self, error: BaseException) -> BaseException:
        """What everybody in a batch hears; the error itself may be the business of one of them."""
        if isinstance(error, OSError):
            return StoreUnavailable(f"the locks of {self._path} cannot be used ({error.strerror}); nothing was written")
        if isinstance(error, (*DATABASE_ERRORS, StoreError)):
            return self._translated(error)
        return StoreError(f"the transaction on {self._path} was undone because of another call; nothing was written")


def _answer(letter: Letter) -> None:
    if not letter.future.set_running_or_notify_cancel():
        return
    if letter.error is not None:
        letter.future.set_exception(letter.error)
    else:
        letter.future.set_result(letter.result)
