"""A home from its stream. Whatever the stream says, nothing outside of the new folder is written.

Each folder on the way to an entry is opened by itself, from the home on, and never through a link.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from holdfast.workspaces.archive.packing import PIECE, XATTR

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER_FOLDER, _OWNER_FILE = 0o700, 0o600
_KEPT_BITS = 0o7777


class BadArchive(Exception):
    """A stream that is no archive of a home."""


class ByteSource(Protocol):
    """What a stream is read from."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


def unpack(source: ByteSource, home: Path, check: Callable[[], None]) -> int:
    """Fill an empty folder. Return how many entries there were. `check` raises if this is to stop."""
    try:
        with tarfile.TarFile(
            fileobj=_Forward(source), encoding="utf-8", errors="surrogateescape", mode="r", ignore_zeros=False
        ) as tar:
            return _Unpacking(home, check).work(tar)
    except tarfile.TarError as error:
        raise BadArchive(f"it is no tar file: {error}") from error


class _Forward(io.RawIOBase):
    """A stream that a tar file takes for a file: it only ever goes forward."""

    def __init__(self, source: ByteSource) -> None:
        super().__init__()
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence != os.SEEK_SET or offset < self._at:
            raise BadArchive("it would have to be read a second time")
        while self._at < offset and self.read(min(PIECE, offset - self._at)):
            pass
        return self._at

    def read(self, size: int = -1) -> bytes:
        """All that was asked for, unless the stream ends before."""
        pieces, left = [], size
        while left and (piece := self._source.read(left)):
            pieces.append(piece)
            left -= len(piece)
        found = b"".join(pieces)
        self._at += len(found)
        return found


class _Unpacking:
    def __init__(self, home: Path, check: Callable[[], None]) -> None:
        self._home = home
        self._check = check
        # They get their modes and times last: what is written into them would change these.
        self._folders: list[tuple[list[str], tarfile.TarInfo]] = []

    def work(self, tar: tarfile.TarFile) -> int:
        count = 0
        for info in tar:
            self._check()
            count += 1
            self._entry(tar, info)
        for parts, info in reversed(self._folders):
            with self._parent(parts) as folder:
                _dress(folder, parts[-1] if parts else ".", info)
                os.fsync(folder)
        return count

    def _entry(self, tar: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        parts = _parts(info.name)
        with self._parent(parts) as folder:
            try:
                self._make(tar, info, parts, folder)
            except FileExistsError:
                raise BadArchive(f"it has {info.name!r} twice") from None

    def _make(self, tar: tarfile.TarFile, info: tarfile.TarInfo, parts: list[str], folder: int) -> None:
        name = parts[-1] if parts else "."
        if info.isdir():
            if parts:
                os.mkdir(name, _OWNER_FOLDER, dir_fd=folder)
            self._folders.append((parts, info))
            return
        if not parts:
            raise BadArchive("its home is no folder")
        if info.isreg():
            self._fill(tar, info, name, folder)
        elif info.issym():
            os.symlink(info.linkname, name, dir_fd=folder)
        elif info.islnk():
            self._link(info, name, folder)
            return
        elif info.isfifo():
            os.mkfifo(name, _OWNER_FILE, dir_fd=folder)
        else:
            raise BadArchive(f"{info.name!r} is a device, or something unknown")
        _dress(folder, name, info)

    def _fill(self, tar: tarfile.TarFile, info: tarfile.TarInfo, name: str, folder: int) -> None:
        content = tar.extractfile(info)
        assert content is not None, "a file has content"
        file = os.open(name, _NEW, _OWNER_FILE, dir_fd=folder)
        try:
            for start, length in _extents(info):
                content.seek(start)
                while length:
                    self._check()
                    piece = content.read(min(PIECE, length))
                    if not piece:
                        raise BadArchive(f"{info.name!r} is cut off")
                    _write_all(file, piece, start)
                    start += len(piece)
                    length -= len(piece)
            os.ftruncate(file, info.size)
            os.fsync(file)
        finally:
            os.close(file)

    def _link(self, info: tarfile.TarInfo, name: str, folder: int) -> None:
        target = _parts(info.linkname)
        if not target:
            raise BadArchive(f"{info.name!r} is a link to a folder")
        with self._parent(target) as other:
            try:
                os.link(target[-1], name, src_dir_fd=other, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                raise
            except OSError as error:
                raise BadArchive(f"{info.name!r} is a link to {info.linkname!r}: {error.strerror}") from error

    @contextmanager
    def _parent(self, parts: list[str]) -> Iterator[int]:
        """The folder of an entry, open. It is reached without a link."""
        with ExitStack() as opened:
            folder = os.open(self._home, _FOLDER)
            opened.callback(os.close, folder)
            for part in parts[:-1]:
                try:
                    folder = os.open(part, _FOLDER, dir_fd=folder)
                except OSError as error:
                    raise BadArchive(f"{'/'.join(parts)!r} is in no folder of it: {error.strerror}") from error
                opened.callback(os.close, folder)
            yield folder


def _extents(info: tarfile.TarInfo) -> list[tuple[int, int]]:
    """Where a file has data, as the tar file knows of its holes."""
    found: list[tuple[int, int]] | None = getattr(info, "sparse", None)
    return [(0, info.size)] if found is None else found


def _parts(name: str) -> list[str]:
    if name.startswith("/"):
        raise BadArchive(f"{name!r} is an absolute path")
    found = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in found:
        raise BadArchive(f"{name!r} leads out of the home")
    return found


def _write_all(file: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(file, data, at)
        data, at = data[written:], at + written


def _dress(folder: int, name: str, info: tarfile.TarInfo) -> None:
    """Give an entry its owner, attributes, mode and time. Owners and some attributes only where that is allowed."""
    is_link = info.issym()
    with suppress(OSError):
        os.chown(name, info.uid, info.gid, dir_fd=folder, follow_symlinks=False)
    _set_xattrs(folder, name, info)
    if not is_link:
        os.chmod(name, info.mode & _KEPT_BITS, dir_fd=folder)
    moment = _nanoseconds(info)
    os.utime(name, ns=(moment, moment), dir_fd=folder, follow_symlinks=False)


def _set_xattrs(folder: int, name: str, info: tarfile.TarInfo) -> None:
    found = {key.removeprefix(XATTR): text for key, text in info.pax_headers.items() if key.startswith(XATTR)}
    if not found or not hasattr(os, "setxattr"):
        return
    # There is no call that takes an open folder and a name.
    path = f"/proc/self/fd/{folder}/{name}"
    for key, text in found.items():
        with suppress(OSError):
            os.setxattr(path, key, text.encode("utf-8", "surrogateescape"), follow_symlinks=False)


def _nanoseconds(info: tarfile.TarInfo) -> int:
    text = info.pax_headers.get("mtime", str(info.mtime))
    whole, _, part = text.partition(".")
    try:
        return int(whole) * 10**9 + int((part + "0" * 9)[:9])
    except ValueError:
        raise BadArchive(f"{info.name!r} has the time {text!r}") from None
