"""Fires schedules: sleeps until the next stored tick, then settles the due ones."""

from __future__ import annotations

import logging

from holdfast.core.errors import InvalidInput
from holdfast.runtime.clock import Clock
from holdfast.runtime.clocks.clock_trust import HELD_S, ClockTrust
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts.schedules import firing
from holdfast.store.scripts.schedules.firing import Fired
from holdfast.store.topics import DUE, UNKNOWN

LONGEST_S = 60.0

log = logging.getLogger("holdfast.cron")


class CronLoop(Loop):
    """Any number of processes may run it on one database. A tick fires once, in the process that is first.

    Woken when a schedule is stored or changed.
    """

    def __init__(self, engine: Engine, clock: Clock, trust: ClockTrust) -> None:
        super().__init__(clock)
        self._engine = engine
        self._trust = trust

    async def tick(self) -> float | None:
        while (wait := await self._wait()) == 0 and not self._stopping:
            if self._trust.holds():
                return HELD_S
            await self._fire()
        # The wall clock may be set while we sleep, so no sleep is long.
        return LONGEST_S if wait is None else min(wait, LONGEST_S)

    def heed(self, changes: Changes) -> None:
        if not changes.topics.isdisjoint((DUE, UNKNOWN)):
            self.wake_soon()

    async def fire_due(self) -> int:
        """Settle every due tick now. Return how many jobs were made."""
        jobs = 0
        while await self._wait() == 0 and not self._trust.holds():
            jobs += await self._fire()
        return jobs

    async def _wait(self) -> float | None:
        """In how many seconds the next tick comes. None if there is none."""
        moment = await self._engine.read(firing.next_fire, self.clock.now())
        return None if moment is None else max(0.0, (moment - self.clock.now()) / 1000)

    async def _fire(self) -> int:
        try:
            return self._told(await self._engine.write(firing.fire_due, self.clock.now()))
        except InvalidInput:
            return await self._fire_one_by_one()

    async def _fire_one_by_one(self) -> int:
        """Fire each schedule in a transaction of its own, to find the one that the database refuses."""
        jobs = 0
        for schedule_id in await self._engine.read(firing.due_ids, self.clock.now()):
            try:
                fired = await self._engine.write(firing.fire_due, self.clock.now(), only=schedule_id)
            except InvalidInput as error:
                fired = await self._engine.write(firing.give_up, schedule_id, str(error), self.clock.now())
            jobs += self._told(fired)
        return jobs

    def _told(self, fired: Fired) -> int:
        for trouble in fired.troubles:
            log.warning("%s", trouble, extra={"event": "schedule_trouble"})
        return fired.jobs
