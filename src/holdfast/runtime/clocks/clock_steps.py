"""Steps of the wall clock, as a process sees them. Waiting jobs are moved before any of them is promoted."""

from __future__ import annotations

import asyncio
import logging

from holdfast.core.job import Millis
from holdfast.core.machine import clock_step
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.store.scripts.machines import clock_steps
from holdfast.store.scripts.machines.clock_steps import ClockState, SeenStep

log = logging.getLogger("holdfast.clock")


class ClockSteps:
    """Shared by the loops of one process, on one event loop. Without a step it costs nothing."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        self._lock = asyncio.Lock()
        self._known: ClockState | None = None
        self._ahead = self._looked_at = Millis(0)

    async def settle(self, *, anew: bool = False) -> bool:
        """Move waiting jobs along with a clock that was set. True: something was done, so a `now` of before is old.

        `anew`: ask the store too. Another process may have died before all jobs were moved.
        """
        if not anew and self._is_calm():
            return False
        async with self._lock:
            if not anew and self._is_calm():
                return True
            is_set = self._known is not None and not self._look()
            known = self._known = await (self._note() if is_set else self._learn())
            if known.is_moving:
                await self._move(known)
        return is_set or known.is_moving

    def _is_calm(self) -> bool:
        return self._known is not None and not self._known.is_moving and self._look()

    def _look(self) -> bool:
        """Whether the clock was not set. Remembers when that was last so."""
        ahead, now = self._clock.ahead(), self._clock.now()
        if clock_step.is_step(self._ahead, ahead):
            return False
        self._ahead, self._looked_at = ahead, now
        return True

    async def _learn(self) -> ClockState:
        """Read the recorded steps. If the clock was set meanwhile, they cannot be used: they may contain this step."""
        if self._known is None:
            self._ahead, self._looked_at = self._clock.ahead(), self._clock.now()
        found = await self._engine.read(clock_steps.clock_state)
        if self._look():
            return found
        return self._known or await self._learn()

    async def _note(self) -> ClockState:
        assert self._known is not None
        ahead = self._clock.ahead()
        step = ahead - self._ahead
        seen = SeenStep(step, self._known.total_ms, self._looked_at + step)
        noted = await self._engine.write(clock_steps.note_step, seen, self._clock.now())
        self._ahead, self._looked_at = ahead, self._clock.now()
        return noted

    async def _move(self, known: ClockState) -> None:
        while (done := await self._engine.write(clock_steps.move_waiting, self._clock.now())) is not None:
            if done.is_last:
                log.warning(
                    "the clock was set %s by %.1f s; %d waiting jobs with a delay or a backoff were moved by that",
                    "forward" if done.step_ms > 0 else "back",
                    abs(done.step_ms) / 1000,
                    done.moved,
                    extra={"event": "clock_stepped"},
                )
        self._known = ClockState(known.total_ms, is_moving=False)
