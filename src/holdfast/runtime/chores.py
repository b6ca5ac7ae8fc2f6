"""What the chores of a database do. Each works in short steps with pauses between them, and says what it did."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

from holdfast.core.machine.maintenance import Chore, KeepTimes, can_release, is_worth_vacuuming
from holdfast.core.tasks.task import RETIRED_MS
from holdfast.runtime.clock import Clock
from holdfast.runtime.node import node_name
from holdfast.store.engine import Engine
from holdfast.store.files import JobFiles
from holdfast.store.maintenance import Disturbed
from holdfast.store.scripts.apps import records
from holdfast.store.scripts.events.events import KEEP_EVENTS_MS, forget_events
from holdfast.store.scripts.jobs import dead_letter_rows
from holdfast.store.scripts.machines.machines import forget_machines
from holdfast.store.scripts.maintenance import retention
from holdfast.store.scripts.maintenance.maintenance import LONGEST_LINE, loosen, release_pages, space, tight_lines
from holdfast.store.scripts.queues.tenants import forget_tenants
from holdfast.store.scripts.tasks import declared_tasks

AT_ONCE = 50  # rows that take the writer a few milliseconds
FILES_AT_ONCE = 200
VACUUM_TRIES = 5
LONGEST_NODE = 60

log = logging.getLogger("holdfast.maintenance")

Did: TypeAlias = dict[str, int]
Breathe: TypeAlias = Callable[[], Awaitable[None]]


class TryLater(Exception):
    """A chore found no quiet moment."""


def place_of(engine: Engine) -> str:
    """The folder of files that this process maintains, as its tasks name it."""
    folder = hashlib.blake2b(str(engine.files).encode("utf-8", "surrogateescape"), digest_size=3).hexdigest()
    node = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in node_name())
    return f"{node[:LONGEST_NODE]}-{folder}"


class Chores:
    """The chores of one database. `should_stop` is asked during a chore that has no steps."""

    def __init__(self, engine: Engine, clock: Clock, keep: KeepTimes, should_stop: Callable[[], bool]) -> None:
        self._engine = engine
        self._clock = clock
        self._keep = keep
        self._should_stop = should_stop

    async def do(self, chore: Chore, breathe: Breathe, *, by_hand: bool) -> Did:
        """Do a chore, and return what it did. `breathe` is called between its steps, and may raise to end it."""
        match chore:
            case Chore.RETENTION:
                before = self._clock.now() - self._keep.jobs_ms
                return await self._remove(lambda: self._engine.write(retention.forget_old, before, AT_ONCE), breathe)
            case Chore.EVENTS:
                before = self._clock.now() - min(self._keep.jobs_ms, KEEP_EVENTS_MS)
                return await self._remove(lambda: self._engine.write(forget_events, before, AT_ONCE), breathe)
            case Chore.LETTERS:
                return {
                    "named": await _all_of(
                        lambda: self._engine.write(dead_letter_rows.name_old_letters, AT_ONCE), breathe
                    )
                }
            case Chore.MACHINES:
                return {"removed": await self._engine.write(forget_machines, self._clock.now() - self._keep.jobs_ms)}
            case Chore.TENANTS:
                return await self._remove(
                    lambda: self._engine.write(forget_tenants, self._clock.now(), AT_ONCE), breathe
                )
            case Chore.TASKS:
                before = self._clock.now() - RETIRED_MS
                return await self._remove(
                    lambda: self._engine.write(declared_tasks.forget_tasks, before, AT_ONCE), breathe
                )
            case Chore.TELEMETRY:
                before = self._clock.now() - self._keep.telemetry_ms
                return await self._remove(lambda: self._engine.write(records.forget_calls, before), breathe)
            case Chore.FILES:
                return await self._sweep(breathe)
            case Chore.POSITIONS:
                return await self._loosen(breathe)
            case Chore.CHECKPOINT:
                return {"freed_bytes": await asyncio.to_thread(self._engine.maintenance().empty_log)}
            case Chore.ANALYZE:
                return await self._analyse(breathe)
            case Chore.INCREMENTAL_VACUUM:
                return await self._release(breathe)
            case Chore.VACUUM:
                return await self._vacuum(breathe, by_hand)

    async def _remove(self, step: Callable[[], Awaitable[int]], breathe: Breathe) -> Did:
        return {"removed": await _all_of(step, breathe)}

    async def _sweep(self, breathe: Breathe) -> Did:
        """Remove the files of jobs that no longer exist, such as those that a crash has left.

        The folders are listed before the jobs are read, so that every job with a folder has a row by then. Folders that
        changed within the time for which jobs are kept are left alone. They may belong to another database of the same
        home, or to jobs that a just restored older copy does not know.
        """
        files, before = JobFiles(self._engine.files), self._clock.now() - self._keep.jobs_ms
        jobs = await asyncio.to_thread(files.jobs)
        removed = left = 0
        for start in range(0, len(jobs), FILES_AT_ONCE):
            batch = jobs[start : start + FILES_AT_ONCE]
            known = set(await self._engine.read(retention.known_jobs, batch))
            for job_id in batch:
                if job_id in known or files.changed_at(job_id) >= before or self._should_stop():
                    continue
                try:
                    removed += await asyncio.to_thread(files.forget, job_id, self._should_stop)
                except OSError as error:
                    left += 1
                    if left == 1:
                        _tell_what_stays(files.of_job(job_id), error)
            await breathe()
        return {"removed": removed, "left": left}

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
        maintenance = self._engine.maintenance()
        tables = await asyncio.to_thread(maintenance.tables)
        for table in tables:
            await asyncio.to_thread(maintenance.analyse, table)
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
                done = await asyncio.to_thread(self._engine.maintenance().vacuum, self._should_stop)
            except Disturbed:
                # So the next try begins right after the write that disturbed it. Writes may come every few seconds.
                await breathe()
            else:
                sizes = {"before_bytes": done.before, "after_bytes": done.after}
                return {"freed_bytes": done.before - done.after} | sizes
        raise TryLater("somebody wrote to the database each time")


def _tell_what_stays(folder: Path, error: OSError) -> None:
    """One line for a sweep: what else stays is counted in its result."""
    extra = {"event": "files_left", "folder": str(folder)}
    name = "" if error.filename is None else f"{error.filename}: "
    log.warning("files in %s cannot be removed (%s%s)", folder, name, error.strerror or error, extra=extra)


async def _all_of(step: Callable[[], Awaitable[int]], breathe: Breathe) -> int:
    """Repeat a step until it finds less than it could take. Return the sum."""
    done = 0
    while (found := await step()) >= AT_ONCE:
        done += found
        await breathe()
    return done + found
