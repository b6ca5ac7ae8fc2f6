"""What a power cut leaves of a database's files, built from the tape of a faulty disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import TypeAlias

from tests.faults.faulty_vfs import Act, Op

Image: TypeAlias = dict[str, bytes]
Survives: TypeAlias = Callable[[Op], Op | None]


class Platter:
    """Replays a tape, and knows what has reached the disk for good and what might still be lost.

    A sync that failed makes nothing durable, then or later: kernels drop the pages they could not write. A disk that
    lies ignores every sync.
    """

    def __init__(self, start: Image, *, lies: bool = False) -> None:
        self._durable = {file: bytearray(data) for file, data in start.items()}
        self._pending: list[Op] = []
        self._deleted: Image = {}
        self._new: set[str] = set()
        self._lies = lies

    def play(self, ops: Iterable[Op]) -> Platter:
        """Take in what happened next."""
        for op in ops:
            self._take(op)
        return self

    def image(self, survives: Survives, *, last: Op | None = None, deletions: bool = True) -> Image:
        """The files after a cut now: all that is durable, and of the rest (and of a `last` one) what survives.

        Without `deletions`, files whose removal had not reached the folder are back.
        """
        files = {file: bytearray(data) for file, data in self._durable.items()}
        for op in filter(None, map(survives, [*self._pending, last] if last else self._pending)):
            _apply(files, op)
        back = {} if deletions else self._deleted
        return {file: bytes(data) for file, data in files.items()} | back

    def _take(self, op: Op) -> None:
        if op.act is Act.OPEN:
            if op.file and op.file not in self._durable:
                self._durable[op.file] = bytearray()
                self._new.add(op.file)
        elif op.act is Act.DELETE:
            self._deleted[op.file] = bytes(self._durable.pop(op.file, b""))
            self._pending = [other for other in self._pending if other.file != op.file]
        elif op.act is Act.SYNC:
            if not self._lies:
                self._sync(op)
        else:
            self._pending.append(op)

    def _sync(self, op: Op) -> None:
        mine = [other for other in self._pending if other.file == op.file]
        self._pending = [other for other in self._pending if other.file != op.file]
        if op.failed:
            return
        for other in mine:
            _apply(self._durable, other)
        if op.file in self._new:
            # The first sync of a new log or journal syncs its folder too, and so what was removed from there.
            self._new.discard(op.file)
            self._deleted.clear()


def _apply(files: dict[str, bytearray], op: Op) -> None:
    data = files.setdefault(op.file, bytearray())
    if op.act is Act.TRUNCATE:
        del data[op.offset :]
    else:
        if len(data) < op.offset:
            data.extend(bytes(op.offset - len(data)))
        data[op.offset : op.offset + len(op.data)] = op.data


def all_of_it(op: Op) -> Op | None:
    """The process was killed, or the cut came after a pause: everything written is there."""
    return op


def none_of_it(op: Op) -> Op | None:
    """Only what was synced is there."""
    return None


def some_of_it(random: Random) -> Survives:
    """Each write is there, or lost, or torn, whatever came after it."""

    def survives(op: Op) -> Op | None:
        fate = random.random()
        if fate < 0.4:
            return op
        return torn(op, random.random()) if fate < 0.6 else None

    return survives


def torn(op: Op, share: float) -> Op:
    """The write as it is when the power goes in the middle of it."""
    return Op(op.act, op.file, op.offset, op.data[: int(len(op.data) * share)]) if op.act is Act.WRITE else op


def read_image(path: Path) -> Image:
    """The files of a database that nobody has open."""
    files = {suffix: Path(f"{path}{suffix}") for suffix in ("", "-wal", "-journal")}
    return {suffix: file.read_bytes() for suffix, file in files.items() if file.exists()}


def write_image(image: Image, path: Path) -> Path:
    """Lay the files down as a database of its own."""
    for suffix, data in image.items():
        Path(f"{path}{suffix}").write_bytes(data)
    return path
