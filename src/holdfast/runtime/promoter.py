"""Makes due jobs ready, and ends those that waited too long."""

from __future__ import annotations

from holdfast.runtime.clock import Clock
from holdfast.runtime.clocks.clock_steps import ClockSteps
from holdfast.runtime.clocks.clock_trust import HELD_S, ClockTrust
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts.maintenance import clockwork
from holdfast.store.scripts.maintenance.clockwork import EVENTS_AT_ONCE
from holdfast.store.scripts.maintenance.spread import is_spreading, spread
from holdfast.store.topics import DUE, UNKNOWN

LONGEST_S = 60.0


class Promoter(Loop):
    """Sleeps until the next stored moment. Woken when an earlier one is stored."""

    def __init__(self, engine: Engine, clock: Clock, steps: ClockSteps, trust: ClockTrust) -> None:
        super().__init__(clock)
        self._engine = engine
        self._steps = steps
        self._trust = trust

    async def tick(self) -> float | None:
        # A caller that emits without end must not keep it from stopping.
        while not self._stopping:
            if self._trust.holds():
                return await self._only_spread()
            moment = await self._engine.read(clockwork.next_moment)
            if moment is None:
                return LONGEST_S
            now = self.clock.now()
            wait = (moment - now) / 1000
            if wait > 0:
                # The wall clock may be set while we sleep, so no sleep is long.
                return min(wait, LONGEST_S)
            # Checked after `now` was read: jobs that only a step makes due are moved first.
            if not await self._steps.settle():
                await self._engine.write(clockwork.tick, now, events=EVENTS_AT_ONCE)
        return None

    def heed(self, changes: Changes) -> None:
        if not changes.topics.isdisjoint((DUE, UNKNOWN)):
            self.wake_soon()

    async def _only_spread(self) -> float:
        """Tell events, which need no clock."""
        while not self._stopping and await self._engine.read(is_spreading):
            await self._engine.write(spread, self.clock.now(), events=EVENTS_AT_ONCE)
        return HELD_S
