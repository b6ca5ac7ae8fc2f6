"""Moves jobs forward whose time has come: due ones become ready, those that waited too long end."""

from __future__ import annotations

from holdfast.runtime.clock import Clock
from holdfast.runtime.clock_steps import ClockSteps
from holdfast.runtime.clock_trust import HELD_S, ClockTrust
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Engine
from holdfast.store.scripts.clockwork import EVENTS_AT_ONCE, next_moment, tick
from holdfast.store.scripts.spread import is_spreading, spread

LONGEST_S = 60.0


class Promoter(Loop):
    """Sleeps until the next moment that the store knows of; woken when an earlier one is stored."""

    def __init__(self, engine: Engine, clock: Clock, steps: ClockSteps, trust: ClockTrust) -> None:
        super().__init__(clock)
        self._engine = engine
        self._steps = steps
        self._trust = trust

    async def tick(self) -> float | None:
        # Whoever emits without end must not keep this from ending.
        while not self._stopping:
            if self._trust.holds():
                return await self._only_spread()
            moment = await self._engine.read(next_moment)
            if moment is None:
                return LONGEST_S
            now = self.clock.now()
            wait = (moment - now) / 1000
            if wait > 0:
                # The wall clock may be set while we sleep, so no sleep is long.
                return min(wait, LONGEST_S)
            # Looked at after `now` was: what a step would make due is moved first.
            if not await self._steps.settle():
                await self._engine.write(tick, now, events=EVENTS_AT_ONCE)
        return None

    async def _only_spread(self) -> float:
        """Events reach who waits for them whatever time it is."""
        while not self._stopping and await self._engine.read(is_spreading):
            await self._engine.write(spread, self.clock.now(), events=EVENTS_AT_ONCE)
        return HELD_S
