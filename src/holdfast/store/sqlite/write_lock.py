"""Which process may write next to a file that several share.

SQLite lets waiting writers poll, so a busy one can starve the rest. Two file locks order the waiting: the gate and the
turn. A process that waits for the turn holds the gate, so the one that just wrote cannot be next again before it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from holdfast.private_files import make_private_folder
from holdfast.store.forks import forget_after_fork


def locks_of(path: str) -> Path:
    """The folder of the locks beside a file, the same for all names of the file."""
    return Path(f"{os.path.realpath(path)}-locks")


class WriteLock:
    """A fair lock between processes. Each writer thread has one."""

    def __init__(self, folder: Path) -> None:
        make_private_folder(folder)
        self._gate = _open(folder / "gate")
        try:
            self._turn = _open(folder / "turn")
        except OSError:
            os.close(self._gate)
            raise
        self._is_open = True
        forget_after_fork(self)

    def __enter__(self) -> None:
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fcntl.flock(self._turn, fcntl.LOCK_UN)

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
        if self.is_wanted:
            return False
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    @property
    def is_wanted(self) -> bool:
        """Whether another process waits for the turn."""
        try:
            fcntl.flock(self._gate, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        fcntl.flock(self._gate, fcntl.LOCK_UN)
        return False

    def close(self) -> None:
        """Close both files."""
        if self._is_open:
            self._is_open = False
            os.close(self._gate)
            os.close(self._turn)

    def forget(self) -> object:
        # An open copy would keep the locks of the parent after the parent is killed.
        self.close()
        return None


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
