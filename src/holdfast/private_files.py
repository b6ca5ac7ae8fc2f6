"""Files and folders that nobody but their owner can read, from the first moment on. What is there keeps its mode."""

from __future__ import annotations

import os
from pathlib import Path

OWNER_ONLY = 0o600
OWNER_ONLY_FOLDER = 0o700


def for_owner_alone(path: str, flags: int) -> int:
    """Open a file as `open(…, opener=for_owner_alone)` asks for."""
    return os.open(path, flags | os.O_CLOEXEC, OWNER_ONLY)


def make_private(path: str | Path) -> None:
    """Make an empty file for somebody else to fill, such as SQLite, which would let others read it.

    FileExistsError if there is one already. It is not opened: that would cost this process the locks it has on it.
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
