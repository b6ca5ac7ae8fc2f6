"""The writer: one thread that owns the only writing connection of this process.

It takes the scripts that wait in its mailbox, runs each in a savepoint, commits once, and only then answers.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import apsw

from holdfast.core.errors import OutcomeUnknown, StoreBusy, StoreUnavailable
from holdfast.store.engine import Changes, Ids
from holdfast.store.sqlite.connection import SqliteTx
from holdfast.store.sqlite.faults import translate
from holdfast.store.sqlite.turnstile import Turnstile

SLICE_S = 0.005
FOREIGN_POLL_S = 0.025
BUSY_TRIES = 25
CHECKPOINT_PAGES = 2_000
TRUNCATE_PAGES = 8_000

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
        is_heard: Callable[[], bool],
    ) -> None:
        self._path = path
        self._connect = connect
        self._turnstile = turnstile
        self._ids = ids
        self._announce = announce
        self._is_heard = is_heard
        self._mailbox: queue.SimpleQueue[Letter | None] = queue.SimpleQueue()
        self._connection: apsw.Connection | None = connect()
        self._wal_pages = 0
        self._checkpoint_at = CHECKPOINT_PAGES
        self._data_version = 0
        self._looked_at = 0.0
        self._adopt(self._connection)
        self._thread = threading.Thread(target=self._work, name="holdfast-writer", daemon=True)
        self._thread.start()

    def post(self, letter: Letter) -> Future[Any]:
        """Put a script in the mailbox."""
        self._mailbox.put(letter)
        return letter.future

    def wake(self) -> None:
        """Look again whether somebody listens, which decides whether foreign commits are watched for."""
        self._mailbox.put(Letter(lambda tx: None, (), {}))

    def close(self) -> None:
        """Run what is in the mailbox, then stop."""
        self._mailbox.put(None)
        self._thread.join()

    def abandon(self) -> list[object]:
        """What a forked child must neither use nor close: the parent's connection and locks."""
        return [self._connection]

    def _work(self) -> None:
        open_for_work = True
        while open_for_work:
            try:
                first = self._mailbox.get(timeout=FOREIGN_POLL_S if self._is_heard() else None)
            except queue.Empty:
                self._notice_foreign_commits()
                continue
            open_for_work = first is not None and self._run_batch(first)
        self._refuse_rest()
        if self._connection is not None:
            with suppress(apsw.Error):
                self._connection.close(True)

    def _run_batch(self, first: Letter) -> bool:
        """One transaction for all that waits, within a slice of time. False once the sentinel came."""
        letters = [first]
        try:
            with self._turnstile:
                open_for_work, changes = self._transact(letters)
                self._checkpoint_if_long()
        except BaseException as error:
            self._abort()
            failure = self._translated(error)
            for letter in letters:
                letter.error = letter.error or failure
            open_for_work, changes = True, Changes()
        for letter in letters:
            _answer(letter)
        if changes:
            self._announce(changes)
        if self._is_heard() and time.monotonic() - self._looked_at > FOREIGN_POLL_S:
            self._notice_foreign_commits()
        return open_for_work

    def _transact(self, letters: list[Letter]) -> tuple[bool, Changes]:
        connection = self._begin()
        tx = SqliteTx(connection, self._ids)
        until = time.monotonic() + SLICE_S
        changes = Changes()
        letter: Letter | None = letters[0]
        open_for_work = True
        while letter is not None:
            tx.changes = Changes()
            self._run_one(connection, tx, letter)
            if letter.error is None:
                changes.merge(tx.changes)
            if time.monotonic() >= until:
                break
            try:
                letter = self._mailbox.get_nowait()
            except queue.Empty:
                break
            if letter is None:
                open_for_work = False
            else:
                letters.append(letter)
        self._commit(connection)
        return open_for_work, changes

    def _begin(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = self._connect()
            self._adopt(self._connection)
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
        pages, connection = self._wal_pages, self._connection
        if connection is None or pages < self._checkpoint_at:
            if pages < CHECKPOINT_PAGES:
                self._checkpoint_at = CHECKPOINT_PAGES
            return
        long = pages >= TRUNCATE_PAGES
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if long else apsw.SQLITE_CHECKPOINT_PASSIVE
        # Where a reader still needs the old pages, it is tried again after as many pages more.
        self._checkpoint_at = pages + CHECKPOINT_PAGES
        try:
            connection.wal_checkpoint(mode=mode)
        except apsw.BusyError:
            pass
        except apsw.Error as error:
            log.warning("checkpoint of %s failed: %s", self._path, error)

    def _adopt(self, connection: apsw.Connection) -> None:
        connection.set_wal_hook(self._note_wal_size)
        self._data_version = connection.pragma("data_version")

    def _note_wal_size(self, connection: apsw.Connection, database: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _notice_foreign_commits(self) -> None:
        self._looked_at = time.monotonic()
        if self._connection is None:
            return
        try:
            version = self._connection.pragma("data_version")
        except apsw.Error:
            return
        if version != self._data_version:
            self._data_version = version
            self._announce(Changes(unknown=True))

    def _refuse_rest(self) -> None:
        while True:
            try:
                letter = self._mailbox.get_nowait()
            except queue.Empty:
                return
            if letter is not None:
                letter.error = StoreUnavailable(f"{self._path} was closed before the call could run")
                _answer(letter)

    def _translated(self, error: BaseException) -> BaseException:
        return translate(error, self._path) if isinstance(error, apsw.Error) else error


def _answer(letter: Letter) -> None:
    if not letter.future.set_running_or_notify_cancel():
        return
    if letter.error is not None:
        letter.future.set_exception(letter.error)
    else:
        letter.future.set_result(letter.result)
