"""What runs leave behind as files: `<folder>/<job>/runs/<run>/…` for logs, `<folder>/<job>/artifacts/…`.

A log is one stream of bytes in segments, each named by the offset of its first byte. The oldest ones may be gone. An
offset always means the same byte.
"""

from __future__ import annotations

import errno
import heapq
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Struct, structs

from holdfast.core.errors import InvalidInput, NotFound, StoreUnavailable
from holdfast.core.job import JobId, Millis, RunId
from holdfast.core.messages.runs import Artifact
from holdfast.core.rules import limits
from holdfast.core.settings import rule_table
from holdfast.private_files import make_private_folder, open_file
from holdfast.store.file_walk import FOLDER, FileWalk, open_folder, opened_folder
from holdfast.store.removal import remove_folder

LONGEST_NAME = 250
LONGEST_ARTIFACT = 1_000
MOST_LISTED = 1_000
MOST_STEPS = 100_000
LONGEST_TAIL = 1 << 20

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
_SEGMENT = re.compile(r"(\d{20})\.log", re.ASCII)
_MOST_LOOKS = 100
# The errors when what is opened is not there, is a link, or is no file.
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EINVAL)


class Excerpt(Struct, frozen=True):
    """A piece of a log: where it really begins, its bytes, and where the log ends by now."""

    offset: int
    data: bytes
    end: int


class Segment(Struct, frozen=True, order=True):
    """A part of a log: the offset of its first byte, and the name of its file."""

    start: int
    name: str


class JobFiles:
    """The files of all jobs of one database on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def of_job(self, job_id: JobId) -> Path:
        """The folder of a job, whether it exists or not."""
        return self.folder / folder_name(job_id)

    def log_of(self, job_id: JobId, run_id: RunId) -> Path:
        """The folder with the log of a run."""
        return self.of_job(job_id) / "runs" / folder_name(run_id)

    def artifacts_of(self, job_id: JobId) -> Path:
        """The folder with the artifacts of a job."""
        return self.of_job(job_id) / "artifacts"

    def make(self, path: Path) -> Path:
        """Make a folder below ours that no other user can read."""
        make_private_folder(self.folder)
        if self.folder.lstat().st_uid != os.geteuid():
            raise StoreUnavailable(f"{self.folder} belongs to another user; remove it, or choose another folder")
        folder = self.folder
        for part in path.relative_to(self.folder).parts:
            folder = folder / part
            make_private_folder(folder)
            if folder.is_symlink():
                raise StoreUnavailable(f"{folder} is a link; remove it, so that a folder can be made")
        return path

    def read(self, job_id: JobId, run_id: RunId, offset: int = 0, limit: int = 1 << 16) -> Excerpt:
        """At most `limit` bytes of a log from `offset` on, or from the oldest byte that is kept."""
        for _ in range(_MOST_LOOKS):
            # If the writer is much faster, even the newest segment may be gone when it is read. Then look again.
            with suppress(FileNotFoundError):
                return self._read(self.log_of(job_id, run_id), offset, limit)
        return Excerpt(offset, b"", offset)

    def _read(self, log: Path, offset: int, limit: int) -> Excerpt:
        try:
            folder = open_folder(self.folder, log.relative_to(self.folder).parts)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return Excerpt(0, b"", 0)
            raise
        try:
            return _read(folder, segments_of(folder), offset, limit)
        finally:
            os.close(folder)

    def tail(self, job_id: JobId, run_id: RunId, lines: int) -> Excerpt:
        """The last lines of a log, but no more than its last megabyte."""
        end = self.read(job_id, run_id, limit=0).end
        last = self.read(job_id, run_id, max(0, end - LONGEST_TAIL), 2 * LONGEST_TAIL)
        at = len(last.data) - last.data.endswith(b"\n")
        for _ in range(lines):
            at = last.data.rfind(b"\n", 0, max(at, 0))
            if at < 0:
                break
        start = len(last.data) if lines <= 0 else at + 1
        return Excerpt(last.offset + start, last.data[start:], last.end)

    def artifact(self, job_id: JobId, name: str) -> Path:
        """Where a task may write an artifact; the folder is made."""
        *folders, last = check_artifact(name)
        folder = self.make(self.artifacts_of(job_id))
        for part in folders:
            folder = folder / part
            if folder.is_symlink():
                raise InvalidInput(f"artifact {limits.shown(name)} leads through a link; use folders")
            folder.mkdir(mode=0o700, exist_ok=True)
        if (folder / last).is_symlink():
            raise InvalidInput(f"artifact {limits.shown(name)} is a link; use a file")
        return folder / last

    def artifacts(self, job_id: JobId) -> list[Artifact]:
        """The artifacts of a job, sorted by name; the first thousand of them.

        If there are more, or if folders are too many or too deep to be read, the last one says so.
        """
        try:
            with opened_folder(self.folder, [folder_name(job_id), "artifacts"]) as top:
                walk = FileWalk(top, _may_be_named, LONGEST_ARTIFACT, MOST_STEPS)
                found = heapq.nsmallest(MOST_LISTED + 1, walk)  # by name; only so many are kept
        except OSError:
            # There is none.
            return []
        artifacts = [Artifact(name, size) for name, size in found]
        return _cut(artifacts, MOST_LISTED) if walk.is_cut or len(found) > MOST_LISTED else artifacts

    def open_artifact(self, job_id: JobId, name: str) -> BinaryIO:
        """An artifact to read. Links are never followed."""
        *folders, last = check_artifact(name)
        try:
            with opened_folder(self.folder, [folder_name(job_id), "artifacts", *folders]) as folder:
                return os.fdopen(open_file(last, os.O_RDONLY, folder), "rb")
        except OSError:
            raise _no_artifact(job_id, name) from None

    def jobs(self) -> list[JobId]:
        """Every job that has a folder."""
        try:
            names = os.listdir(self.folder)
        except OSError:
            return []
        return [job_id for name in names if (job_id := job_of(name)) is not None and _is_storable(job_id)]

    def changed_at(self, job_id: JobId) -> Millis:
        """When the folder of a job last got a new entry, which no ended job gets. 0: there is no folder."""
        try:
            return self.of_job(job_id).lstat().st_mtime_ns // 1_000_000
        except OSError:
            return 0

    def forget(self, job_id: JobId, should_stop: Callable[[], bool] = lambda: False) -> bool:
        """Remove everything of a job. Return whether all is gone: not if it should stop before.

        OSError tells what could not be removed. What could be is gone all the same.
        """
        name = folder_name(job_id)
        try:
            parent = os.open(self.folder, FOLDER)
        except FileNotFoundError:
            return True
        try:
            return _forget(name, parent, should_stop)
        finally:
            os.close(parent)


def folder_name(id_: str) -> str:
    """The name of the folder of a job or a run: its id, encoded if it has characters that a path may misread."""
    name = id_ if _PLAIN.fullmatch(id_) else "%" + id_.encode("utf-8", "surrogatepass").hex()
    if len(name) > LONGEST_NAME:
        raise InvalidInput(f"id {limits.shown(id_)} is too long to name a folder")
    return name


def job_of(name: str) -> JobId | None:
    """The job that a folder of this name belongs to; None if it is not one of ours."""
    with suppress(ValueError, InvalidInput):
        job_id = bytes.fromhex(name[1:]).decode("utf-8", "surrogatepass") if name.startswith("%") else name
        if folder_name(job_id) == name:
            return job_id
    return None


def segments_of(folder: int | Path) -> list[Segment]:
    """The segments of a log that are there, in order. Only files count."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                Segment(int(match.group(1)), entry.name)
                for entry in entries
                if (match := _SEGMENT.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False)
            )
    except FileNotFoundError:
        return []


def segment_name(start: int) -> str:
    """The file name of the segment that begins at this offset."""
    return f"{start:020}.log"


def check_artifact(name: str) -> list[str]:
    """The parts of an artifact's name: a path with `/`, relative, without `.` and `..`."""
    parts = rule_table.check("artifact.name", name, "artifact").split("/")
    for part in parts:
        if part in ("", ".", "..") or len(os.fsencode(part)) > LONGEST_NAME:
            raise InvalidInput(
                f"artifact {limits.shown(name)} is not a valid name: use a path like 'report.html' or 'plots/a.png' "
                "that stays in its folder"
            )
    return parts


def encode_artifacts(artifacts: list[Artifact], most_bytes: int) -> bytes:
    """A list of artifacts as JSON. One that is too long is cut, and says so."""
    data = msgspec.json.encode(artifacts)
    while len(data) > most_bytes:
        artifacts = _cut(artifacts, len(artifacts) * 3 // 4)
        data = msgspec.json.encode(artifacts)
    return data


def _cut(artifacts: list[Artifact], most: int) -> list[Artifact]:
    """The first of these artifacts. The last one of them says that there are more."""
    kept = artifacts[:most]
    return [*kept[:-1], structs.replace(kept[-1], more=True)] if kept else []


def _may_be_named(part: str) -> bool:
    """Whether a path of such parts is a name of an artifact, if it is not too long."""
    try:
        check_artifact(part)
    except InvalidInput:
        return False
    return True


def _is_storable(job_id: JobId) -> bool:
    """Whether a database can hold this id. One that cannot be asked for it would end a sweep."""
    try:
        return b"\0" not in job_id.encode()
    except UnicodeEncodeError:
        return False


def _forget(name: str, folder: int, should_stop: Callable[[], bool]) -> bool:
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return remove_folder(name, folder, should_stop)
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    return True


def _no_artifact(job_id: JobId, name: str) -> NotFound:
    return NotFound(f"job {job_id} has no artifact {limits.shown(name)}")


def _read(folder: int, segments: list[Segment], offset: int, limit: int) -> Excerpt:
    if not segments:
        return Excerpt(0, b"", 0)
    last = segments[-1]
    end = last.start + os.stat(last.name, dir_fd=folder, follow_symlinks=False).st_size
    start = at = min(max(offset, segments[0].start), end)
    data = bytearray()
    for number, segment in enumerate(segments):
        behind = segments[number + 1].start if number + 1 < len(segments) else end
        wanted = min(limit - len(data), behind - at)
        if wanted <= 0:
            continue
        piece = _piece(folder, segment, at - segment.start, wanted)
        data += piece
        at += len(piece)
        if len(piece) < wanted:
            # There is a gap: its bytes were removed as the oldest, or lost when the machine went down. What comes
            # after it is for the next call.
            if data:
                break
            start = at = behind
    return Excerpt(start, bytes(data), end)


def _piece(folder: int, segment: Segment, at: int, wanted: int) -> bytes:
    """Bytes of a segment. None if it was removed, or is no file any more."""
    try:
        with os.fdopen(open_file(segment.name, os.O_RDONLY, folder), "rb") as file:
            file.seek(at)
            return file.read(wanted)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return b""
        raise
