"""The lock that says "this process lives": held by the kernel for as long as the process does, in any pid namespace."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from holdfast.private_files import make_private_folder
from holdfast.store.forks import forget_after_fork

TRY_AGAIN_S = 0.005

_held: set[LifeLock] = set()


class LifeLock:
    """An exclusive lock on a file of its own, released by the kernel at death, however the process dies.

    It is held until it is released, even if nobody refers to it any more, and is not passed on to forked children.
    BlockingIOError if another process holds it; a file that many look at needs some `patience`, because a look is a
    short lock too.
    """

    def __init__(self, path: Path, patience: float = 0.0) -> None:
        self.path = path
        make_private_folder(path.parent)
        self._file: int | None = _locked(path, time.monotonic() + patience)
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


def _locked(path: Path, until: float) -> int:
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever held it may have taken the file away in between; the lock of that file says nothing any more.
            if _is_file_at(path, file):
                return file
        except BlockingIOError:
            if time.monotonic() >= until:
                os.close(file)
                raise
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        time.sleep(TRY_AGAIN_S)


def _is_file_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


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


def is_held_by(path: str, pid: int) -> bool:
    """Whether this process, as our own pid namespace numbers it, is the one that has the lock's file open.

    A number that was written down may be another's by now, or may have been a number of another namespace.
    """
    try:
        wanted = os.stat(path)
        return any(_is_open(name, wanted) for name in _open_files(pid))
    except OSError:
        return False  # It is gone, or not ours to look at.


def _open_files(pid: int) -> list[str]:
    folder = f"/proc/{pid}/fd"
    if os.path.isdir("/proc/self/fd"):
        return [f"{folder}/{name}" for name in os.listdir(folder)]
    import psutil

    try:
        return [file.path for file in psutil.Process(pid).open_files()]
    except psutil.Error:
        return []


def _is_open(name: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(name), wanted)
    except OSError:
        return False
