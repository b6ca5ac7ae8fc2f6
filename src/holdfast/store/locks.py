"""The lock that says "this process lives". The kernel holds it while the process lives, in any pid namespace."""

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
    """An exclusive lock on a file of its own. The kernel releases it however the process dies.

    It is held until it is released, even if no code refers to it any more. Forked children do not have it.
    BlockingIOError: another process holds it. A file that many test needs some `patience`, because each test locks it
    for a moment.
    """

    def __init__(self, path: Path, patience: float = 0.0) -> None:
        self.path = path
        make_private_folder(path.parent)
        self._file: int | None = _locked(path, time.monotonic() + patience)
        forget_after_fork(self)
        _held.add(self)

    def release(self) -> None:
        """Release it. The file is removed first, so that no process finds it unlocked and takes this one for dead."""
        if self._file is not None:
            clear(str(self.path))
            os.close(self._file)
            self._file = None
            _held.discard(self)

    def forget(self) -> object:
        # To close the copy of the child leaves the lock to the parent. To unlock it would not.
        if self._file is not None:
            os.close(self._file)
            self._file = None
        return None


def _locked(path: Path, until: float) -> int:
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last holder may have removed the file meanwhile. Then this lock means nothing.
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
    """Remove the lock file of a process that is gone, or was settled as dead."""
    with suppress(OSError):
        os.unlink(path)


def is_locked(path: str) -> bool | None:
    """Whether the process that made the file lives. None: the file cannot be opened, so it is not known."""
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
    """Whether the process with this pid in our own namespace has the lock file open.

    A stored pid may belong to another process by now, or may be of another namespace.
    """
    try:
        wanted = os.stat(path)
        return any(_is_open(name, wanted) for name in _open_files(pid))
    except OSError:
        return False  # It is gone, or of another user.


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
