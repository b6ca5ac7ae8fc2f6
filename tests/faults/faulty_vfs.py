"""A disk that can fail: an SQLite VFS on top of the real one that breaks where it is told to.

It counts what SQLite asks of it, fails the n-th request of a kind, and keeps a tape of all that changed a file, from
which `crash_image` builds what a power cut leaves behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import TypeAlias

import apsw
from msgspec import Struct


class Act(StrEnum):
    """What SQLite asks of a disk."""

    OPEN = "open"
    READ = "read"
    WRITE = "write"
    SYNC = "sync"
    TRUNCATE = "truncate"
    DELETE = "delete"
    CONTROL = "control"


class How(StrEnum):
    """How a request fails."""

    ERROR = "error"
    FULL = "full"
    TORN = "torn"


CODES = {
    Act.OPEN: apsw.SQLITE_CANTOPEN,
    Act.READ: apsw.SQLITE_IOERR_READ,
    Act.WRITE: apsw.SQLITE_IOERR_WRITE,
    Act.SYNC: apsw.SQLITE_IOERR_FSYNC,
    Act.TRUNCATE: apsw.SQLITE_IOERR_TRUNCATE,
    Act.DELETE: apsw.SQLITE_IOERR_DELETE,
    Act.CONTROL: apsw.SQLITE_IOERR,
}


class Fault(Struct):
    """The `nth` request of a kind fails, and `times - 1` more after it."""

    act: Act
    nth: int
    how: How = How.ERROR
    times: int = 1

    def strikes(self, number: int) -> bool:
        """Whether the request with this number is one that fails."""
        return self.nth <= number < self.nth + self.times

    def error(self) -> Exception:
        """What SQLite is told."""
        code = apsw.SQLITE_FULL if self.how is How.FULL else CODES[self.act]
        error = apsw.exception_for(code)
        error.args = (f"{self.act} {self.nth} failed on purpose",)
        return error


class Op(Struct, frozen=True):
    """Something that changed a file, or was meant to make the changes last. `file` is what follows the name."""

    act: Act
    file: str
    offset: int = 0
    data: bytes = b""
    failed: bool = False


class FaultyDisk(apsw.VFS):
    """Register one, name it to the engine as `vfs=disk.name`, and set `fault`; `close` when done."""

    _numbers = count(1)

    def __init__(self, path: str) -> None:
        self.name = f"faulty-{next(self._numbers)}"
        self.path = path
        self.fault: Fault | None = None
        self.asked: Counter[Act] = Counter()
        self.tape: list[Op] = []
        self.struck = 0
        super().__init__(self.name, "")

    def close(self) -> None:
        """Take the disk out of SQLite's list."""
        self.unregister()

    def break_next(self, fault: Fault | None) -> None:
        """Begin to count anew, towards this fault."""
        self.asked.clear()
        self.struck = 0
        self.fault = fault

    def request(self, act: Act) -> Fault | None:
        """Count a request; the fault, if this is the one that fails."""
        self.asked[act] += 1
        fault = self.fault
        if fault is None or fault.act is not act or not fault.strikes(self.asked[act]):
            return None
        self.struck += 1
        return fault

    def suffix(self, filename: str) -> str:
        """Which of the database's files this is: '' for the main one, '-wal', '-journal'."""
        return filename.removeprefix(self.path)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        fault = self.request(Act.OPEN)
        if fault is not None:
            raise fault.error()
        return FaultyFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        fault = self.request(Act.DELETE)
        if fault is not None:
            raise fault.error()
        super().xDelete(filename, syncdir)
        self.tape.append(Op(Act.DELETE, self.suffix(filename)))


class FaultyFile(apsw.VFSFile):
    """One open file of a faulty disk."""

    def __init__(self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._suffix = disk.suffix(name.filename() if isinstance(name, apsw.URIFilename) else name or "temporary")
        super().__init__("", name, flags)
        disk.tape.append(Op(Act.OPEN, self._suffix))

    def xRead(self, amount: int, offset: int) -> bytes:
        self._refuse(Act.READ)
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:
        fault = self._disk.request(Act.WRITE)
        if fault is not None and fault.how is not How.ERROR:
            # A disk that fills up, or fails half-way, has taken the first half.
            self._write(data[: len(data) // 2], offset)
        if fault is not None:
            raise fault.error()
        self._write(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._refuse(Act.TRUNCATE)
        super().xTruncate(newsize)
        self._disk.tape.append(Op(Act.TRUNCATE, self._suffix, newsize))

    def xSync(self, flags: int) -> None:
        fault = self._disk.request(Act.SYNC)
        self._disk.tape.append(Op(Act.SYNC, self._suffix, failed=fault is not None))
        if fault is not None:
            raise fault.error()
        super().xSync(flags)

    def xFileControl(self, op: int, ptr: int) -> bool:
        self._refuse(Act.CONTROL)
        return super().xFileControl(op, ptr)

    def excepthook(self, *error: object) -> bool:
        """Errors that SQLite meets where it can tell nobody, as when it closes a file: expected here."""
        return True

    def _refuse(self, act: Act) -> None:
        fault = self._disk.request(act)
        if fault is not None:
            raise fault.error()

    def _write(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._disk.tape.append(Op(Act.WRITE, self._suffix, offset, bytes(data)))


NewDisk: TypeAlias = Callable[[Path], FaultyDisk]
