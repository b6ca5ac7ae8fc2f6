"""The logs and artifacts of a job."""

from __future__ import annotations

from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import NotFound
from holdfast.core.messages.runs import Artifact, LogPart
from holdfast.store.files import JobFiles
from holdfast.store.script_names import output, read_jobs

KEPT_IN_MEMORY = 1 << 20


class Outputs:
    """The part of `JobHandle` that reads files."""

    _access: StoreAccess

    @property
    def id(self) -> str:
        """The job's id."""
        raise NotImplementedError

    def read_log(self, offset: int = 0, limit: int = 1 << 16, run_id: str | None = None) -> LogPart:
        """A piece of the log of a run, the last one if none is named. The next piece begins where this one ends.

        `offset` counts bytes from the beginning of the run. If they are no longer kept, the piece begins later, and
        says so. `eof` means that the run has ended and this is the last piece.
        """
        return self._access.engine.ask(output.read_log, self.id, run_id, offset, limit)

    async def aread_log(self, offset: int = 0, limit: int = 1 << 16, run_id: str | None = None) -> LogPart:
        """The awaitable twin of `read_log`."""
        import asyncio

        return await asyncio.to_thread(self.read_log, offset, limit, run_id)

    def tail(self, lines: int = 10, run_id: str | None = None) -> str:
        """The last lines of the log of a run, the last one if none is named."""
        return self._tail(lines, run_id).data.decode("utf-8", "replace")

    def _tail(self, lines: int, run_id: str | None) -> LogPart:
        return self._access.engine.ask(output.tail_log, self.id, run_id, lines)

    async def atail(self, lines: int = 10, run_id: str | None = None) -> str:
        """The awaitable twin of `tail`."""
        import asyncio

        return await asyncio.to_thread(self.tail, lines, run_id)

    def artifacts(self) -> list[Artifact]:
        """The files that the job has made so far, with their sizes."""
        return self._access.engine.ask(output.list_artifacts, self.id)

    async def aartifacts(self) -> list[Artifact]:
        """The awaitable twin of `artifacts`."""
        import asyncio

        return await asyncio.to_thread(self.artifacts)

    def open_artifact(self, name: str) -> BinaryIO:
        """An artifact to read: `with job.open_artifact("report.html") as file: …`.

        One that is on another machine is brought here first, if it has at most 64 MiB.
        """
        engine = self._access.engine
        last = self._access.read(read_jobs.find_last, self.id)
        try:
            return JobFiles(engine.files).open_artifact(last.id, name)
        except NotFound:
            part = engine.ask(output.read_artifact, last.id, name)
        file = SpooledTemporaryFile(KEPT_IN_MEMORY)  # noqa: SIM115  # the caller closes it
        while part.data:
            file.write(part.data)
            part = engine.ask(output.read_artifact, last.id, name, part.offset + len(part.data))
        file.seek(0)
        return cast(BinaryIO, file)

    async def aopen_artifact(self, name: str) -> BinaryIO:
        """The awaitable twin of `open_artifact`."""
        import asyncio

        return await asyncio.to_thread(self.open_artifact, name)
