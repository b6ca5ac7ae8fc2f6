"""Where archives are kept: a folder, or whatever else `obstore` reaches.

An archive is two objects: the home as a compressed stream of tar, and after it `.meta`, which says what that must be.
One without `.meta` was cut off, and counts as none.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import obstore
import zstandard
from obstore.exceptions import BaseError
from obstore.store import LocalStore

from holdfast.core.workspaces.conditions import ConditionReason, Observation
from holdfast.decoding import decode
from holdfast.private_files import OWNER_ONLY, make_private, make_private_folder
from holdfast.workspaces.archive.packing import ChangedMeanwhile, pack
from holdfast.workspaces.archive.protocol import ArchiveAway, ArchiveLost, ArchiveMeta
from holdfast.workspaces.archive.unpacking import BadArchive, unpack
from holdfast.workspaces.backends.protocols import BackendFailed

MARKER = ".holdfast-archives"
META = ".meta"
PIECE = 1 << 20
LEVEL = 3


class StoredArchives:
    """Archives in a folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store: Any = None

    def put(self, key: str, home: Path, check: Callable[[], None], *, is_first: bool) -> ArchiveMeta:
        """Store a home: the stream, a look whether it arrived whole, and `.meta` last."""
        store = self._opened(is_first=is_first)
        make_private_folder((self._folder / key).parent)
        with _away():
            writer = _HashedWriter(obstore.open_writer(store, key, buffer_size=PIECE))
            try:
                compressor = zstandard.ZstdCompressor(level=LEVEL)
                with compressor.stream_writer(writer, closefd=False) as stream:  # type: ignore[arg-type]
                    packed = pack(home, stream, check)
            except ChangedMeanwhile as error:
                raise BackendFailed(
                    f"{error} has changed while it was read; does something else write there?"
                ) from None
            writer.complete()
            self._sync(key)
            meta = ArchiveMeta(writer.sha256, writer.size, packed)
            reading = _HashedReader(self._stream(store, key))
            for _ in reading.rest():
                check()
            if (reading.sha256, reading.size) != (meta.sha256, meta.size):
                raise BackendFailed(f"archive {key} is not what was written to it; the store may be broken")
            obstore.put(store, key + META, msgspec.json.encode(meta))
            self._sync(key + META)
        return meta

    def get(self, key: str, home: Path, check: Callable[[], None]) -> None:
        """Fill an empty folder. The sum is compared before anybody may use it."""
        store = self._opened()
        with _away():
            meta = self._meta(store, key)
            reading = _HashedReader(self._stream(store, key))
            try:
                decompressor = zstandard.ZstdDecompressor()
                with decompressor.stream_reader(reading, closefd=False) as stream:  # type: ignore[arg-type]
                    unpack(stream, home, check)
            except (BadArchive, zstandard.ZstdError) as error:
                raise _corrupted(key, str(error)) from error
            for _ in reading.rest():
                check()
            if (reading.sha256, reading.size) != (meta.sha256, meta.size):
                raise _corrupted(key, "its sum differs")

    def answers(self) -> bool:
        """Whether the folder is there."""
        return self._folder.is_dir()

    def look(self, key: str) -> Observation:
        """Whether it is there, as long as it must be."""
        try:
            store = self._opened()
            with _away():
                meta = self._meta(store, key)
                found = obstore.head(store, key)
        except ArchiveAway as error:
            return Observation(False, ConditionReason.ARCHIVE_UNREACHABLE, str(error))
        except ArchiveLost as error:
            return Observation(False, error.reason, str(error))
        except FileNotFoundError:
            return Observation(False, ConditionReason.ARCHIVE_NOT_FOUND, f"{key} is not there")
        about = f"{key} of {found['last_modified']:%Y-%m-%d %H:%M} UTC, {found['size']} bytes"
        if found["size"] != meta.size:
            return Observation(False, ConditionReason.ARCHIVE_CORRUPTED, f"{about} instead of {meta.size}")
        return Observation(True, ConditionReason.ARCHIVE_UPLOADED, about)

    def _opened(self, *, is_first: bool = False) -> Any:
        marker = self._folder / MARKER
        if not marker.exists():
            if not (is_first and self._folder.is_dir()):
                raise ArchiveAway(
                    f"the folder of archives, {self._folder}, is not there or has no file {MARKER}; is its disk "
                    "mounted?"
                )
            make_private(marker)
        if self._store is None:
            self._store = LocalStore(self._folder)
        return self._store

    def _meta(self, store: Any, key: str) -> ArchiveMeta:
        try:
            text = bytes(obstore.get(store, key + META).bytes())
            return decode(text, ArchiveMeta)
        except FileNotFoundError:
            raise ArchiveLost(ConditionReason.ARCHIVE_NOT_FOUND, f"{key}{META} is not there") from None
        except msgspec.MsgspecError as error:
            raise _corrupted(key, f"its {META} cannot be read: {error}") from error

    def _stream(self, store: Any, key: str) -> Iterator[bytes]:
        try:
            found = obstore.get(store, key)
        except FileNotFoundError:
            raise ArchiveLost(ConditionReason.ARCHIVE_NOT_FOUND, f"{key} is not there") from None
        return (bytes(piece) for piece in found.stream(min_chunk_size=PIECE))

    def _sync(self, key: str) -> None:
        """Have an object on the disk, with all folders on the way to it: the home is removed after that."""
        path = self._folder / key
        path.chmod(OWNER_ONLY)
        while path != self._folder.parent:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(file)
            finally:
                os.close(file)
            path = path.parent


class _away:  # read as `with _away():`
    """What the store itself says becomes ArchiveAway. What is not there stays FileNotFoundError."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, BaseError) and not isinstance(error, FileNotFoundError):
            raise ArchiveAway(str(error).partition("\n")[0]) from error


class _HashedWriter(io.RawIOBase):
    """Writes, and knows the sum of all that it wrote."""

    def __init__(self, out: Any) -> None:
        super().__init__()
        self._out = out
        self._sum = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._sum.hexdigest()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._out.write(data)
        self._sum.update(data)
        self.size += len(data)
        return len(data)

    def complete(self) -> None:
        """Have the object there. Until then there is none."""
        self._out.close()


class _HashedReader(io.RawIOBase):
    """Reads a stream of pieces, or is one, and knows the sum of all that it has read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._left = b""
        self._sum = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._sum.hexdigest()

    def readable(self) -> bool:
        return True

    def rest(self) -> Iterator[bytes]:
        """What has not been read yet, piece by piece."""
        while piece := self.read(PIECE):
            yield piece

    def read(self, size: int = -1) -> bytes:
        if not self._left:
            self._left = next(self._pieces, b"")
            self._sum.update(self._left)
            self.size += len(self._left)
        found, self._left = (self._left, b"") if size < 0 else (self._left[:size], self._left[size:])
        return found


def _corrupted(key: str, why: str) -> ArchiveLost:
    return ArchiveLost(ConditionReason.ARCHIVE_CORRUPTED, f"archive {key} is broken: {why}")
