"""Moves jobs forward whose time has come: due ones become ready, those that waited too long end."""

from __future__ import annotations

from holdfast.runtime.clock import Clock
from holdfast.runtime.clock_steps import ClockSteps
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Engine
from holdfast.store.scripts.clockwork import EVENTS_AT_ONCE, next_moment, tick

LONGEST_S = 60.0


class Promoter(Loop):
    """Sleeps until the next moment that the store knows of; woken when an earlier one is stored."""

    def __init__(self, engine: Engine, clock: Clock, steps: ClockSteps) -> None:
        super().__init__(clock)
        self._engine = engine
        self._steps = steps

    async def tick(self) -> float | None:
        # Whoever emits without end must not keep this from ending.
        while not self._stopping:
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
