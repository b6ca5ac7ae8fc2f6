"""Copies that are not complete yet, and how those that a killed process left are found.

A process that makes a copy first writes its path into a file, and locks this file for as long as it lives. If there is
no lock on the file, no process will complete the copy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.private_files import make_private
from holdfast.store.engine import new_uuid
from holdfast.store.locks import LifeLock, clear, is_locked

NOTE, ENDING = "copy-", ".part"
LOOKS_S = 0.5  # Another process that tests a lock holds it for a moment.


@contextmanager
def part_of(target: Path, locks: Path) -> Iterator[Path]:
    """An empty file beside the target. It is removed at the end, unless it was renamed to the target."""
    remove_dead_parts(locks, target)
    name = new_uuid()
    part = target.with_name(f".{target.name}.{name}{ENDING}")
    note = LifeLock(locks / f"{NOTE}{name}", LOOKS_S)
    try:
        _write_down(note.path, part)
        make_private(part)
        yield part
    finally:
        part.unlink(missing_ok=True)
        note.release()


def remove_dead_parts(locks: Path, target: Path | None = None) -> None:
    """Remove copies that no process will complete, and those that earlier versions left beside the target."""
    living: set[bytes] = set()
    for note in _listed(locks, NOTE):
        part = _read(note)
        if is_locked(str(note)) is not False:
            living.add(part)
        else:
            _remove(part)
            clear(str(note))
    if target is not None:
        for path in _listed(target.parent, f".{target.name}."):
            if os.fsencode(path) not in living:
                _remove(os.fsencode(path))


def _listed(folder: Path, beginning: str) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.name.startswith(beginning)]
    except OSError:
        return []


def _write_down(note: Path, part: Path) -> None:
    with note.open("wb") as file:
        file.write(os.fsencode(part))
        file.flush()
        os.fsync(file.fileno())


def _read(note: Path) -> bytes:
    try:
        return note.read_bytes()
    except OSError:
        return b""


def _remove(part: bytes) -> None:
    if part.endswith(ENDING.encode()):
        with suppress(OSError):
            os.unlink(part)
