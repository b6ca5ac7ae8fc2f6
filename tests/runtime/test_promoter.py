"""The loop that moves jobs forward ends when it is told to, whatever else there is to do."""

from __future__ import annotations

import asyncio
from pathlib import Path

from holdfast.runtime.clock import SystemClock
from holdfast.runtime.clocks.clock_steps import ClockSteps
from holdfast.runtime.clocks.clock_trust import ClockTrust
from holdfast.runtime.promoter import Promoter
from holdfast.store.engine import Changes, Tx, new_uuid
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.maintenance.clockwork import EVENTS_AT_ONCE
from holdfast.store.sqlite.engine import SqliteEngine
from tests.migrated import copy_migrated
from tests.store.acts import put_one

PATIENCE_S = 60


def emit_many(tx: Tx, now: int) -> None:
    """More than one step brings to who waits."""
    for _ in range(2 * EVENTS_AT_ONCE):
        emit(tx, new_uuid(), "x", {"never": "yet"}, now)


def test_events_without_end_do_not_keep_the_loop_from_ending(tmp_path: Path) -> None:
    clock = SystemClock()
    engine = SqliteEngine(copy_migrated(tmp_path / "work.db"), durability="normal", now=clock.now)
    # Somebody waits, so each event is brought; but it is none of these.
    put_one(engine, "a", wait_for_event="x", event_attributes={"never": "comes"}, now=clock.now())
    many_of_them = asyncio.Event()
    seen = 0

    async def work() -> None:
        home = asyncio.get_running_loop()

        def emit_another(changes: Changes) -> None:
            nonlocal seen
            seen += 1
            if seen == 5:
                home.call_soon_threadsafe(many_of_them.set)
            engine.submit(emit_many, clock.now())

        leave = engine.listen(emit_another)
        promoter = Promoter(engine, clock, ClockSteps(engine, clock), ClockTrust(clock))
        await engine.write(emit_many, clock.now())
        promoter.start()
        await asyncio.wait_for(many_of_them.wait(), PATIENCE_S)
        await asyncio.wait_for(promoter.stop(), PATIENCE_S)
        leave()

    asyncio.run(work())
    engine.close()
