"""Files and folders that only their owner can read, from the first moment on. What exists keeps its mode."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

OWNER_ONLY = 0o600
OWNER_ONLY_FOLDER = 0o700


def for_owner_alone(path: str, flags: int) -> int:
    """The opener for `open(…, opener=for_owner_alone)`."""
    return os.open(path, flags | os.O_CLOEXEC, OWNER_ONLY)


def make_private(path: str | Path) -> None:
    """Make an empty file for other code to fill, such as SQLite, which would let other users read it.

    FileExistsError if there is one already. That one is not opened: this process would lose its locks on it.
    """
    os.close(for_owner_alone(str(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW))


def make_private_folder(path: Path) -> None:
    """Make a folder, and those that are missing above it, for their owner alone."""
    try:
        path.mkdir(OWNER_ONLY_FOLDER, exist_ok=True)
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_private_folder(path.parent)
        path.mkdir(OWNER_ONLY_FOLDER, exist_ok=True)


def open_file(path: str | Path, flags: int, folder: int | None = None) -> int:
    """Open a regular file. OSError for a link, a folder, or a pipe, which could block for ever."""
    file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, OWNER_ONLY, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return file
