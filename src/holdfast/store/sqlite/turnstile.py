"""Who may write next among the processes that share a file.

SQLite lets waiting writers poll, so a busy one can starve the rest. Here the waiting is ordered by two file locks:
whoever waits holds the gate, so the process that just wrote cannot slip in again before the one at the gate.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from types import TracebackType


class Turnstile:
    """A fair, blocking lock between processes. One per writer thread."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._gate = _open(folder / "gate")
        self._turn = _open(folder / "turn")

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

    def close(self) -> None:
        """Let go; also what a forked child does with the copies it inherited."""
        os.close(self._gate)
        os.close(self._turn)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
