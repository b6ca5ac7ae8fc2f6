"""The planner: keeps one loop for each watch of this machine, and tells them what the system's watcher reports."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.core.values.watch import WatchKind
from holdfast.core.watching.new_watch import NewWatch
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.runtime.planner.watched import OnPlanned, PlannerOptions, Watched
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts.watches import watches
from holdfast.store.scripts.watches.watches import WatchRow
from holdfast.store.topics import WATCHES

if TYPE_CHECKING:
    from holdfast.runtime.planner.watcher import Watcher

log = logging.getLogger("holdfast.planner")


class Planner(Loop):
    """Follows the watches in the store. While there are none, it loads nothing, and looks twice a minute."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        *,
        options: PlannerOptions = PlannerOptions(),  # noqa: B008  # it is frozen
        of_file: Sequence[NewWatch] = (),
        node: str | None = None,
        on_planned: OnPlanned | None = None,
    ) -> None:
        super().__init__(clock)
        self._engine = engine
        self._options = options
        self._of_file = of_file
        self._on_planned = on_planned
        self._node = node or engine.node
        self._watched: dict[str, Watched] = {}
        self._watcher: Watcher | None = None
        self._crowded: frozenset[str] = frozenset()

    async def tick(self) -> float | None:
        rows = {row.id: row for row in await self._engine.read(watches.watches_of_node, self._node) if row.enabled}
        for old in list(self._watched.values()):
            row = rows.get(old.row.id)
            if row is None or row.revision != old.row.revision:
                await old.stop()
                del self._watched[old.row.id]
        for row in rows.values():
            if row.id not in self._watched:
                self._watched[row.id] = self._begin(row)
        if not rows:
            await self._close_watcher()
        return self._options.reconcile

    async def settle_file(self) -> None:
        """Bring the watches of the settings up to date."""
        for trouble in await self._engine.write(
            watches.settle_file_watches, self._of_file, self._node, self.clock.now()
        ):
            log.warning("%s", trouble, extra={"event": "watch_refused"})

    async def stop(self) -> None:
        await super().stop()
        await asyncio.gather(*(watched.stop() for watched in self._watched.values()))
        self._watched.clear()
        await self._close_watcher()

    def slow_down(self, queues: frozenset[str]) -> None:
        """Have watches of these queues wait longer for quiet, as most of their jobs are superseded."""
        self._crowded = queues
        for watched in self._watched.values():
            watched.is_crowded = watched.told.queue in queues

    def look_at_everything(self) -> None:
        """Have every watch look at everything: a change may have been missed."""
        for watched in self._watched.values():
            watched.look_at_everything()

    def _begin(self, row: WatchRow) -> Watched:
        # Imported late: a daemon without watches stays small.
        from holdfast.runtime.planner.watched_folder import WatchedFolder
        from holdfast.runtime.planner.watched_repository import WatchedRepository
        from holdfast.runtime.planner.watcher import Watcher

        if self._options.watcher and self._watcher is None:
            self._watcher = Watcher(self._hear, self.look_at_everything)
        kind = WatchedRepository if row.told.kind == WatchKind.GIT else WatchedFolder
        watched = kind(self._engine, self.clock, row, self._watcher, self._options)
        watched.is_crowded = watched.told.queue in self._crowded
        watched.on_planned = self._on_planned
        watched.start()
        return watched

    async def _close_watcher(self) -> None:
        if self._watcher is not None:
            watcher, self._watcher = self._watcher, None
            await watcher.close()

    def _hear(self, paths: set[str]) -> None:
        for watched in self._watched.values():
            watched.hear(paths)

    def heed(self, changes: Changes) -> None:
        if WATCHES in changes.topics:
            self.wake_soon()
