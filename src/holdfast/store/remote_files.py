"""Read a file of a run on another machine that shares the database, and answer such requests for this machine."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import Struct

from holdfast.core.errors import Elsewhere, HoldfastError, NotFound
from holdfast.core.job import Millis
from holdfast.core.jobs.run import Run
from holdfast.store.engine import Changes, Engine, new_uuid
from holdfast.store.files import JobFiles, encode_artifacts
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.scripts.runs import file_requests
from holdfast.store.scripts.runs.file_requests import PIECE_BYTES, FileAnswer, FileKind, FileRequest, FileRequestRow
from holdfast.store.topics import FILES, UNKNOWN

ANSWER_S = 10.0
LOOK_S = 1.0
# A larger one is too much for a database.
LARGEST_ARTIFACT = 64 << 20


class RunPlace(Struct, frozen=True):
    """The machine that a run was on, how many programs there answer requests, and when it was last seen."""

    id: str
    name: str
    answering: int
    seen_at: Millis

    @property
    def last_seen(self) -> str:
        """`seen_at`, in words."""
        return datetime.fromtimestamp(self.seen_at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


class RemotePiece(Struct, frozen=True):
    """Some bytes of a file: where they begin, and where the file ends by now."""

    begins: int
    data: bytes
    ends: int


def fetch(
    engine: Engine,
    run: Run,
    place: RunPlace,
    what: FileKind,
    *,
    name: str | None = None,
    start: int = 0,
    most: int = PIECE_BYTES,
) -> RemotePiece:
    """Ask the machine of a run for a piece of its files, and wait for the answer. Blocks the calling thread."""
    said = f"{_named(what, name)} of run {run.id} is on node {place.name!r}"
    if not engine.is_shared:
        raise Elsewhere(f"{said}: look there")
    if not place.answering:
        raise Elsewhere(f"{said}, which is away; it was last seen at {place.last_seen}")
    request = FileRequest(new_uuid(), place.id, run.id, what, name, start, min(most, PIECE_BYTES))
    answer = _exchange(engine, request)
    if answer is None:
        raise Elsewhere(f"{said}, which has not answered within {ANSWER_S:g} s; it was last seen at {place.last_seen}")
    if answer.data is None or answer.begins is None or answer.ends is None:
        raise NotFound(answer.problem or f"{said}, which has nothing of it")
    return RemotePiece(answer.begins, bytes(answer.data), answer.ends)


def _named(what: FileKind, name: str | None) -> str:
    return {FileKind.ARTIFACT: f"artifact {name!r}", FileKind.ARTIFACTS: "the list of artifacts"}.get(what, "the log")


def _exchange(engine: Engine, request: FileRequest) -> FileAnswer | None:
    told = threading.Event()

    def hear(changes: Changes) -> None:
        if FILES in changes.topics or UNKNOWN in changes.topics:
            told.set()

    leave = engine.listen(hear)
    try:
        until = time.monotonic() + ANSWER_S
        engine.run(file_requests.ask_file, request)
        while not engine.query(file_requests.is_answered, request.id):
            left = until - time.monotonic()
            if left <= 0:
                engine.run(file_requests.forget_requests, [request.id])
                return None
            told.wait(min(left, LOOK_S))
            told.clear()
        return engine.run(file_requests.take_answer, request.id)
    finally:
        leave()


def answer_for(engine: Engine, request: FileRequestRow) -> FileAnswer:
    """Read what is asked for on this machine. A failure is an answer too."""
    try:
        run = engine.query(read_jobs.find_run, request.run_id)
        return _answer(JobFiles(engine.files), run, request)
    except HoldfastError as error:
        return FileAnswer(problem=str(error))
    except OSError as error:
        return FileAnswer(problem=f"it cannot be read there: {error.strerror}")


def has_files(engine: Engine, request: FileRequestRow) -> bool:
    """Whether the files of the run are in the folder of this process. Another process here may have another folder."""
    with suppress(HoldfastError, OSError):
        run = engine.query(read_jobs.find_run, request.run_id)
        return JobFiles(engine.files).of_job(run.job_id).is_dir()
    return True


def _answer(files: JobFiles, run: Run, request: FileRequestRow) -> FileAnswer:
    most = min(request.most, PIECE_BYTES)
    match FileKind(request.what):
        case FileKind.LOG:
            found = files.read(run.job_id, run.id, request.start, most)
            return FileAnswer(found.offset, found.end, found.data)
        case FileKind.TAIL:
            last = files.tail(run.job_id, run.id, request.start)
            kept = last.data[-most:] if most else b""
            return FileAnswer(last.offset + len(last.data) - len(kept), last.end, kept)
        case FileKind.ARTIFACT:
            with files.open_artifact(run.job_id, request.name or "") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(request.start)
                return FileAnswer(request.start, size, file.read(most))
        case FileKind.ARTIFACTS:
            data = encode_artifacts(files.artifacts(run.job_id), PIECE_BYTES)
            return FileAnswer(0, len(data), data)
