"""A home as a stream of tar, in the form of POSIX (pax), with all that a file system knows of it.

Names and extended attributes are bytes, and survive as they are. Holes of files are not stored.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol, TypeAlias

from msgspec import Struct

PIECE = 1 << 18
BLOCK = 512
XATTR = "SCHILY.xattr."
SPARSE_NAME = "GNUSparseFile.0/file"

Extents: TypeAlias = list[tuple[int, int]]


class ChangedMeanwhile(Exception):
    """A file of the home has changed while it was read."""


class PackedHome(Struct, frozen=True):
    """What is in a stream: how many entries, the bytes of their files, and what was left out (sockets and devices)."""

    entries: int
    bytes: int
    left_out: int


class ByteSink(Protocol):
    """What a stream is written to."""

    def write(self, data: bytes, /) -> int:
        """Take all of it."""


def pack(home: Path, sink: ByteSink, check: Callable[[], None]) -> PackedHome:
    """Write all of a home. `check` raises if this is to stop. OSError says what cannot be read."""
    packing = _Packing(home, sink, check)
    packing.work()
    return PackedHome(packing.entries, packing.bytes, packing.left_out)


class _TarSink(io.RawIOBase):
    """Tells how far it is, as a tar file asks for that."""

    def __init__(self, sink: ByteSink) -> None:
        super().__init__()
        self._sink = sink
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(memoryview(data))  # type: ignore[arg-type]  # whatever a tar file writes is bytes
        self._sink.write(piece)
        self._at += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._at


class _Packing:
    def __init__(self, home: Path, sink: ByteSink, check: Callable[[], None]) -> None:
        self.entries = self.bytes = self.left_out = 0
        self._home = os.fsencode(home)
        self._out = _TarSink(sink)
        self._tar = tarfile.TarFile(
            fileobj=self._out, mode="w", format=tarfile.PAX_FORMAT, encoding="utf-8", errors="surrogateescape"
        )
        self._check = check
        self._first_names: dict[tuple[int, int], str] = {}

    def work(self) -> None:
        todo = [b"."]
        while todo:
            self._check()
            todo += reversed(self._folder(todo.pop()))
        self._tar.close()

    def _folder(self, name: bytes) -> list[bytes]:
        """Write a folder and the files in it. Return the folders in it."""
        path = os.path.join(self._home, name)
        before = os.lstat(path)
        self._add(name, before, tarfile.DIRTYPE)
        inside = []
        for entry in sorted(os.listdir(path)):
            inner = os.path.join(name, entry) if name != b"." else entry
            found = os.lstat(os.path.join(self._home, inner))
            if stat.S_ISDIR(found.st_mode):
                inside.append(inner)
            else:
                self._file(inner, found)
        _refuse_change(path, before, os.lstat(path))
        return inside

    def _file(self, name: bytes, found: os.stat_result) -> None:
        self._check()
        first = self._first_names.setdefault((found.st_dev, found.st_ino), os.fsdecode(name))
        path = os.path.join(self._home, name)
        if found.st_nlink > 1 and first != os.fsdecode(name):
            self._add(name, found, tarfile.LNKTYPE, link=first)
        elif stat.S_ISLNK(found.st_mode):
            self._add(name, found, tarfile.SYMTYPE, link=os.fsdecode(os.readlink(path)))
        elif stat.S_ISFIFO(found.st_mode):
            self._add(name, found, tarfile.FIFOTYPE)
        elif stat.S_ISREG(found.st_mode):
            self._regular(name, path, found)
        else:
            self.left_out += 1

    def _regular(self, name: bytes, path: bytes, found: os.stat_result) -> None:
        with open(path, "rb", buffering=0, opener=_no_link) as file:
            before = os.fstat(file.fileno())
            _refuse_change(path, found, before)
            extents = _extents(file, before)
            if extents == [(0, before.st_size)] or before.st_size == 0:
                self._add(name, before, tarfile.REGTYPE, size=before.st_size)
                self._copy(file, path, 0, before.st_size)
                self._pad(before.st_size)
            else:
                self._sparse(name, file, path, before, extents)
            _refuse_change(path, before, os.fstat(file.fileno()))
            if os.pread(file.fileno(), 1, before.st_size):
                raise ChangedMeanwhile(os.fsdecode(path))

    def _sparse(self, name: bytes, file: IO[bytes], path: bytes, found: os.stat_result, extents: Extents) -> None:
        """Write a file with holes: a map of what there is, and that (GNU, version 1.0)."""
        numbers = [len(extents), *(number for extent in extents for number in extent)]
        if not extents or sum(extents[-1]) < found.st_size:
            numbers[0] += 1
            numbers += [found.st_size, 0]
        chart = "".join(f"{number}\n" for number in numbers).encode()
        chart += bytes(-len(chart) % BLOCK)
        size = len(chart) + sum(length for _, length in extents)
        more = {
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": os.fsdecode(name),
            "GNU.sparse.realsize": str(found.st_size),
        }
        self._add(SPARSE_NAME.encode(), found, tarfile.REGTYPE, size=size, more=more, xattrs_of=name)
        self._write(chart)
        for start, length in extents:
            self._copy(file, path, start, length)
        self._pad(size)

    def _add(
        self,
        name: bytes,
        found: os.stat_result,
        kind: bytes,
        *,
        size: int = 0,
        link: str = "",
        more: dict[str, str] | None = None,
        xattrs_of: bytes | None = None,
    ) -> None:
        info = tarfile.TarInfo(os.fsdecode(name))
        info.type, info.size, info.linkname = kind, size, link
        info.mode = stat.S_IMODE(found.st_mode)
        info.uid, info.gid = found.st_uid, found.st_gid
        info.mtime = found.st_mtime_ns // 10**9
        # As text, since a number with a point does not hold nanoseconds.
        headers = {"mtime": f"{found.st_mtime_ns // 10**9}.{found.st_mtime_ns % 10**9:09d}"}
        if kind != tarfile.LNKTYPE:
            headers |= self._xattrs(xattrs_of or name)
        info.pax_headers = headers | (more or {})
        self._tar.addfile(info)
        self.entries += 1

    def _xattrs(self, name: bytes) -> dict[str, str]:
        path = os.path.join(self._home, name)
        found = {}
        with suppress(OSError, AttributeError):  # The file system, or the system, knows none.
            for key in os.listxattr(path, follow_symlinks=False):
                with suppress(OSError):
                    value = os.getxattr(path, key, follow_symlinks=False)
                    found[XATTR + key] = value.decode("utf-8", "surrogateescape")
        return found

    def _copy(self, file: IO[bytes], path: bytes, start: int, length: int) -> None:
        file.seek(start)
        while length:
            self._check()
            piece = file.read(min(PIECE, length))
            if not piece:
                raise ChangedMeanwhile(os.fsdecode(path))
            self._write(piece)
            self.bytes += len(piece)
            length -= len(piece)

    def _write(self, data: bytes) -> None:
        self._out.write(data)
        self._tar.offset += len(data)

    def _pad(self, size: int) -> None:
        self._write(bytes(-size % BLOCK))


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _extents(file: IO[bytes], found: os.stat_result) -> Extents:
    """Where a file has data: start and length of each part. All of it where the file system does not tell holes."""
    if not hasattr(os, "SEEK_DATA") or found.st_blocks * 512 >= found.st_size:
        return [(0, found.st_size)]
    extents: Extents = []
    at = 0
    while at < found.st_size:
        try:
            start = os.lseek(file.fileno(), at, os.SEEK_DATA)
        except OSError:
            break  # Behind it is only a hole.
        at = min(os.lseek(file.fileno(), start, os.SEEK_HOLE), found.st_size)
        extents.append((start, at - start))
    return extents


def _refuse_change(path: bytes, before: os.stat_result, after: os.stat_result) -> None:
    def known(one: os.stat_result) -> tuple[int, ...]:
        return one.st_dev, one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns

    if known(before) != known(after):
        raise ChangedMeanwhile(os.fsdecode(path))
