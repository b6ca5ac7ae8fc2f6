"""A process that sees the clock being set moves what waits for a length of time, before any of it is promoted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from holdfast.core.job import StateName
from holdfast.runtime.clock import ManualClock, SystemClock
from holdfast.runtime.clocks.clock_steps import ClockSteps
from holdfast.runtime.clocks.clock_trust import ClockTrust
from holdfast.runtime.promoter import Promoter
from holdfast.store.engine import Engine
from holdfast.store.scripts.machines.clock_steps import SeenStep, clock_state, note_step
from holdfast.store.sqlite.engine import SqliteEngine
from tests.migrated import copy_migrated
from tests.store.acts import put_one, row, select, state, write

HOUR_S, HOUR = 3_600, 3_600_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(tmp_path: Path, clock: ManualClock) -> Iterator[Engine]:
    made = SqliteEngine(copy_migrated(tmp_path / "work.db"), durability="normal", now=clock.now)
    yield made
    made.close()


def waits(engine: Engine, clock: ManualClock) -> float:
    """In how many seconds the job is due."""
    moment = row(engine, "delayed").scheduled_at
    assert isinstance(moment, int)
    return (moment - clock.now()) / 1000


def test_a_promoter_moves_what_a_step_would_make_due(engine: Engine, clock: ManualClock) -> None:
    async def work() -> None:
        steps = ClockSteps(engine, clock)
        await steps.settle()
        put_one(engine, "delayed", delay_ms=60_000, now=clock.now())
        put_one(engine, "at", due=clock.now() + 60_000, now=clock.now())
        clock.advance(10)
        clock.step(HOUR_S)
        assert await Promoter(engine, clock, steps, ClockTrust(clock)).tick() == 50.0

    asyncio.run(work())
    assert state(engine, "at") is StateName.QUEUED
    assert state(engine, "delayed") is StateName.SCHEDULED
    assert waits(engine, clock) == 50.0


def test_a_machine_that_wakes_has_not_set_its_clock(engine: Engine, clock: ManualClock) -> None:
    async def work() -> None:
        steps = ClockSteps(engine, clock)
        await steps.settle()
        put_one(engine, "delayed", delay_ms=60_000, now=clock.now())
        clock.sleep(timedelta(hours=8))
        assert not await steps.settle()
        await Promoter(engine, clock, steps, ClockTrust(clock)).tick()

    asyncio.run(work())
    assert state(engine, "delayed") is StateName.QUEUED


@pytest.mark.parametrize("by", [HOUR_S, -HOUR_S])
def test_all_processes_on_a_file_see_one_step_and_move_for_it_once(engine: Engine, clock: ManualClock, by: int) -> None:
    async def work() -> None:
        processes = [ClockSteps(engine, clock) for _ in range(3)]
        for steps in processes:
            await steps.settle()
        put_one(engine, "delayed", delay_ms=60_000, now=clock.now())
        clock.advance(10)
        clock.step(by)
        # The third looks after one more step, and sees both as one.
        await asyncio.gather(processes[0].settle(), processes[1].settle())
        clock.step(2 * by)
        for steps in processes:
            await steps.settle()
            assert not await steps.settle()

    asyncio.run(work())
    assert engine.query(clock_state).total_ms == 3 * by * 1000
    assert waits(engine, clock) == 50.0


def test_a_step_that_was_recorded_before_a_process_began_is_none_of_its_own(engine: Engine, clock: ManualClock) -> None:
    write(engine, note_step, SeenStep(HOUR, 0, clock.now()), clock.now())

    async def work() -> None:
        steps = ClockSteps(engine, clock)
        await steps.settle()
        put_one(engine, "delayed", delay_ms=60_000, now=clock.now())
        clock.step(HOUR_S)
        await steps.settle()

    asyncio.run(work())
    assert engine.query(clock_state).total_ms == 2 * HOUR
    assert waits(engine, clock) == 60.0


def test_what_a_dead_process_did_not_move_is_moved_by_the_next(engine: Engine, clock: ManualClock) -> None:
    put_one(engine, "delayed", delay_ms=60_000, now=clock.now())
    clock.step(HOUR_S)
    write(engine, note_step, SeenStep(HOUR, 0, clock.now() - 2_000), clock.now())

    async def work() -> None:
        assert await ClockSteps(engine, clock).settle()

    asyncio.run(work())
    assert waits(engine, clock) == 60.0
    assert select(engine, "SELECT moved FROM clock_steps") == [{"moved": 1}]


def test_the_clock_of_the_machine_stands_still_against_its_boot() -> None:
    clock = SystemClock()
    assert abs(clock.ahead() - clock.ahead()) < 1_000
