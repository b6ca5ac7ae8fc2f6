"""The logs of runs and the artifacts of jobs, as bytes."""

from __future__ import annotations

import asyncio
import mimetypes
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, BinaryIO, TypeVar
from urllib.parse import quote

from holdfast.api.answers import Answer, Headers, Stream
from holdfast.api.hub import Hub, Waiter
from holdfast.api.incoming import Incoming
from holdfast.api.long_calls import LongCalls, noticing
from holdfast.api.reading import read_request
from holdfast.api.refusals import DaemonStopping, Gone
from holdfast.api.routing import Router
from holdfast.core.errors import NotFound
from holdfast.core.messages.runs import ArtifactPart
from holdfast.core.rules.pairs import LOG, check_pairs
from holdfast.store.engine import Engine
from holdfast.store.files import Excerpt, JobFiles
from holdfast.store.scripts.runs import output
from holdfast.store.scripts.runs.file_requests import PIECE_BYTES
from holdfast.store.scripts.runs.output import Located
from holdfast.wire.special_calls import ARTIFACT, BYTES, PLAIN, RUN_LOG

PIECE = 1 << 16
LOOK_SOON_S = 0.1
LOOK_LATE_S = 1.0
# What a job wrote must not run as a page of ours in a browser.
HARMLESS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"sandbox; default-src 'none'"),
    (b"cache-control", b"no-store"),
)

T = TypeVar("T")


class Files:
    """Reads files in threads, piece by piece, so that a big file or a slow reader takes no memory."""

    def __init__(self, engine: Engine, hub: Hub, long_calls: LongCalls, threads: Executor) -> None:
        self._engine = engine
        self._hub = hub
        self._long_calls = long_calls
        self._threads = threads

    def add_to(self, router: Router) -> None:
        """Make the routes."""
        router.add(RUN_LOG, self._run_log)
        router.add(ARTIFACT, self._artifact)

    async def _run_log(self, incoming: Incoming) -> Answer | Stream:
        wanted: Any = await read_request(RUN_LOG, incoming, self._engine)
        check_pairs(LOG, lambda field: getattr(wanted, field))
        # First whether the run has ended, then the file: so the file of an ended run is complete.
        located = await self._engine.read(output.locate_run, wanted.run_id)
        first = await self._in_thread(partial(self._first, located, wanted))
        if wanted.follow:
            return self._follow(incoming, located, first)
        is_over = located.run.status is not None and first.offset + len(first.data) >= first.end
        return Answer(first.data, media=PLAIN, headers=_marks(first, is_over))

    def _first(self, located: Located, wanted: Any) -> Excerpt:
        limit = min(wanted.limit, PIECE) if wanted.follow else wanted.limit
        if wanted.lines is not None:
            return located.tail(self._engine, wanted.lines)
        offset = wanted.offset
        if wanted.tail is not None:
            offset = max(0, located.read(self._engine, 0, 0).end - wanted.tail)
        return located.read(self._engine, offset, limit)

    def _follow(self, incoming: Incoming, located: Located, first: Excerpt) -> Stream:
        run = located.run
        self._long_calls.take_place()
        waiter = Waiter()
        self._hub.wait_for_job(waiter, run.job_id)

        def leave() -> None:
            self._hub.forget_job(waiter, [run.job_id])
            self._long_calls.leave_place()

        offset = ((b"holdfast-offset", str(first.offset).encode()),)
        return Stream(self._growing(incoming, located, first, waiter), PLAIN, (*offset, *HARMLESS), leave)

    async def _growing(
        self, incoming: Incoming, located: Located, piece: Excerpt, waiter: Waiter
    ) -> AsyncIterator[bytes]:
        """The log from this piece on, until the run has ended and all of it was read."""
        pause = LOOK_SOON_S
        try:
            async with noticing(incoming, waiter):
                while True:
                    at = piece.offset + len(piece.data)
                    if piece.data:
                        yield piece.data
                        pause = LOOK_SOON_S
                    elif located.run.status is not None:
                        return
                    else:
                        await waiter.rest(pause)
                        pause = min(pause * 1.5, LOOK_LATE_S)
                        located = await self._in_thread(partial(self._engine.query, output.locate_run, located.run.id))
                    piece = await self._in_thread(partial(located.read, self._engine, at, PIECE))
        except (DaemonStopping, Gone, NotFound):
            return  # The daemon stops, the caller has gone, or the job was removed.

    async def _artifact(self, incoming: Incoming) -> Stream:
        wanted: Any = await read_request(ARTIFACT, incoming, self._engine)
        located = await self._engine.read(output.locate_job, wanted.job_id)
        self._long_calls.take_place()
        try:
            return await self._download(located, wanted.name)
        except BaseException:
            self._long_calls.leave_place()
            raise

    async def _download(self, located: Located, path: str) -> Stream:
        files = JobFiles(self._engine.files)
        try:
            file, size = await self._in_thread(partial(_opened, files, located.run.job_id, path))
        except NotFound:
            if not located.is_elsewhere(self._engine):
                raise
            first = await self._in_thread(partial(located.read_artifact, self._engine, path, 0, PIECE_BYTES))
            pieces = self._far_pieces(located, path, first)
            return Stream(pieces, *_about(path, first.size), self._long_calls.leave_place)

        def leave() -> None:
            file.close()
            self._long_calls.leave_place()

        return Stream(self._pieces(file, size), *_about(path, size), leave)

    async def _pieces(self, file: BinaryIO, size: int) -> AsyncIterator[bytes]:
        """Exactly as many bytes as the header says, even if the file grows."""
        while size > 0:
            piece = await self._in_thread(partial(file.read, min(PIECE, size)))
            if not piece:
                return
            size -= len(piece)
            yield piece

    async def _far_pieces(self, located: Located, path: str, piece: ArtifactPart) -> AsyncIterator[bytes]:
        """The same for a file on another machine. If it changes meanwhile, the answer ends early."""
        size, at = piece.size, 0
        while at < size and piece.data and piece.size == size:
            yield piece.data
            at += len(piece.data)
            if at < size:
                piece = await self._in_thread(partial(located.read_artifact, self._engine, path, at, PIECE_BYTES))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _opened(files: JobFiles, job_id: str, name: str) -> tuple[BinaryIO, int]:
    file = files.open_artifact(job_id, name)
    return file, os.fstat(file.fileno()).st_size


def _about(path: str, size: int) -> tuple[str, Headers]:
    name = path.rpartition("/")[2]
    headers: Headers = (
        (b"content-length", str(size).encode()),
        (b"content-disposition", f"attachment; filename*=UTF-8''{quote(name, safe='')}".encode()),
        *HARMLESS,
    )
    return mimetypes.guess_type(name)[0] or BYTES, headers


def _marks(piece: Excerpt, is_over: bool) -> Headers:
    return (
        (b"holdfast-offset", str(piece.offset).encode()),
        (b"holdfast-next-offset", str(piece.offset + len(piece.data)).encode()),
        (b"holdfast-eof", b"true" if is_over else b"false"),
        *HARMLESS,
    )
