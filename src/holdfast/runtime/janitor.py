"""Forgets what ended long ago, a little at a time: the rows first, then the files that belong to none."""

from __future__ import annotations

import asyncio

from holdfast.core.job import Millis
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Engine
from holdfast.store.files import JobFiles
from holdfast.store.scripts.events import EVENTS_BATCH, KEEP_EVENTS_MS, forget_events
from holdfast.store.scripts.letters import NAMED_AT_ONCE, name_old_letters
from holdfast.store.scripts.machines import forget_machines
from holdfast.store.scripts.retention import BATCH, KEEP_MS, forget_old, known_jobs

ROUND_S = 3_600.0
BREATH_S = 0.05


class Janitor(Loop):
    """Once an hour; while there is more to forget, in short scripts with a breath in between."""

    def __init__(self, engine: Engine, clock: Clock, keep_ms: Millis = KEEP_MS) -> None:
        super().__init__(clock)
        self._engine = engine
        self._keep_ms = keep_ms

    async def tick(self) -> float | None:
        removed = await self._engine.write(forget_old, self.clock.now() - self._keep_ms)
        if removed >= BATCH:
            return BREATH_S
        gone = await self._engine.write(forget_events, self.clock.now() - min(self._keep_ms, KEEP_EVENTS_MS))
        if gone >= EVENTS_BATCH or await self._engine.write(name_old_letters) >= NAMED_AT_ONCE:
            return BREATH_S
        await self._engine.write(forget_machines, self.clock.now() - self._keep_ms)
        await self._sweep()
        return ROUND_S

    async def _sweep(self) -> None:
        """Remove the files of jobs that no longer exist. A crash between the rows and the files leaves nothing behind.

        The folders are listed before the jobs are looked up: a job that has a folder by then has a row by then. Those
        that no job here would have outlived are left alone: they may belong to another database of the same home, or to
        jobs that an older copy of this one, just restored, does not know.
        """
        files, before = JobFiles(self._engine.files), self.clock.now() - self._keep_ms
        jobs = await asyncio.to_thread(files.jobs)
        for start in range(0, len(jobs), BATCH):
            batch = jobs[start : start + BATCH]
            known = set(await self._engine.read(known_jobs, batch))
            for job_id in batch:
                if job_id not in known and files.changed_at(job_id) < before and not self._stopping:
                    await asyncio.to_thread(files.forget, job_id)
