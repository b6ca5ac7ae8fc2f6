"""The clock of a database server, as processes on other machines go by it; while it is in doubt, they wait."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.core.errors import StoreUnavailable
from holdfast.core.job import StateName
from holdfast.core.machine.database_time import AGAIN_MS, EVERY_MS, SILENCE_MS, Measurement
from holdfast.core.machine.maintenance import KeepTimes
from holdfast.core.messages.schedules import NewSchedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.clocks.clock_steps import ClockSteps
from holdfast.runtime.clocks.clock_trust import HELD_S, ClockTrust
from holdfast.runtime.clocks.database_clock import DatabaseClock
from holdfast.runtime.cron import CronLoop
from holdfast.runtime.maintenance import Maintenance
from holdfast.runtime.promoter import Promoter
from holdfast.store.boot_clock import boot_time
from holdfast.store.engine import Engine
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.maintenance.retention import KEEP_MS
from holdfast.store.scripts.schedules.schedules import put_schedule
from holdfast.store.scripts.schedules.templates import put_template
from holdfast.store.sqlite.engine import SqliteEngine
from tests.migrated import copy_migrated
from tests.store.acts import open_session, put_one, row, select, state, write

NOON = 1_900_000_000_000
HOUR = 3_600_000


class Server:
    """A database server with a clock to command, and the time since the boot of the machine that asks it."""

    def __init__(self) -> None:
        self.boot = 50_000
        self.ahead = NOON - self.boot
        self.clock = DatabaseClock(lambda: self.boot)
        self.measure()

    def measure(self) -> int:
        """The clock is read; after how long it should be again."""
        return self.clock.heed(Measurement(self.boot, self.ahead, 2))

    def wait(self, millis: int) -> None:
        """Time passes, and nobody reads the clock."""
        self.boot += millis


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def engine(tmp_path: Path, server: Server) -> Iterator[Engine]:
    made = SqliteEngine(copy_migrated(tmp_path / "work.db"), durability="normal", now=server.clock.now)
    open_session(made, now=NOON)
    yield made
    made.close()


def test_it_goes_with_the_time_since_the_boot(server: Server) -> None:
    assert server.clock.now() == NOON
    server.wait(1_234)
    assert server.clock.now() == NOON + 1_234


def test_it_never_goes_back(server: Server) -> None:
    server.wait(EVERY_MS)
    before = server.clock.now()
    server.ahead -= 10_000
    server.measure()
    assert server.clock.now() == before
    server.wait(10_001)
    assert server.clock.now() == before + 1


def test_a_jump_back_that_was_measured_twice_is_believed(server: Server) -> None:
    server.wait(EVERY_MS)
    server.ahead -= HOUR
    assert server.measure() == AGAIN_MS
    assert server.clock.now() == NOON + EVERY_MS
    server.wait(AGAIN_MS)
    assert server.measure() == EVERY_MS
    assert server.clock.now() == NOON + EVERY_MS + AGAIN_MS - HOUR


@pytest.mark.processes
def test_a_forked_child_does_not_wait_for_threads_of_its_parent(server: Server) -> None:
    with server.clock._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if server.clock.now() == NOON else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_before_the_first_measurement_it_asks_for_one() -> None:
    clock = DatabaseClock(lambda: 0)

    def measure() -> None:
        clock.heed(Measurement(0, NOON, 1))

    clock.open = measure
    assert clock.now() == NOON


def test_where_nobody_can_be_asked_the_clock_of_the_machine_has_to_do() -> None:
    clock = DatabaseClock()

    def refuse() -> None:
        raise StoreUnavailable("it is down")

    clock.open = refuse
    assert abs(clock.now() - SystemClock().now()) < HOUR
    assert clock.doubt() is None


def test_a_machine_whose_clock_is_off_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    clock, ahead = DatabaseClock(), SystemClock().ahead()
    for off in (500, HOUR, HOUR, 500):
        # Little by little, so that the server's clock does not seem to jump.
        clock._estimate = None
        clock.heed(Measurement(boot_time(), ahead - off, 2))
    assert [record.getMessage() for record in caplog.records] == [
        "the clock of this machine is 3600.0 s ahead of the database's, which is the one that counts; set it",
        "the clock of this machine agrees with the database's again",
    ]
    assert 400 < clock.off_by() < 600


def schedule(engine: Engine, now: int) -> None:
    write(engine, put_template, NewTemplate(id="t", name="clean", task="clean"), now)
    write(engine, put_schedule, NewSchedule(id="s", name="nightly", template="clean", cron="* * * * *"), now)


def jump(server: Server) -> None:
    server.ahead += HOUR
    server.wait(EVERY_MS)
    server.measure()


def fall_silent(server: Server) -> None:
    server.wait(SILENCE_MS + 1)
    assert server.clock.doubt() is not None
    server.measure()


@pytest.mark.parametrize("trouble", [jump, fall_silent])
def test_in_doubt_nothing_is_promoted_expired_or_fired_until_two_measurements_agree(
    engine: Engine, server: Server, trouble: Callable[[Server], None], caplog: pytest.LogCaptureFixture
) -> None:
    clock = server.clock
    put_one(engine, "at", due=NOON + 20_000, now=NOON)
    put_one(engine, "late", deadline=NOON + 20_000, now=NOON)
    put_one(engine, "stale", ttl_ms=20_000, now=NOON)
    schedule(engine, NOON)
    states: list[list[StateName]] = []

    def look() -> None:
        states.append([state(engine, job_id) for job_id in ("at", "late", "stale")])

    async def work() -> None:
        trust = ClockTrust(clock)
        promoter = Promoter(engine, clock, ClockSteps(engine, clock), trust)
        cron, maintenance = CronLoop(engine, clock, trust), Maintenance(engine, clock, "s1", KeepTimes(KEEP_MS), trust)
        trouble(server)
        server.wait(60_000)
        assert [await loop.tick() for loop in (promoter, cron, maintenance)] == [HELD_S] * 3
        assert await cron.fire_due() == 0
        look()
        server.measure()
        await promoter.tick()
        await cron.tick()
        look()

    asyncio.run(work())
    assert states == [
        [StateName.SCHEDULED, StateName.QUEUED, StateName.QUEUED],
        [StateName.QUEUED, StateName.SKIPPED_DEADLINE, StateName.SKIPPED_TTL],
    ]
    assert select(engine, "SELECT count(*) AS jobs FROM jobs WHERE schedule_id = 's'") == [{"jobs": 1}]
    assert "nothing is fired, promoted or expired until two measurements agree" in caplog.text
    assert "the clock of the database is known again" in caplog.text


def test_in_doubt_events_still_reach_who_waits_for_them(engine: Engine, server: Server) -> None:
    put_one(engine, "a", wait_for_event="x", now=NOON)
    write(engine, emit, "e", "x", {}, NOON)
    fall_silent(server)

    async def work() -> None:
        await Promoter(engine, server.clock, ClockSteps(engine, server.clock), ClockTrust(server.clock)).tick()

    asyncio.run(work())
    assert state(engine, "a") is StateName.QUEUED


def test_no_delay_is_moved_because_one_machine_finds_the_servers_clock_elsewhere(
    engine: Engine, server: Server
) -> None:
    async def work() -> None:
        steps = ClockSteps(engine, server.clock)
        await steps.settle()
        put_one(engine, "delayed", delay_ms=60_000, now=server.clock.now())
        before.append(row(engine, "delayed").scheduled_at)
        jump(server)
        server.measure()
        assert not await steps.settle(anew=True)

    before: list[int | None] = []
    asyncio.run(work())
    assert [row(engine, "delayed").scheduled_at] == before
    assert select(engine, "SELECT * FROM clock_steps") == []
