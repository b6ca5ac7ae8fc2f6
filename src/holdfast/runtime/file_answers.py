"""Answers requests for files of this machine, and removes answers that were not read for a minute."""

from __future__ import annotations

import asyncio

from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Changes, Engine
from holdfast.store.remote_files import answer_for, has_files
from holdfast.store.scripts.runs import file_requests
from holdfast.store.scripts.runs.file_requests import FileRequestRow
from holdfast.store.topics import FILES, UNKNOWN

KEEP_S = 60.0
LEAVE_S = 1.0


class FileAnswers(Loop):
    """Waits until a file is asked for. It measures itself how long a request is there: the clocks of two machines may
    differ by more than that.
    """

    def __init__(self, engine: Engine, clock: Clock) -> None:
        super().__init__(clock)
        self._engine = engine
        self._seen: dict[str, float] = {}

    async def tick(self) -> float | None:
        now = self.clock.monotonic()
        rows = await self._engine.read(file_requests.list_requests)
        self._seen = {row.id: self._seen.get(row.id, now) for row in rows}
        old = [request_id for request_id, since in self._seen.items() if now - since >= KEEP_S]
        if old:
            await self._engine.write(file_requests.forget_requests, old)
        left = False
        for row in rows:
            if row.node == self._engine.node and not row.is_answered and row.id not in old:
                left |= not await self._try(row, now)
        if left:
            return LEAVE_S
        waits = [KEEP_S - (now - since) for request_id, since in self._seen.items() if request_id not in old]
        return min(waits, default=None)

    def heed(self, changes: Changes) -> None:
        if not changes.topics.isdisjoint((FILES, UNKNOWN)):
            self.wake_soon()

    async def _try(self, row: FileRequestRow, now: float) -> bool:
        """Answer a request, or leave it for a moment to another process on this machine that may have the file."""
        is_fresh = now - self._seen[row.id] < LEAVE_S
        if is_fresh and not await asyncio.to_thread(has_files, self._engine, row):
            return False
        await self._engine.write(
            file_requests.answer_file, row.id, await asyncio.to_thread(answer_for, self._engine, row)
        )
        return True
