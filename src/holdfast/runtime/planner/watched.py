"""What every watch does: wait until it is quiet, then look; and look at everything now and then."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.gates.crowding import PATIENCE
from holdfast.core.job import Millis
from holdfast.core.values.watch import DEBOUNCE_MS, MAX_WAIT_MS, RECONCILE_S, Burst
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.runtime.planner.tree import FolderGone
from holdfast.runtime.planner.watcher import Watcher
from holdfast.store.engine import Engine
from holdfast.store.scripts.watches import plans
from holdfast.store.scripts.watches.watches import WatchRow

OnPlanned: TypeAlias = Callable[[float], None]
"""Called when a change became jobs, with how many seconds that took."""

ROOM_S = 1.0  # how often it checks whether there is room again
LONGEST_SHARE = 20  # looks at everything take at most this part of the time

log = logging.getLogger("holdfast.planner")


class WatchStopped(Exception):
    """The watch is stopped during a long look."""


class PlannerOptions(Struct, frozen=True):
    """The settings for all watches. Without the watcher, changes are found only by looking."""

    reconcile: float = RECONCILE_S
    debounce_ms: int = DEBOUNCE_MS
    max_wait_ms: int = MAX_WAIT_MS
    watcher: bool = True


class Watched(Loop):
    """One watch at work."""

    def __init__(
        self, engine: Engine, clock: Clock, row: WatchRow, watcher: Watcher | None, options: PlannerOptions
    ) -> None:
        super().__init__(clock)
        self.row = row
        self.told = row.told
        self._engine = engine
        self._watcher = watcher
        self._options = options
        self._debounce_ms = options.debounce_ms if self.told.debounce_ms is None else self.told.debounce_ms
        max_wait_ms = options.max_wait_ms if self.told.max_wait_ms is None else self.told.max_wait_ms
        # Otherwise it would never be quiet for that long.
        self._max_wait_ms = max(max_wait_ms, self._debounce_ms)
        self._paths: set[str] = set()
        self._burst: Burst | None = None
        self._next_round = clock.monotonic()
        self._held: set[str] = set()
        self._held_until: float | None = None
        self._problem = row.problem
        self._jobs_made = 0
        self.on_planned: OnPlanned | None = None
        self._waits_for = row.waits_for
        # While most of its jobs are superseded, it waits longer for quiet.
        self.is_crowded = False

    @property
    def name(self) -> str:
        return f"watch {self.row.name}"

    @abstractmethod
    def cares_for(self, path: str) -> bool:
        """Whether a path that changed may matter to it."""

    @abstractmethod
    async def look(self, paths: set[str], *, is_again: bool = False) -> None:
        """Plan for changes at these paths. `is_again`: they could not become jobs before."""

    @abstractmethod
    async def reconcile(self) -> None:
        """Compare everything with what is remembered, and plan for the differences."""

    async def tick(self) -> float | None:
        now = self.clock.monotonic()
        try:
            if now >= self._next_round:
                await self._round()
            elif self._burst is not None and now >= self._due(self._burst):
                await self._look()
            elif self._held_until is not None and now >= self._held_until:
                await self._look_again()
        except WatchStopped:
            return None
        due = [self._next_round]
        due += [] if self._burst is None else [self._due(self._burst)]
        due += [] if self._held_until is None else [self._held_until]
        return max(0.0, min(due) - self.clock.monotonic())

    def hold(self, paths: Iterable[str], until: float) -> None:
        """Look at these paths again, at this time of the monotonic clock at the latest. They cannot become jobs yet."""
        self._held |= set(paths)
        self._held_until = until if self._held_until is None else min(self._held_until, until)

    async def stop(self) -> None:
        await super().stop()
        if self._watcher is not None:
            self._watcher.leave(self.row.id)

    def hear(self, paths: set[str]) -> None:
        """These paths changed."""
        mine = {path for path in paths if self.cares_for(path)}
        if not mine:
            return
        now = self.clock.monotonic()
        self._paths |= mine
        if self._burst is None:
            self._burst = Burst(now, now)
        else:
            self._burst.last = now
        self.wake()

    def look_at_everything(self) -> None:
        """Look at everything: a change may have been missed."""
        self._next_round = self.clock.monotonic()
        self.wake()

    def _due(self, burst: Burst) -> float:
        return burst.due(self._quiet_ms, self._max_wait_ms)

    @property
    def _quiet_ms(self) -> Millis:
        """How long it must be quiet before it looks."""
        return self._debounce_ms * (PATIENCE if self.is_crowded else 1)

    async def _look(self) -> None:
        paths, burst = self._paths, self._burst
        self._paths, self._burst = set(), None
        made = self._jobs_made
        try:
            await self.look(paths)
            if burst is not None and self._jobs_made > made and self.on_planned is not None:
                self.on_planned(burst.waited(self.clock.monotonic(), self._quiet_ms))
        except FolderGone:
            self.look_at_everything()
        except BaseException:
            self._paths |= paths
            self._burst = burst
            raise

    async def _look_again(self) -> None:
        held, self._held, self._held_until = self._held, set(), None
        try:
            await self.look(held, is_again=True)
        except FolderGone:
            self.look_at_everything()
        except BaseException:
            self.hold(held, self.clock.monotonic() + ROOM_S)
            raise

    async def _round(self) -> None:
        began = self.clock.monotonic()
        self._paths, self._burst = set(), None
        self._held, self._held_until = set(), None
        try:
            await self.reconcile()
        except FolderGone as error:
            await self.say(str(error))
        took = self.clock.monotonic() - began
        self._next_round = began + took + max(self._options.reconcile, took * LONGEST_SHARE)

    async def wait_for(self, what: str | None) -> None:
        """Store what keeps changes from becoming jobs, for people. None: nothing does any more."""
        if what == self._waits_for:
            return
        if what is None or self._waits_for is None:
            extra = {"event": "watch_waits" if what else "watch_goes_on", "watch": self.row.name}
            log.info("watch %s %s", self.row.name, f"waits for {what}" if what else "goes on", extra=extra)
        await self._engine.write(plans.note_waits, self.row.id, what)
        self._waits_for = what

    def told_late(self) -> str | None:
        """The problem to show while the system does not report changes."""
        if self._watcher is None or self._watcher.trouble is None:
            return None
        return f"changes are only found every {self._options.reconcile:g} s: {self._watcher.trouble}"

    async def say(self, problem: str | None) -> None:
        """Store what keeps the watch from seeing changes, for people. None: nothing does any more."""
        if problem == self._problem:
            return
        extra = {"event": "watch_problem" if problem else "watch_well", "watch": self.row.name}
        log.log(
            logging.WARNING if problem else logging.INFO,
            "watch %s of %s: %s",
            self.row.name,
            self.row.path,
            problem or "all is well again",
            extra=extra,
        )
        await self._engine.write(plans.note_problem, self.row.id, problem)
        self._problem = problem
