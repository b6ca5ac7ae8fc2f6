"""Who is told that most jobs of a queue are superseded, and when that is over."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from holdfast.core.gates.crowding import FEWEST, CrowdingRules
from holdfast.runtime.clock import ManualClock
from holdfast.runtime.machine.crowding import CrowdWatch
from holdfast.store.sqlite.engine import SqliteEngine
from tests.migrated import copy_migrated
from tests.store.acts import put_one


def test_the_planner_is_told_which_queues_are_crowded_for_as_long_as_they_are(tmp_path: Path) -> None:
    clock, told = ManualClock(), list[frozenset[str]]()

    async def story(engine: SqliteEngine) -> None:
        watch = CrowdWatch(engine, clock, CrowdingRules(), told.append)
        await watch.tick()
        for number in range(FEWEST + 1):
            put_one(engine, f"j{number}", queue="saves", subject="same", now=clock.now())
        await watch.tick()
        clock.advance(600)
        await watch.tick()

    with closing(SqliteEngine(copy_migrated(tmp_path / "work.db"), durability="normal", now=clock.now)) as engine:
        asyncio.run(story(engine))
    assert told == [frozenset(), frozenset({"saves"}), frozenset()]
