"""What the chores of a database do, each in short steps with a breath in between; each says what it did."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from holdfast.core.job import Millis
from holdfast.core.maintenance import Chore, can_release, is_worth_vacuuming
from holdfast.core.task import RETIRED_MS
from holdfast.runtime.clock import Clock
from holdfast.runtime.node import node_name
from holdfast.store.engine import Engine
from holdfast.store.files import JobFiles
from holdfast.store.scripts.events import KEEP_EVENTS_MS, forget_events
from holdfast.store.scripts.letters import name_old_letters
from holdfast.store.scripts.machines import forget_machines
from holdfast.store.scripts.maintenance import LONGEST_LINE, loosen, release_pages, space, tight_lines
from holdfast.store.scripts.retention import forget_old, known_jobs
from holdfast.store.scripts.tasks import forget_tasks
from holdfast.store.scripts.tenants import forget_tenants
from holdfast.store.tending import Disturbed, care_of

AT_ONCE = 50  # rows that take the writer a few milliseconds
FILES_AT_ONCE = 200
VACUUM_TRIES = 5
LONGEST_NODE = 60

Did: TypeAlias = dict[str, int]
Breathe: TypeAlias = Callable[[], Awaitable[None]]


class TryLater(Exception):
    """A chore found no quiet moment."""


def place_of(engine: Engine) -> str:
    """The folder of files that this process looks after, as the name of its task says it."""
    folder = hashlib.blake2b(str(engine.files).encode("utf-8", "surrogateescape"), digest_size=3).hexdigest()
    node = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in node_name())
    return f"{node[:LONGEST_NODE]}-{folder}"


class Chores:
    """The chores of one database. `should_stop` is asked in the middle of what has no steps."""

    def __init__(self, engine: Engine, clock: Clock, keep_ms: Millis, should_stop: Callable[[], bool]) -> None:
        self._engine = engine
        self._clock = clock
        self._keep_ms = keep_ms
        self._should_stop = should_stop

    async def do(self, chore: Chore, breathe: Breathe, *, by_hand: bool) -> Did:
        """Do one; what it did. `breathe` may raise, and is called where nothing is half done."""
        match chore:
            case Chore.RETENTION:
                before = self._clock.now() - self._keep_ms
                return await self._remove(lambda: self._engine.write(forget_old, before, AT_ONCE), breathe)
            case Chore.EVENTS:
                before = self._clock.now() - min(self._keep_ms, KEEP_EVENTS_MS)
                return await self._remove(lambda: self._engine.write(forget_events, before, AT_ONCE), breathe)
            case Chore.LETTERS:
                return {"named": await _all_of(lambda: self._engine.write(name_old_letters, AT_ONCE), breathe)}
            case Chore.MACHINES:
                return {"removed": await self._engine.write(forget_machines, self._clock.now() - self._keep_ms)}
            case Chore.TENANTS:
                return await self._remove(
                    lambda: self._engine.write(forget_tenants, self._clock.now(), AT_ONCE), breathe
                )
            case Chore.TASKS:
                before = self._clock.now() - RETIRED_MS
                return await self._remove(lambda: self._engine.write(forget_tasks, before, AT_ONCE), breathe)
            case Chore.FILES:
                return await self._sweep(breathe)
            case Chore.POSITIONS:
                return await self._loosen(breathe)
            case Chore.CHECKPOINT:
                return {"freed_bytes": await asyncio.to_thread(care_of(self._engine).empty_log)}
            case Chore.ANALYZE:
                return await self._analyse(breathe)
            case Chore.INCREMENTAL_VACUUM:
                return await self._release(breathe)
            case Chore.VACUUM:
                return await self._vacuum(breathe, by_hand)

    async def _remove(self, step: Callable[[], Awaitable[int]], breathe: Breathe) -> Did:
        return {"removed": await _all_of(step, breathe)}

    async def _sweep(self, breathe: Breathe) -> Did:
        """Remove the files of jobs that no longer exist. A crash between the rows and the files leaves nothing behind.

        The folders are listed before the jobs are looked up: a job that has a folder by then has a row by then. Those
        that no job here would have outlived are left alone: they may belong to another database of the same home, or to
        jobs that an older copy of this one, just restored, does not know.
        """
        files, before = JobFiles(self._engine.files), self._clock.now() - self._keep_ms
        jobs = await asyncio.to_thread(files.jobs)
        removed = 0
        for start in range(0, len(jobs), FILES_AT_ONCE):
            batch = jobs[start : start + FILES_AT_ONCE]
            known = set(await self._engine.read(known_jobs, batch))
            for job_id in batch:
                if job_id not in known and files.changed_at(job_id) < before and not self._should_stop():
                    await asyncio.to_thread(files.forget, job_id)
                    removed += 1
            await breathe()
        return {"removed": removed}

    async def _loosen(self, breathe: Breathe) -> Did:
        moved = left = 0
        for line in await self._engine.read(tight_lines):
            if line.jobs > LONGEST_LINE:
                left += 1
                continue
            moved += await self._engine.write(loosen, line)
            await breathe()
        return {"moved": moved, "left": left}

    async def _analyse(self, breathe: Breathe) -> Did:
        care = care_of(self._engine)
        tables = await asyncio.to_thread(care.tables)
        for table in tables:
            await asyncio.to_thread(care.analyse, table)
            await breathe()
        return {"tables": len(tables)}

    async def _release(self, breathe: Breathe) -> Did:
        first = now = await self._engine.read(space)
        while can_release(now):
            free, now = now.free, await self._engine.write(release_pages)
            if now.free >= free:
                break
            await breathe()
        return {"freed_bytes": (first.pages - now.pages) * first.page_size, "free_bytes": now.free_bytes}

    async def _vacuum(self, breathe: Breathe, by_hand: bool) -> Did:
        if not by_hand and not is_worth_vacuuming(await self._engine.read(space)):
            return {"freed_bytes": 0}
        for _ in range(VACUUM_TRIES):
            try:
                done = await asyncio.to_thread(care_of(self._engine).vacuum, self._should_stop)
            except Disturbed:
                # The next try begins right behind what disturbed this one, which may be what comes every few seconds.
                await breathe()
            else:
                sizes = {"before_bytes": done.before, "after_bytes": done.after}
                return {"freed_bytes": done.before - done.after} | sizes
        raise TryLater("somebody wrote to the database each time")


async def _all_of(step: Callable[[], Awaitable[int]], breathe: Breathe) -> int:
    """Repeat a step until it finds less than it could take; how much it was."""
    done = 0
    while (found := await step()) >= AT_ONCE:
        done += found
        await breathe()
    return done + found
