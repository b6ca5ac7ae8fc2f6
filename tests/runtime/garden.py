"""A folder on a real disk, and a database with a planner for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from holdfast.core.jobs.requests import JobFilter
from holdfast.core.messages.watches import Watch
from holdfast.core.watching.new_watch import NewWatch
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.parts import Parts, commits_of
from holdfast.runtime.planner.planner import Planner
from holdfast.runtime.planner.watched import PlannerOptions
from holdfast.store.engine import Engine, new_uuid
from holdfast.store.scripts.reading.read_jobs import list_jobs
from holdfast.store.scripts.watches.watches import add_watch, find_watch
from holdfast.store.sqlite.engine import SqliteEngine
from tests.migrated import copy_migrated

PATIENCE_S = 60.0
LOOK_S = 0.005
FAR = 3_600.0
TOLD = PlannerOptions(reconcile=FAR)  # only what the system tells is found
LOOKING = PlannerOptions(reconcile=0.05, watcher=False)  # the system tells nothing


class Garden:
    """A folder, and a database with a planner for it."""

    def __init__(self, folder: Path, engine: Engine | None = None) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.clock = SystemClock()
        self.engine = engine or SqliteEngine(
            copy_migrated(folder / "store.db"), durability="normal", now=self.clock.now
        )

        self.took: list[float] = []

    @asynccontextmanager
    async def planner(self, options: PlannerOptions = TOLD) -> AsyncIterator[Planner]:
        planner = Planner(self.engine, self.clock, options=options, on_planned=self.took.append)
        parts = Parts([planner])
        await parts.start(commits_of(self.engine))
        try:
            yield planner
        finally:
            await parts.stop()

    def save(self, name: str, text: str) -> None:
        """Write a file at one stroke, so that nobody sees half of it."""
        aside = self.root.with_name("aside")
        aside.write_text(text)
        aside.replace(self.root / name)

    async def add(self, *, is_awaited: bool = True, **fields: Any) -> Watch:
        wanted = NewWatch(id=new_uuid(), name="w", **{"path": str(self.root), "task": "index"} | fields)
        await self.engine.write(add_watch, wanted, self.clock.now())
        if is_awaited:
            await self.until(lambda watch: watch.scanned_at is not None, "the first look is over")
        return await self.watch()

    async def watch(self) -> Watch:
        return await self.engine.read(find_watch, "w")

    async def until(self, is_so: Callable[[Watch], bool], what: str) -> Watch:
        give_up = self.clock.monotonic() + PATIENCE_S
        while not is_so(watch := await self.watch()):
            assert self.clock.monotonic() < give_up, f"waited too long until {what}: {watch}"
            await asyncio.sleep(LOOK_S)
        return watch

    async def changed(self, count: int) -> list[dict[str, Any]]:
        """Wait until so many changes were taken in; the payloads of all jobs, oldest first."""
        await self.until(lambda watch: watch.changes >= count, f"{count} changes are found")
        return await self.jobs()

    async def jobs(self) -> list[dict[str, Any]]:
        page = await self.engine.read(list_jobs, JobFilter(), 1_000, None)
        return [json.loads(job.payload or "") for job in reversed(page.jobs)]


def said(jobs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(job["relative"], job["change"]) for job in jobs]
