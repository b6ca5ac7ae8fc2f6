"""Watches whether queues are crowded: jobs wait for too long, or are mostly superseded."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core.gates.crowding import Crowding, CrowdingRules
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.queues import crowding

EVERY_S = 10.0


class CrowdWatch(Loop):
    """Looks now and then, stores what changes, and tells `heed` the queues whose jobs are mostly superseded."""

    def __init__(
        self, engine: Engine, clock: Clock, rules: CrowdingRules, heed: Callable[[frozenset[str]], None]
    ) -> None:
        super().__init__(clock)
        self._engine = engine
        self._rules = rules
        self._heed = heed

    async def tick(self) -> float | None:
        if await self._engine.read(_is_news, self._rules, self.clock.now()):
            await self._engine.write(crowding.note_crowded, self._rules, self.clock.now())
        crowded = await self._engine.read(crowding.list_crowded)
        self._heed(frozenset(row.queue for row in crowded if row.reading == Crowding.SUPERSEDED))
        return EVERY_S


def _is_news(tx: Tx, rules: CrowdingRules, now: int) -> bool:
    found = crowding.find_crowded(tx, rules, now)
    known = {(row.queue, row.reading) for row in crowding.list_crowded(tx)}
    return known != {(queue, reading.value) for queue, suffers in found.items() for reading in suffers}
