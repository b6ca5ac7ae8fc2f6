"""The writer: one thread that owns the only writing connection of this process.

It takes the scripts that wait in its mailbox, runs each in a savepoint, commits once, and only then answers. While the
store cannot be written, it refuses them at once, and tries from time to time whether that is over.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import apsw

from holdfast.core.errors import OutcomeUnknown, StoreError, StoreUnavailable
from holdfast.store.engine import Changes, Ids
from holdfast.store.forks import forget_after_fork, occupancy
from holdfast.store.sqlite.connection import SqliteTx, let_go
from holdfast.store.sqlite.faults import DATABASE_ERRORS, kind_of, translate
from holdfast.store.sqlite.turnstile import Turnstile
from holdfast.store.sqlite.writing import WritingConnection
from holdfast.store.tally import Tally, Watcher
from holdfast.store.trouble import LASTING, MAY_LAST, Kind, Troubles

SLICE_S = 0.005
FOREIGN_POLL_S = 0.025


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
        here: Callable[[], str],
        announce: Callable[[Changes], None],
        committed: Watcher,
        is_heard: Callable[[], bool],
        troubles: Troubles,
        now: Callable[[], int],
        *,
        is_hopeless: bool = False,
    ) -> None:
        self._path = path
        self._turnstile = turnstile
        self._ids = ids
        self._here = here
        self._announce = announce
        self._committed = committed
        self._is_heard = is_heard
        self._troubles = troubles
        self._now = now
        self._mailbox: queue.SimpleQueue[Letter | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._is_closed = False
        self._has_work = True
        self._writing = WritingConnection(path, connect, turnstile, is_hopeless=is_hopeless)
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
        inherited = (self._writing.connection, self._writing.anchor)
        for connection in inherited:
            if connection is not None and occupancy.is_empty:
                let_go(connection)
        return inherited

    def _work(self) -> None:
        while self._has_work:
            try:
                first = self._mailbox.get(timeout=self._patience())
            except queue.Empty:
                self._try_if_due()
                if self._is_heard() and self._writing.log_has_moved():
                    self._notice_foreign_commits()
                continue
            if first is None:
                self._has_work = False
            else:
                self._serve(first)
        with occupancy:
            self._writing.close()

    def _patience(self) -> float | None:
        """How many seconds to wait for a letter before looking around."""
        waits = (FOREIGN_POLL_S if self._is_heard() else None, self._troubles.try_in)
        return min((wait for wait in waits if wait is not None), default=None)

    def _serve(self, first: Letter) -> None:
        self._try_if_due()
        first.error = self._troubles.refusal()
        if first.error is None:
            self._run_batch(first)
        else:
            _answer(first)

    def _run_batch(self, first: Letter) -> None:
        """One transaction for all that waits, within a slice of time."""
        letters = [first]
        changes = Changes()
        tally = Tally()
        took: float | None = None
        try:
            try:
                changes, took = self._attempt(letters, tally)
            except apsw.Error as error:
                if not self._may_pass(error):
                    raise
                # Nothing of it is there, and what failed once may go well on a fresh connection.
                tally = Tally()
                changes, took = self._attempt(letters, tally)
        except BaseException as error:
            failure = self._failure_of_all(error)
            for letter in letters:
                letter.error = letter.error or failure
            self._find_out(error, failure)
        for letter in letters:
            _answer(letter)
        if changes:
            self._announce(changes)
        if took is not None:
            # Nobody waits for what is counted and logged.
            self._committed(took, tally)
        self._writing.checkpoint_if_long()
        if self._is_heard() and time.monotonic() - self._writing.looked_at > FOREIGN_POLL_S:
            self._notice_foreign_commits()

    def _attempt(self, letters: list[Letter], tally: Tally) -> tuple[Changes, float]:
        """Run these letters and what else waits; what changed, and how many seconds it took."""
        with self._turnstile, occupancy:
            began = time.monotonic()
            try:
                return self._transact(letters, tally), time.monotonic() - began
            except BaseException:
                self._writing.abort()
                raise

    def _transact(self, letters: list[Letter], tally: Tally) -> Changes:
        connection = self._writing.begin()
        tx = SqliteTx(connection, self._ids, self._here)
        until = time.monotonic() + SLICE_S
        changes = Changes()
        for letter in letters:  # It grows on the way.
            tx.changes, tx.tally = Changes(), Tally()
            self._run_one(connection, tx, letter)
            if letter.error is None:
                changes.merge(tx.changes)
                tally.merge(tx.tally)
            if letter is letters[-1] and time.monotonic() < until:
                self._take_one_more(letters)
        self._writing.commit()
        return changes

    def _take_one_more(self, letters: list[Letter]) -> None:
        with suppress(queue.Empty):
            letter = self._mailbox.get_nowait()
            if letter is None:
                self._has_work = False
            else:
                letters.append(letter)

    def _run_one(self, connection: apsw.Connection, tx: SqliteTx, letter: Letter) -> None:
        connection.execute("SAVEPOINT script")
        letter.error = None
        try:
            letter.result = letter.script(tx, *letter.args, **letter.kw)
            connection.execute("RELEASE script")
        except BaseException as error:
            letter.error = self._translated(error)
            if not connection.in_transaction or (isinstance(error, apsw.Error) and kind_of(error) in LASTING):
                # SQLite has thrown away the work of the others too, or is in no state to go on with it.
                raise
            connection.execute("ROLLBACK TO script")
            connection.execute("RELEASE script")

    def _may_pass(self, error: apsw.Error) -> bool:
        """Whether the same may go well at once on a fresh connection, which is then the next one."""
        kind = kind_of(error)
        if kind is None or kind in (Kind.BUSY, Kind.CORRUPT):
            return False
        with occupancy:
            self._writing.give_up()
        return True

    def _find_out(self, error: BaseException, failure: BaseException) -> None:
        """A batch has failed: was it the store, and can that be written at all?"""
        if isinstance(error, OutcomeUnknown) and isinstance(error.__cause__, apsw.Error):
            # What became of that commit is for its callers; what comes after it is not.
            error = error.__cause__
            failure = translate(error, self._path)
        kind = kind_of(error)
        if kind is None:
            return
        if kind is Kind.CORRUPT:
            self._writing.note_damage()
        cannot_write = kind in MAY_LAST and (kind is Kind.CORRUPT or not self._writing.can_write(kind))
        self._troubles.count(kind, str(failure), self._now(), lasts=cannot_write or kind in LASTING)
        if cannot_write:
            self._troubles.begin(kind, str(failure), self._now())

    def _try_if_due(self) -> None:
        trouble = self._troubles.current
        if trouble is None or self._troubles.try_in:
            return
        if self._writing.can_write(trouble.kind):
            self._troubles.end(self._now())
        else:
            self._troubles.tried_in_vain()

    def _notice_foreign_commits(self) -> None:
        if self._writing.others_have_committed():
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
