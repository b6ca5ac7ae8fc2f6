"""Side files: what a process says while it lives, readable after it was killed at any instant.

Every process writes a file of its own, one `write` for each line, so that a kill can cut off the last line at most.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from holdfast import Context


class Entry(Struct, frozen=True):
    """One line: which process life said what, and when by the machine's monotonic clock."""

    life: str
    word: str
    about: tuple[str, ...]
    at: int


class Journal:
    """Where one process writes down what it does."""

    def __init__(self, folder: Path) -> None:
        path = folder / f"{os.getpid()}-{time.monotonic_ns()}.journal"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(self, word: str, *about: str) -> None:
        """Write a line; it is in the file when this returns."""
        os.write(self._file, " ".join((str(time.monotonic_ns()), word, *about, "\n")).encode())

    @contextmanager
    def run(self, ctx: Context) -> Iterator[None]:
        """Note the start and the end of a run."""
        self.note("start", ctx.run_id, ctx.job.id)
        try:
            yield
        finally:
            self.note("end", ctx.run_id, ctx.job.id)


def entries(folder: Path, *words: str) -> list[Entry]:
    """What all processes wrote, in the order of time; only these words if any are given."""
    found = [entry for path in folder.glob("*.journal") for entry in _read(path)]
    return sorted((entry for entry in found if not words or entry.word in words), key=lambda entry: entry.at)


def _read(path: Path) -> Iterator[Entry]:
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith(" \n"):
            at, word, *about = line.split()
            yield Entry(path.stem, word, tuple(about), int(at))
