"""The lock that says "this process lives": held by the kernel for as long as the process does, in any pid namespace."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from holdfast.store.forks import forget_after_fork

_held: set[LifeLock] = set()


class LifeLock:
    """An exclusive lock on a file of its own, released by the kernel at death, however the process dies.

    It is held until it is released, even if nobody refers to it any more, and is not passed on to forked children.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        forget_after_fork(self)
        _held.add(self)

    def release(self) -> None:
        """Say goodbye: the file goes first, so that nobody can find it unlocked and call it a death."""
        if self._file is not None:
            clear(str(self.path))
            os.close(self._file)
            self._file = None
            _held.discard(self)

    def forget(self) -> object:
        # Closing the child's copy leaves the parent's lock alone; unlocking it would not.
        if self._file is not None:
            os.close(self._file)
            self._file = None
        return None


def clear(path: str) -> None:
    """Take away the file of a process that is gone, or that others have settled."""
    with suppress(OSError):
        os.unlink(path)


def is_locked(path: str) -> bool | None:
    """Whether the process that made the file lives: True, False, or None where the file says nothing."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
