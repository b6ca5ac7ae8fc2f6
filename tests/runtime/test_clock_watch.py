"""A clock that was set, and a machine that slept, are noticed by those who sleep until a moment."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.runtime.clock import ManualClock, SystemClock
from holdfast.runtime.clocks.clock_steps import ClockSteps
from holdfast.runtime.clocks.clock_watch import ClockWatch
from holdfast.store.scripts.schedules.schedules import put_schedule
from holdfast.store.scripts.schedules.templates import put_template
from holdfast.store.sqlite.engine import SqliteEngine
from tests.migrated import copy_migrated

PATIENCE_S = 60.0


def test_time_that_passes_is_no_jump_and_a_clock_that_is_set_is_one(tmp_path: Path) -> None:
    clock, jumps = ManualClock(), list[int]()
    moves: list[Callable[[float], None]] = [clock.advance, clock.step, clock.advance, clock.step, clock.sleep]
    engine = SqliteEngine(copy_migrated(tmp_path / "work.db"), durability="normal", now=clock.now)

    async def look() -> None:
        watch = ClockWatch(clock, ClockSteps(engine, clock), lambda: jumps.append(clock.now()))
        for move, seconds in zip(moves, (3_600, 60, 1, -7_200, 3_600), strict=True):
            move(seconds)
            await watch.tick()

    asyncio.run(look())
    engine.close()
    assert len(jumps) == 3


class SleepyClock(SystemClock):
    """The clock of a machine that sleeps: nobody is told, and timers do not count it."""

    slept_ms = 0

    def now(self) -> int:
        return super().now() + self.slept_ms

    def ahead(self) -> int:
        return super().ahead() - self.slept_ms


def test_what_came_while_the_machine_slept_is_done_when_it_wakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loop in ("cron", "promoter"):
        monkeypatch.setattr(f"holdfast.runtime.{loop}.LONGEST_S", 1e6)
    clock, ran = SleepyClock(), queue.Queue[str]()
    hf = Holdfast(tmp_path / "work.db", clock=clock)

    @hf.task
    def clean(why: str = "its tick came") -> None:
        ran.put(why)

    engine = hf._access.engine
    engine.run(put_template, NewTemplate(id="t", name="clean", task="clean"), clock.now())
    engine.run(put_schedule, NewSchedule(id="s", name="y", template="clean", cron="0 0 1 1 *"), clock.now())
    hf.start()
    clean.options(delay=timedelta(days=100)).enqueue("its time came")
    clock.slept_ms = 366 * 86_400_000
    assert {ran.get(timeout=PATIENCE_S) for _ in range(2)} == {"its tick came", "its time came"}
    hf.stop(short=0, grace=30)
    hf.close()
