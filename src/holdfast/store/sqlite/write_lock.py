"""Which process may write next to a file that several share.

SQLite lets waiting writers poll, so a busy one can starve the rest. Two file locks order the waiting: the gate and the
turn. A process that waits for the turn holds the gate, so the one that just wrote cannot be next again before it.

A lock that is let go wakes those who wait for it, but until one of them gets a processor, anybody can take it. So
those who wait for the gate share a third lock, and a process that has just written lets them come first.
"""

from __future__ import annotations

import fcntl
import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType

from holdfast.private_files import make_private_folder
from holdfast.store.forks import forget_after_fork

WAKING_S = 0.025
LOOK_S = 0.0001


def locks_of(path: str) -> Path:
    """The folder of the locks beside a file, the same for all names of the file."""
    return Path(f"{os.path.realpath(path)}-locks")


class WriteLock:
    """A fair lock between processes. Each writer thread has one."""

    def __init__(self, folder: Path) -> None:
        make_private_folder(folder)
        self._files: list[int] = []
        try:
            for name in ("gate", "turn", "waiting"):
                self._files.append(_open(folder / name))
        except OSError:
            self.close()
            raise
        self._gate, self._turn, self._waiting = self._files
        self._wrote_at = -math.inf
        self._patience = WAKING_S
        forget_after_fork(self)

    def __enter__(self) -> None:
        self._let_others_first()
        if not _take_at_once(self._gate):
            self._wait_for_gate()
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fcntl.flock(self._turn, fcntl.LOCK_UN)
        self._wrote_at = time.monotonic()

    def _let_others_first(self) -> None:
        """While the gate is free and others wait for it, they are just being woken. Give them a moment.

        A process that is stopped is not woken. After a moment in vain, the next one is half as long.
        """
        began = time.monotonic()
        if began - self._wrote_at > WAKING_S:
            return
        while not _is_free(self._waiting) and _is_free(self._gate):
            if self._patience < LOOK_S or time.monotonic() - began > self._patience:
                self._patience /= 2
                return
            time.sleep(LOOK_S)
        self._patience = WAKING_S

    def _wait_for_gate(self) -> None:
        with suppress(BlockingIOError):  # Another process looks just now whether somebody waits.
            fcntl.flock(self._waiting, fcntl.LOCK_SH | fcntl.LOCK_NB)
        try:
            fcntl.flock(self._gate, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._waiting, fcntl.LOCK_UN)

    @contextmanager
    def at_once(self) -> Iterator[bool]:
        """Take the turn without waiting; False if another process has it or waits for it."""
        is_ours = self._take_if_free()
        try:
            yield is_ours
        finally:
            if is_ours:
                fcntl.flock(self._turn, fcntl.LOCK_UN)

    def _take_if_free(self) -> bool:
        return not self.is_wanted and _take_at_once(self._turn)

    @property
    def is_wanted(self) -> bool:
        """Whether another process waits for the turn."""
        return not _is_free(self._gate)

    def close(self) -> None:
        """Close the files."""
        while self._files:
            os.close(self._files.pop())

    def forget(self) -> object:
        # An open copy would keep the locks of the parent after the parent is killed.
        self.close()
        return None


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _take_at_once(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_free(lock: int) -> bool:
    is_free = _take_at_once(lock)
    if is_free:
        fcntl.flock(lock, fcntl.LOCK_UN)
    return is_free
