"""Write what a run leaves behind: its log, in segments by size, and its artifacts."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from holdfast.core.job import JobId, Millis, RunId
from holdfast.core.rules.limits import MAX_PAYLOAD
from holdfast.private_files import open_file
from holdfast.store.files import JobFiles, encode_artifacts, segment_name, segments_of

SEGMENT_BYTES = 8 << 20
MAX_LOG_BYTES = 64 << 20

log = logging.getLogger("holdfast.worker")


class LogLimits(msgspec.Struct, frozen=True):
    """How big a segment of a log becomes, and how much of a run's log is kept."""

    segment_bytes: int = SEGMENT_BYTES
    max_bytes: int = MAX_LOG_BYTES


USUAL = LogLimits()


class LogWriter:
    """Appends to the log of one run. On a full disk output is lost, but never the run. Lost bytes are counted."""

    def __init__(self, folder: Path, limits: LogLimits = USUAL) -> None:
        self._folder = folder
        self._segment_bytes = limits.segment_bytes
        self._max_bytes = limits.max_bytes
        # Code that runs during a write, such as that of a deleted object, may print in the same thread.
        self._lock = threading.RLock()
        self._file: int | None = None
        self._room = 0
        self._lost = 0
        self._end = _end_of(folder)

    def write(self, data: bytes) -> None:
        """Add to the end. Called from any thread."""
        with self._lock:
            if self._lost:
                said = f"\n[holdfast: {self._lost} bytes of output were lost here]\n".encode()
                if self._append(said):
                    self._lost += len(data)
                    return
                self._lost = 0
            left = self._append(data)
            if left:
                log.warning("the log in %s cannot be written; output is lost until it can", self._folder)
                self._lost = len(left)

    def close(self) -> None:
        """Close the file. A later write appends to it."""
        with self._lock:
            self._leave()

    def _append(self, data: bytes) -> bytes:
        """Write as much as is possible. Return what is left."""
        try:
            while data:
                if self._file is None or self._room <= 0:
                    self._next_segment()
                assert self._file is not None
                written = os.write(self._file, data[: self._room])
                self._room -= written
                self._end += written
                data = data[written:]
        except OSError:
            self._leave()
        return data

    def _next_segment(self) -> None:
        self._leave()
        self._file = open_file(self._folder / segment_name(self._end), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._room = self._segment_bytes
        self._drop_oldest()

    def _drop_oldest(self) -> None:
        segments = segments_of(self._folder)
        # The limit is for the log with one more segment, which is written before the next check.
        while len(segments) > 1 and self._end + self._segment_bytes - segments[0].start > self._max_bytes:
            (self._folder / segments.pop(0).name).unlink(missing_ok=True)

    def _leave(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _end_of(folder: Path) -> int:
    segments = segments_of(folder)
    return segments[-1].start + (folder / segments[-1].name).lstat().st_size if segments else 0


class FilesLeft(msgspec.Struct, frozen=True):
    """What a run leaves behind: its artifacts as JSON, the folder of its log and that of the artifacts, if any."""

    artifacts: str | None = None
    log_path: str | None = None
    artifact_path: str | None = None


class RunFiles:
    """The files of one run. Nothing is made before it is used."""

    def __init__(self, files: JobFiles, job_id: JobId, run_id: RunId, limits: LogLimits = USUAL) -> None:
        self._files = files
        self._limits = limits
        self._job_id = job_id
        self._run_id = run_id
        self._lock = threading.RLock()
        self._log: LogWriter | None = None
        self._is_broken = False
        self.has_artifacts = False

    @property
    def top(self) -> Path:
        """The folder of all jobs."""
        return self._files.folder

    @property
    def log_folder(self) -> Path:
        """Where the log is."""
        return self._files.log_of(self._job_id, self._run_id)

    @property
    def artifact_folder(self) -> Path:
        """Where the artifacts of the job are."""
        return self._files.artifacts_of(self._job_id)

    def open_log(self) -> None:
        """Make the log, so that there is one even if nothing is written."""
        with self._lock:
            if self._log is None:
                self._log = LogWriter(self._files.make(self.log_folder), self._limits)

    def write(self, data: bytes) -> None:
        """Add output to the log."""
        if self._log is None:
            self.open_log()
        assert self._log is not None
        self._log.write(data)

    def say(self, now: Millis, level: int, text: str) -> None:
        """Add a line of the task. It never fails, so that no task breaks because its log cannot be written."""
        moment = datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
        self.print(f"{moment}Z {logging.getLevelName(level):<7} {text}\n")

    def print(self, text: str | bytes) -> None:
        """Add output, which need not be a whole line. It never fails either."""
        try:
            self.write(text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace"))
        except Exception as error:
            if not self._is_broken:
                log.warning("the log of run %s cannot be written: %s", self._run_id, error)
            self._is_broken = True

    def artifact(self, name: str) -> Path:
        """Where the task may write an artifact."""
        path = self._files.artifact(self._job_id, name)
        self.has_artifacts = True
        return path

    def make_artifact_folder(self) -> Path:
        """The folder for artifacts, for a program that makes them by itself."""
        path = self._files.make(self.artifact_folder)
        self.has_artifacts = True
        return path

    def close(self) -> FilesLeft:
        """Close the files after the end of the run. It never fails."""
        if self._log is not None:
            self._log.close()
        artifacts = self._list_artifacts() if self.has_artifacts else None
        return FilesLeft(
            artifacts=artifacts,
            log_path=None if self._log is None else str(self.log_folder),
            artifact_path=None if artifacts is None else str(self.artifact_folder),
        )

    def _list_artifacts(self) -> str | None:
        try:
            made = self._files.artifacts(self._job_id)
            if not made:
                with suppress(OSError):
                    self.artifact_folder.rmdir()
                return None
            return encode_artifacts(made, MAX_PAYLOAD).decode()
        except Exception:
            log.exception("the artifacts of job %s cannot be listed", self._job_id)
            return None
