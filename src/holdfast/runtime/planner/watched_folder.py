"""A watched folder: changes become jobs, one for each file, or one for all if they are many."""

from __future__ import annotations

import asyncio
import heapq
import os
from collections.abc import Iterable

from holdfast.core.values.watch import Budget, Change, FileChange, SeenFile, Settling, differences, speakable
from holdfast.core.watching.ignore_rules import LONGEST_LINE, MOST_BYTES, MOST_LINES, MOST_RULES
from holdfast.runtime.clock import Clock
from holdfast.runtime.planner import tree
from holdfast.runtime.planner.ignoring import GITIGNORE
from holdfast.runtime.planner.tree import Scan, Tree
from holdfast.runtime.planner.watched import ROOM_S, PlannerOptions, Watched, WatchStopped
from holdfast.runtime.planner.watcher import Watcher
from holdfast.store.engine import Engine
from holdfast.store.scripts.watches import plans
from holdfast.store.scripts.watches.plans import Known
from holdfast.store.scripts.watches.watches import WatchRow

SLICE = 2_000  # entries of the disk in one go
PAGE = 10_000  # rows that are read in one go
BATCH = 500  # rows that are written in one go
ROUNDS = 5


class WatchedFolder(Watched):
    """Compares changed paths, and now and then all paths, with what the store remembers."""

    def __init__(
        self, engine: Engine, clock: Clock, row: WatchRow, watcher: Watcher | None, options: PlannerOptions
    ) -> None:
        super().__init__(engine, clock, row, watcher, options)
        told = self.told
        self._tree = Tree(told.path, told.globs, told.ignores, told.gitignore, self._give_way)
        self._budget = Budget()
        self._is_first = row.scanned_at is None
        # How many changes are remembered for a job that its queue has no room for.
        self._untold = row.untold
        # Paths for whose jobs its queue has no room. They are not remembered.
        self._no_room: set[str] = set()
        self._settling = Settling(told.settle_ms or 0)

    def cares_for(self, path: str) -> bool:
        relative = self._tree.relative(path)
        return relative is not None and not (relative == ".git" or "/.git/" in f"/{relative}/")

    async def reconcile(self) -> None:
        await asyncio.to_thread(self._tree.begin_anew)
        found = await self._walk("")
        known = await self._known()
        seen = [SeenFile(path, mark) for path, mark in found.files.items()]
        seen += [SeenFile(path, None) for path in known if path not in found.files and found.knows(path)]
        self._no_room = set()
        self._settling.keep(found.files)
        await self._plan(known, seen, is_first=self._is_first)
        if self._is_first:
            await self._engine.write(plans.note_scanned, self.row.id, self.row.revision, self.clock.now())
            self._is_first = False
        await self.say(self._trouble(found))

    async def look(self, paths: set[str], *, is_again: bool = False) -> None:
        if not is_again and any(os.path.basename(path) == GITIGNORE for path in paths):
            self.look_at_everything()
            return
        await asyncio.to_thread(self._tree.check)
        self._no_room -= {speakable(self._tree.relative(path) or "") for path in paths}
        found, folders, gone = await asyncio.to_thread(self._sort, paths)
        walks = [await self._walk(folder) for folder in folders]
        for walk in walks:
            found |= walk.files
        known = {item.path: item.fingerprint for item in await self._known_at([*found, *gone])}
        for path in (*gone, *map(speakable, folders)):
            below = await self._engine.read(plans.files_below, self.row.id, path, PAGE)
            known |= {item.path: item.fingerprint for item in below if all(walk.knows(item.path) for walk in walks)}
            if len(below) == PAGE:
                self.look_at_everything()
        # The folder may have gone during the look. Then no file in it counts as deleted.
        await asyncio.to_thread(self._tree.check)
        seen = [SeenFile(path, found.get(path)) for path in found.keys() | known.keys()]
        await self._plan(known, seen)

    def _sort(self, paths: Iterable[str]) -> tuple[dict[str, str], list[str], list[str]]:
        """Sort paths into files with their fingerprints, folders, and what is not there any more."""
        files: dict[str, str] = {}
        folders, gone = [], []
        for path in sorted(paths):  # Those of one folder in a row: its rules are read once.
            relative = self._tree.relative(path)
            if not relative or self._tree.goes_through_a_link(relative):
                continue
            if os.path.isdir(path) and not os.path.islink(path):
                if not self._tree.ignoring.ignores_path(relative, True):
                    folders.append(relative)
            elif (mark := tree.fingerprint(path)) is None:
                gone.append(speakable(relative))
            elif self._tree.wants(relative):
                files[speakable(relative)] = mark
        return files, folders, gone

    async def _walk(self, start: str) -> Scan:
        """Everything below a folder. Each folder is watched before the last look at it."""
        scan = await self._scan(start)
        for _ in range(ROUNDS):
            if self._watcher is None or not await self._watcher.cover(self.row.id, scan.folders, only=not start):
                break
            scan = await self._scan(start)
        return scan

    def _give_way(self) -> None:
        if self._stopping:
            raise WatchStopped

    async def _scan(self, start: str) -> Scan:
        scan = Scan(self._tree, start)
        while not await asyncio.to_thread(scan.step, SLICE):
            self._give_way()
        return scan

    async def _known(self) -> dict[str, str]:
        known: dict[str, str] = {}
        last = ""
        while page := await self._engine.read(plans.files_behind, self.row.id, last, PAGE):
            known |= {item.path: item.fingerprint for item in page}
            last = page[-1].path
        return known

    async def _known_at(self, paths: list[str]) -> list[Known]:
        found: list[Known] = []
        for start in range(0, len(paths), PAGE):
            found += await self._engine.read(plans.files_at, self.row.id, paths[start : start + PAGE])
        return found

    async def _plan(self, known: dict[str, str], seen: list[SeenFile], *, is_first: bool = False) -> None:
        if self._untold:
            await self._tell()
        changes = differences(known, seen)
        if is_first and not self.told.initial:
            quiet = [change for change in changes if change.change is not Change.MODIFIED]
            await self._single(quiet, is_first=True)
            changes = [change for change in changes if change.change is Change.MODIFIED]
        changes = self._settled(changes)
        if self._untold:
            self._no_room |= {change.path for change in changes}
        elif self._budget.is_bulk(len(changes), self.told.max_jobs, self.clock.monotonic()):
            self._untold = len(changes)
            for batch in _batches(changes):
                await self._engine.write(plans.take_in, self.row.id, self.row.revision, batch, self.clock.now())
            await self._tell()
        else:
            await self._single(changes)
        await self._wait_for_room()

    def _settled(self, changes: list[FileChange]) -> list[FileChange]:
        """The changes of files that have stopped changing. The others are looked at again later."""
        if not self.told.settle_ms:
            return changes
        ready, due = self._settling.sort(changes, self.clock.monotonic())
        for path, moment in due.items():
            self._hold([path], moment)
        return ready

    async def _single(self, changes: list[FileChange], *, is_first: bool = False) -> None:
        for batch in _batches(changes):
            row = self.row
            done = await self._engine.write(
                plans.plan, row.id, row.revision, batch, self.clock.now(), is_first=is_first
            )
            self._jobs_made += done.jobs
            self._budget.note(done.jobs, self.clock.monotonic())
            self._no_room |= set(done.held)

    async def _tell(self) -> None:
        """Make the job for changes that were taken in, perhaps by a daemon that died before it could make one."""
        done = await self._engine.write(plans.tell, self.row.id, self.clock.now())
        self._jobs_made += done.jobs
        if not done.held:
            self._untold = 0

    async def _wait_for_room(self) -> None:
        """Look again soon at changes that its queue has no room for."""
        count = self._untold + len(self._no_room)
        if count:
            self._hold(heapq.nsmallest(BATCH, self._no_room), self.clock.monotonic() + ROOM_S)
        files = "a changed file" if count == 1 else f"{count} changed files"
        await self.wait_for(f"room in queue {self.told.queue} for {files}" if count else None)

    def _hold(self, paths: Iterable[str], until: float) -> None:
        # A name with an escaped byte cannot be found by this text. It is found when everything is compared.
        self.hold((self._tree.absolute(path) for path in paths if "\\x" not in path), until)

    def _trouble(self, found: Scan) -> str | None:
        """All that keeps the watch from seeing changes, in words."""
        troubles = []
        if found.unreadable:
            named = _first_of(found.unreadable)
            troubles.append(f"{named} cannot be read; what was in there counts as unchanged")
        ignoring = self._tree.ignoring
        if ignoring.cut:
            troubles.append(
                f"{self._first_path_of(ignoring.cut)} has more rules than the first {MOST_LINES} lines and "
                f"{MOST_BYTES >> 10} KiB, or one of more than {LONGEST_LINE} bytes, which are left out"
            )
        if ignoring.without_room:
            troubles.append(
                f"{self._first_path_of(ignoring.without_room)} is left out, all of it or its end: the files of rules "
                f"of a watch count up to {MOST_RULES} rules together"
            )
        if (late := self.told_late()) is not None:
            troubles.append(late)
        return "; ".join(troubles) or None

    def _first_path_of(self, paths: Iterable[str]) -> str:
        return _first_of([speakable(self._tree.relative(path) or path) for path in paths])


def _first_of(names: list[str]) -> str:
    return f"{names[0] or 'the folder'}{f' and {len(names) - 1} more' if len(names) > 1 else ''}"


def _batches(changes: list[FileChange]) -> Iterable[list[SeenFile]]:
    seen = [SeenFile(change.path, change.fingerprint) for change in changes]
    return (seen[start : start + BATCH] for start in range(0, len(seen), BATCH))
