"""A watched git repository: each commit, switch, merge and rebase becomes a job and an event."""

from __future__ import annotations

import asyncio
import os

from holdfast.core.watching.git import GitEvent, GitMove
from holdfast.runtime.planner.repository import Repository, RepositoryMemory
from holdfast.runtime.planner.watched import ROOM_S, Watched
from holdfast.store.scripts.watches import plans

ROUNDS = 5


class WatchedRepository(Watched):
    """Looks at HEAD and its journal when something changes beside them."""

    _folders: frozenset[str] = frozenset()

    def cares_for(self, path: str) -> bool:
        return os.path.dirname(path) in self._folders

    async def look(self, paths: set[str], *, is_again: bool = False) -> None:
        await self.reconcile()

    async def reconcile(self) -> None:
        repository = Repository(self.row.path)
        for _ in range(ROUNDS):
            self._folders = frozenset(await asyncio.to_thread(repository.folders))
            if self._watcher is None or not await self._watcher.cover(self.row.id, self._folders, only=True):
                break
        text = await self._engine.read(plans.where_it_stood, self.row.id)
        known = None if text is None else RepositoryMemory.decode(text)
        looked = await asyncio.to_thread(repository.look, known)
        moves = looked.moves
        if known is None and self.told.initial and looked.memory.head:
            moves = [GitMove(GitEvent.BRANCH, "", looked.memory.head, looked.memory.branch)]
        new, held = looked.memory.encoded(), 0
        if new != text or moves:
            row = self.row
            done = await self._engine.write(plans.plan_moves, row.id, row.revision, text, new, moves, self.clock.now())
            self._jobs_made += done.jobs
            held = len(done.held)
        if held:
            self.hold((), self.clock.monotonic() + ROOM_S)
        await self.wait_for(f"room in queue {self.told.queue} for {held} moves" if held else None)
        if self.row.scanned_at is None and known is None:
            await self._engine.write(plans.note_scanned, self.row.id, self.row.revision, self.clock.now())
        await self.say(self.told_late())
