"""Forgets what ended long ago, a little at a time."""

from __future__ import annotations

from holdfast.core.job import Millis
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Engine
from holdfast.store.scripts.retention import BATCH, KEEP_MS, forget_old

ROUND_S = 3_600.0
BREATH_S = 0.05


class Janitor(Loop):
    """Once an hour; while there is more to forget, in short scripts with a breath in between."""

    def __init__(self, engine: Engine, clock: Clock, keep_ms: Millis = KEEP_MS) -> None:
        super().__init__(clock)
        self._engine = engine
        self._keep_ms = keep_ms

    async def tick(self) -> float | None:
        removed = await self._engine.write(forget_old, self.clock.now() - self._keep_ms)
        return BREATH_S if removed >= BATCH else ROUND_S
