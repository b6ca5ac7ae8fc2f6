"""Notices that the wall clock was set, or that the machine slept, for loops that wait for a moment of that clock."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.runtime.clock import Clock
from holdfast.runtime.clocks.clock_steps import ClockSteps
from holdfast.runtime.loop import Loop

EVERY_S = 2.0
JUMP_S = 1.0
ASK_EVERY = 5  # looks


class ClockWatch(Loop):
    """Compares clocks, nearly always without the store. Timers only count the time in which the machine is awake."""

    def __init__(self, clock: Clock, steps: ClockSteps, on_jump: Callable[[], None]) -> None:
        super().__init__(clock)
        self._steps = steps
        self._on_jump = on_jump
        self._looks = 0
        self._ahead = self._difference()

    async def tick(self) -> float | None:
        self._looks += 1
        await self._steps.settle(anew=self._looks % ASK_EVERY == 0)
        before, self._ahead = self._ahead, self._difference()
        if abs(self._ahead - before) > JUMP_S:
            self._on_jump()
        return EVERY_S

    def _difference(self) -> float:
        return self.clock.now() / 1000 - self.clock.monotonic()
