"""The writer: one thread that owns the only writing connection of this process.

It takes the scripts that wait, runs each in a savepoint, commits once, and only then answers. While the store cannot be
written, it refuses them at once, and tries again from time to time.
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
from holdfast.store.sqlite.write_connection import WritingConnection
from holdfast.store.sqlite.write_lock import WriteLock
from holdfast.store.tally import Tally, Watcher
from holdfast.store.topics import UNKNOWN
from holdfast.store.trouble import LASTING, MAY_LAST, TroubleKind, Troubles, cause

SLICE_S = 0.005
FOREIGN_POLL_S = 0.025


class QueuedWrite:
    """A script that waits, and where its answer goes."""

    __slots__ = ("args", "changes", "error", "future", "kw", "result", "script")

    def __init__(self, script: Callable[..., Any], args: tuple[Any, ...], kw: dict[str, Any]) -> None:
        self.script = script
        self.args = args
        self.kw = kw
        self.future: Future[Any] = Future()
        self.result: Any = None
        self.error: BaseException | None = None


class Writer:
    """Runs the scripts that wait, until it is closed, in a thread of its own. Other threads `post` and `close`."""

    def __init__(
        self,
        path: str,
        connect: Callable[[], apsw.Connection],
        write_lock: WriteLock,
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
        self._write_lock = write_lock
        self._ids = ids
        self._here = here
        self._announce = announce
        self._committed = committed
        self._is_heard = is_heard
        self._troubles = troubles
        self._now = now
        self._waiting: queue.SimpleQueue[QueuedWrite | None] = queue.SimpleQueue()
        self._closing_lock = threading.Lock()
        self._is_closed = False
        self._has_work = True
        self._writing = WritingConnection(path, connect, write_lock, is_hopeless=is_hopeless)
        forget_after_fork(self)
        self._thread = threading.Thread(target=self._work, name="holdfast-writer", daemon=True)
        self._thread.start()

    def post(self, write: QueuedWrite) -> bool:
        """Let a script wait for its turn. False: the writer is closed, and will not run it."""
        with self._closing_lock:
            if not self._is_closed:
                self._waiting.put(write)
            return not self._is_closed

    def wake(self) -> None:
        """Have it look for listeners again. Only with listeners it watches for the commits of other processes."""
        self.post(QueuedWrite(lambda tx: None, (), {}))

    def close(self) -> None:
        """Run what waits, then stop."""
        with self._closing_lock:
            self._is_closed = True
            self._waiting.put(None)
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
                first = self._waiting.get(timeout=self._patience())
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
        """How many seconds to wait for a script, before it looks for foreign commits or tries to write again."""
        waits = (FOREIGN_POLL_S if self._is_heard() else None, self._troubles.try_in)
        return min((wait for wait in waits if wait is not None), default=None)

    def _serve(self, first: QueuedWrite) -> None:
        self._try_if_due()
        first.error = self._troubles.refusal()
        if first.error is None:
            self._run_batch(first)
        else:
            _answer(first)

    def _run_batch(self, first: QueuedWrite) -> None:
        """Run all that waits in one transaction, within a slice of time."""
        writes = [first]
        changes = Changes()
        tally = Tally()
        took: float | None = None
        try:
            try:
                changes, took = self._attempt(writes, tally)
            except apsw.Error as error:
                if not self._may_pass(error):
                    raise
                # Nothing of it was stored, and it may go well on a fresh connection.
                tally = Tally()
                changes, took = self._attempt(writes, tally)
        except BaseException as error:
            failure = self._failure_of_all(error)
            for write in writes:
                write.error = write.error or failure
            self._find_out(error, failure)
        for write in writes:
            _answer(write)
        if changes:
            self._announce(changes)
        if took is not None:
            # After the answers, because no caller waits for what is counted and logged.
            self._committed(took, tally)
        self._writing.checkpoint_if_long()
        if self._is_heard() and time.monotonic() - self._writing.looked_at > FOREIGN_POLL_S:
            self._notice_foreign_commits()

    def _attempt(self, writes: list[QueuedWrite], tally: Tally) -> tuple[Changes, float]:
        """Run these and what else waits. Return what changed, and how many seconds it took."""
        with self._write_lock, occupancy:
            began = time.monotonic()
            try:
                return self._transact(writes, tally), time.monotonic() - began
            except BaseException:
                self._writing.abort()
                raise

    def _transact(self, writes: list[QueuedWrite], tally: Tally) -> Changes:
        connection = self._writing.begin()
        tx = SqliteTx(connection, self._ids, self._here)
        until = time.monotonic() + SLICE_S
        changes = Changes()
        for write in writes:  # The list grows on the way.
            tx.changes, tx.tally = Changes(), Tally()
            self._run_one(connection, tx, write)
            if write.error is None:
                changes.merge(tx.changes)
                tally.merge(tx.tally)
            if write is writes[-1] and time.monotonic() < until:
                self._take_one_more(writes)
        self._writing.commit()
        return changes

    def _take_one_more(self, writes: list[QueuedWrite]) -> None:
        with suppress(queue.Empty):
            write = self._waiting.get_nowait()
            if write is None:
                self._has_work = False
            else:
                writes.append(write)

    def _run_one(self, connection: apsw.Connection, tx: SqliteTx, write: QueuedWrite) -> None:
        connection.execute("SAVEPOINT script")
        write.error = None
        try:
            write.result = write.script(tx, *write.args, **write.kw)
            connection.execute("RELEASE script")
        except BaseException as error:
            write.error = self._translated(error)
            if not connection.in_transaction or (isinstance(error, apsw.Error) and kind_of(error) in LASTING):
                # SQLite has thrown away the work of the others too, or is in no state to go on with it.
                raise
            connection.execute("ROLLBACK TO script")
            connection.execute("RELEASE script")

    def _may_pass(self, error: apsw.Error) -> bool:
        """Whether another try on a fresh connection may go well. If so, the next use makes one."""
        kind = kind_of(error)
        if kind is None or kind in (TroubleKind.BUSY, TroubleKind.CORRUPT):
            return False
        with occupancy:
            self._writing.give_up()
        return True

    def _find_out(self, error: BaseException, failure: BaseException) -> None:
        """After a failed batch: find out whether the store is to blame, and whether it can be written at all."""
        if isinstance(error, OutcomeUnknown) and isinstance(error.__cause__, apsw.Error):
            # That its outcome is unknown is for the callers of this commit alone.
            error = error.__cause__
            failure = translate(error, self._path)
        kind = kind_of(error)
        if kind is None:
            return
        if kind is TroubleKind.CORRUPT:
            self._writing.note_damage()
        cannot_write = kind in MAY_LAST and (kind is TroubleKind.CORRUPT or not self._writing.can_write(kind))
        self._troubles.count(kind, str(failure), self._now(), lasts=cannot_write or kind in LASTING)
        if cannot_write:
            self._troubles.begin(kind, cause(str(failure)), self._now())

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
            self._announce(Changes(topics={UNKNOWN}))

    def _translated(self, error: BaseException) -> BaseException:
        if not isinstance(error, DATABASE_ERRORS):
            return error
        translated = translate(error, self._path)
        translated.__cause__ = error
        return translated

    def _failure_of_all(self, error: BaseException) -> BaseException:
        """The error for the callers of a batch that have none of their own."""
        if isinstance(error, OSError):
            return StoreUnavailable(f"the locks of {self._path} cannot be used ({error.strerror}); nothing was written")
        if isinstance(error, (*DATABASE_ERRORS, StoreError)):
            return self._translated(error)
        return StoreError(f"the transaction on {self._path} was undone because of another call; nothing was written")


def _answer(write: QueuedWrite) -> None:
    if not write.future.set_running_or_notify_cancel():
        return
    if write.error is not None:
        write.future.set_exception(write.error)
    else:
        write.future.set_result(write.result)
