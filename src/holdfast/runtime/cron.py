"""Fires schedules: sleeps until the next tick that the store knows of, then settles what has come."""

from __future__ import annotations

import logging

from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Engine
from holdfast.store.scripts.firing import fire_due, next_fire

LONGEST_S = 60.0

log = logging.getLogger("holdfast.cron")


class Cron(Loop):
    """Any number of processes may run it on one database: a tick fires once, whoever comes first.

    Woken when a schedule is stored or changed.
    """

    def __init__(self, engine: Engine, clock: Clock) -> None:
        super().__init__(clock)
        self._engine = engine

    async def tick(self) -> float | None:
        while (wait := await self._wait()) == 0:
            await self._fire()
        # The wall clock may be set while we sleep, so no sleep is long.
        return LONGEST_S if wait is None else min(wait, LONGEST_S)

    async def fire_due(self) -> int:
        """Settle every tick that has come, now; how many jobs were made."""
        jobs = 0
        while await self._wait() == 0:
            jobs += await self._fire()
        return jobs

    async def _wait(self) -> float | None:
        """In how many seconds the next tick comes; None if there is none."""
        moment = await self._engine.read(next_fire, self.clock.now())
        return None if moment is None else max(0.0, (moment - self.clock.now()) / 1000)

    async def _fire(self) -> int:
        fired = await self._engine.write(fire_due, self.clock.now())
        for trouble in fired.troubles:
            log.warning("%s", trouble, extra={"event": "schedule_trouble"})
        return fired.jobs
