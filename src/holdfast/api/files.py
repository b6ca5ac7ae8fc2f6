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
from holdfast.api.refusals import Closing, Gone
from holdfast.api.routing import Router
from holdfast.core.errors import InvalidInput, NotFound
from holdfast.core.run import Run
from holdfast.store.engine import Engine
from holdfast.store.files import Excerpt, JobFiles
from holdfast.store.scripts.look import find_run
from holdfast.store.scripts.output import Located, locate_job, locate_run
from holdfast.wire.extras import ARTIFACT, BYTES, PLAIN, RUN_LOG

PIECE = 1 << 16
LOOK_SOON_S = 0.1
LOOK_LATE_S = 1.0
# Whatever a job wrote must not become a page of ours in somebody's browser.
HARMLESS: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"sandbox; default-src 'none'"),
    (b"cache-control", b"no-store"),
)

T = TypeVar("T")


class Files:
    """Reads them in threads, piece by piece, so that a big file or a slow reader costs no memory."""

    def __init__(self, engine: Engine, hub: Hub, long_calls: LongCalls, threads: Executor) -> None:
        self._engine = engine
        self._hub = hub
        self._long_calls = long_calls
        self._threads = threads

    def add_to(self, router: Router) -> None:
        """Make the routes."""
        router.add(RUN_LOG, self._run_log, is_long=True)
        router.add(ARTIFACT, self._artifact, is_long=True)

    async def _run_log(self, incoming: Incoming) -> Answer | Stream:
        wanted: Any = await read_request(RUN_LOG, incoming, self._engine)
        if wanted.tail is not None and wanted.lines is not None:
            raise InvalidInput("give either tail or lines, not both")
        # First whether it has ended, then the file: whatever comes later would have been in it.
        located = await self._engine.read(locate_run, wanted.run_id)
        first = await self._in_thread(partial(self._first, located.run, wanted))
        located.check_log_here(first, self._engine.node)
        if wanted.follow:
            return self._follow(incoming, located.run, first)
        is_over = located.run.status is not None and first.offset + len(first.data) >= first.end
        return Answer(first.data, media=PLAIN, headers=_marks(first, is_over))

    def _first(self, run: Run, wanted: Any) -> Excerpt:
        files = JobFiles(self._engine.files)
        limit = min(wanted.limit, PIECE) if wanted.follow else wanted.limit
        if wanted.lines is not None:
            return files.tail(run.job_id, run.id, wanted.lines)
        offset = wanted.offset
        if wanted.tail is not None:
            offset = max(0, files.read(run.job_id, run.id, limit=0).end - wanted.tail)
        return files.read(run.job_id, run.id, offset, limit)

    def _follow(self, incoming: Incoming, run: Run, first: Excerpt) -> Stream:
        self._long_calls.take_place()
        waiter = Waiter()
        self._hub.wait_for_job(waiter, run.job_id)

        def leave() -> None:
            self._hub.forget_job(waiter, [run.job_id])
            self._long_calls.leave_place()

        offset = ((b"holdfast-offset", str(first.offset).encode()),)
        return Stream(self._growing(incoming, run, first, waiter), PLAIN, (*offset, *HARMLESS), leave)

    async def _growing(self, incoming: Incoming, run: Run, piece: Excerpt, waiter: Waiter) -> AsyncIterator[bytes]:
        """The log from its first piece on, until the run has ended and the log is read out."""
        files, pause = JobFiles(self._engine.files), LOOK_SOON_S
        try:
            async with noticing(incoming, waiter):
                while True:
                    at = piece.offset + len(piece.data)
                    if piece.data:
                        yield piece.data
                        pause = LOOK_SOON_S
                    elif run.status is not None:
                        return
                    else:
                        await waiter.rest(pause)
                        pause = min(pause * 1.5, LOOK_LATE_S)
                        run = await self._in_thread(partial(self._engine.query, find_run, run.id))
                    piece = await self._in_thread(partial(files.read, run.job_id, run.id, at, PIECE))
        except (Closing, Gone, NotFound):
            return  # The daemon stops, the caller has gone, or the job is too old to be kept.

    async def _artifact(self, incoming: Incoming) -> Stream:
        wanted: Any = await read_request(ARTIFACT, incoming, self._engine)
        located = await self._engine.read(locate_job, wanted.job_id)
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
            located.check_here("the artifact", self._engine.node)
            raise
        name = path.rpartition("/")[2]
        media = mimetypes.guess_type(name)[0] or BYTES
        headers: Headers = (
            (b"content-length", str(size).encode()),
            (b"content-disposition", f"attachment; filename*=UTF-8''{quote(name, safe='')}".encode()),
            *HARMLESS,
        )

        def leave() -> None:
            file.close()
            self._long_calls.leave_place()

        return Stream(self._pieces(file, size), media, headers, leave)

    async def _pieces(self, file: BinaryIO, size: int) -> AsyncIterator[bytes]:
        """As many bytes as were announced, even if the file grows meanwhile."""
        while size > 0:
            piece = await self._in_thread(partial(file.read, min(PIECE, size)))
            if not piece:
                return
            size -= len(piece)
            yield piece

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _opened(files: JobFiles, job_id: str, name: str) -> tuple[BinaryIO, int]:
    file = files.open_artifact(job_id, name)
    return file, os.fstat(file.fileno()).st_size


def _marks(piece: Excerpt, is_over: bool) -> Headers:
    return (
        (b"holdfast-offset", str(piece.offset).encode()),
        (b"holdfast-next-offset", str(piece.offset + len(piece.data)).encode()),
        (b"holdfast-eof", b"true" if is_over else b"false"),
        *HARMLESS,
    )
