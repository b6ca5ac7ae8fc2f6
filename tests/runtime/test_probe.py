"""Who looks at the machine, how often, and what comes of it. The clock stands still unless a test moves it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from holdfast.core.gates.pressure import REFUSAL_MS
from holdfast.core.machine.machine import NOT_LOOKED, JudgedMachine
from holdfast.core.machine.readings import DiskSeen, InputSeen, LoadSeen, MemorySeen, Simulation
from holdfast.core.messages.machines import Machine
from holdfast.core.messages.sessions import NewSession
from holdfast.runtime.clock import ManualClock
from holdfast.runtime.machine.probe import LINGER_S, SELDOM_S, Probe, Probing, ReadingSource, place_of, system_gauges
from holdfast.runtime.machine.simulated import SimulatedMachine
from holdfast.runtime.upkeep import Upkeep
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.machines.machines import list_machines
from holdfast.store.scripts.maintenance.probed_machines import note_machine, simulate
from holdfast.store.scripts.sessions import sessions
from holdfast.store.sqlite.engine import SqliteEngine
from tests.migrated import copy_migrated
from tests.store.acts import SESSION, claim_some, execute, open_session, put_one, write

EVERY_S = 10.0
BUSY = JudgedMachine(is_idle=False, idle="in use", is_charging=True, charging="on AC", source="test")


class Told:
    """A source that tells what the test wants, and counts who asks."""

    def __init__(self, tells: str, says: Any, *, is_cheap: bool) -> None:
        self.tells, self.says, self.is_cheap, self.looks = tells, says, is_cheap, 0

    def look(self) -> Any:
        self.looks += 1
        return self.says


class Broken:
    """A source that fails."""

    tells: ClassVar[str] = "input"
    is_cheap: ClassVar[bool] = True

    def look(self) -> Any:
        raise OSError("no such device")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(tmp_path: Path, clock: ManualClock) -> Iterator[SqliteEngine]:
    made = SqliteEngine(copy_migrated(tmp_path / "work.db"), durability="normal", now=clock.now)
    open_session(made, now=clock.now())
    yield made
    made.close()


@pytest.fixture
def keyboard() -> Told:
    return Told("input", InputSeen("keyboard", 600_000), is_cheap=False)


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


@asynccontextmanager
async def probe(engine: SqliteEngine, clock: ManualClock, *sources: ReadingSource, **how: Any) -> AsyncIterator[Probe]:
    made = Probe(engine, clock, Probing(every=EVERY_S, sources=sources, **how))
    yield made
    await made.stop()


def machine(engine: SqliteEngine) -> Machine:
    [found] = engine.query(list_machines)
    return found


def wait_for_machine(engine: SqliteEngine, clock: ManualClock, job_id: str = "j1") -> None:
    put_one(engine, job_id, wait_for_idle=True, now=clock.now())


def test_a_program_that_nobody_waits_in_does_not_look_at_its_start(
    engine: SqliteEngine, clock: ManualClock, keyboard: Told
) -> None:
    async def work() -> None:
        async with probe(engine, clock, keyboard) as here:
            assert await here.tick() == SELDOM_S
            assert engine.query(list_machines) == []
            clock.advance(SELDOM_S)
            assert await here.tick() == SELDOM_S
            assert machine(engine).idle == NOT_LOOKED

    run(work)
    assert keyboard.looks == 0, "a program would have been started for nobody"


def test_a_daemon_has_looked_before_it_is_ready(engine: SqliteEngine, clock: ManualClock, keyboard: Told) -> None:
    async def work() -> None:
        async with probe(engine, clock, keyboard, is_eager=True) as here:
            await here.tick()

    run(work)
    assert machine(engine).idle == NOT_LOOKED
    assert machine(engine).charging == "no battery found"


def test_a_job_that_waits_has_everybody_asked_at_once_and_then_every_ten_seconds(
    engine: SqliteEngine, clock: ManualClock, keyboard: Told
) -> None:
    async def work() -> None:
        async with probe(engine, clock, keyboard) as here:
            await here.tick()
            wait_for_machine(engine, clock)
            assert await here.tick() == EVERY_S
            assert machine(engine).is_idle
            clock.advance(EVERY_S / 2)
            assert await here.tick() == EVERY_S / 2
            clock.advance(EVERY_S / 2)
            await here.tick()

    run(work)
    assert keyboard.looks == 2


def test_a_machine_that_has_slept_is_looked_at_before_its_turn_and_is_not_idle(
    engine: SqliteEngine, clock: ManualClock, keyboard: Told
) -> None:
    async def work() -> None:
        put_one(engine, "gated", wait_for_idle=True)
        async with probe(engine, clock, keyboard) as looking:
            await looking.tick()
            assert machine(engine).is_idle
            clock.step(3_600)
            looking.look_anew()
            await looking.tick()
            assert not machine(engine).is_idle

    run(work)


def test_only_a_change_is_written(engine: SqliteEngine, clock: ManualClock, keyboard: Told) -> None:
    async def work() -> None:
        wait_for_machine(engine, clock)
        async with probe(engine, clock, keyboard) as here:
            for _ in range(5):
                await here.tick()
                clock.advance(EVERY_S)
            assert here.stored == 1
            keyboard.says = InputSeen("keyboard", 0)
            await here.tick()
            assert here.stored == 2

    run(work)
    assert not machine(engine).is_idle


def test_when_the_last_job_is_gone_nobody_calls_the_machine_idle_any_more(
    engine: SqliteEngine, clock: ManualClock, keyboard: Told
) -> None:
    """Somebody may use it again by the time the next such job comes."""

    async def work() -> None:
        wait_for_machine(engine, clock)
        async with probe(engine, clock, keyboard) as here:
            await here.tick()
            execute(engine, "DELETE FROM jobs")
            clock.advance(LINGER_S)
            assert await here.tick() == SELDOM_S
            assert (machine(engine).is_idle, machine(engine).idle) == (False, NOT_LOOKED)

    run(work)


def test_the_word_of_a_life_before_this_one_does_not_stand(
    engine: SqliteEngine, clock: ManualClock, keyboard: Told
) -> None:
    async def work() -> None:
        wait_for_machine(engine, clock)
        async with probe(engine, clock, keyboard) as before:
            await before.tick()
        assert machine(engine).is_idle
        execute(engine, "DELETE FROM jobs")
        async with probe(engine, clock, keyboard) as here:
            await here.tick()
        assert not machine(engine).is_idle

    run(work)


def test_one_looks_for_each_machine_and_another_takes_its_place(
    engine: SqliteEngine, clock: ManualClock, keyboard: Told
) -> None:
    async def work() -> None:
        wait_for_machine(engine, clock)
        async with probe(engine, clock, Told("input", InputSeen("other", 0), is_cheap=True)) as second:
            async with probe(engine, clock, keyboard) as first:
                await first.tick()
                assert await second.tick() == EVERY_S
                assert machine(engine).source == "keyboard"
            await second.tick()
            assert machine(engine).source == "other"

    run(work)


def test_two_servers_of_one_host_are_two_databases_to_look_for() -> None:
    first, second, again = (
        PostgresEngine(f"postgresql://{login}@db.example:{port}/work", now=lambda: 0)
        for login, port in (("ann", 5432), ("ann", 5433), ("ben", 5432))
    )
    assert place_of(first, "n") != place_of(second, "n")
    assert place_of(first, "n") == place_of(again, "n")


def test_a_simulation_is_gone_by_in_front_of_every_source(
    engine: SqliteEngine, clock: ManualClock, keyboard: Told
) -> None:
    async def work() -> None:
        wait_for_machine(engine, clock)
        keyboard.says = InputSeen("keyboard", 0)
        async with probe(engine, clock, keyboard) as here:
            await here.tick()
            write(engine, simulate, engine.node, Simulation(idle=True), clock.now())
            await here.tick()
            assert machine(engine).idle == "idle (simulated)"
            assert keyboard.looks == 1
            write(engine, simulate, engine.node, None, clock.now())
            await here.tick()
            assert machine(engine).source == "keyboard"

    run(work)


def test_a_simulated_machine_changes_while_it_is_looked_at(engine: SqliteEngine, clock: ManualClock) -> None:
    simulated = SimulatedMachine(idle=False, charging=False, battery=15)

    async def work() -> None:
        wait_for_machine(engine, clock)
        async with probe(engine, clock, simulated=simulated) as here:
            await here.tick()
            assert (machine(engine).is_idle, machine(engine).charging) == (False, "discharging, 15 % (simulated)")
            simulated.set(idle=True)
            await here.tick()
            assert (machine(engine).is_idle, machine(engine).is_charging) == (True, False)

    run(work)


def test_a_nudge_from_another_thread_makes_it_look(engine: SqliteEngine, clock: ManualClock, keyboard: Told) -> None:
    async def work() -> None:
        async with probe(engine, clock, keyboard) as here:
            here.start()
            wait_for_machine(engine, clock)
            async with asyncio.timeout(30):
                while not engine.query(list_machines):
                    await asyncio.to_thread(here.nudge)
                    await asyncio.sleep(0.01)

    run(work)
    assert machine(engine).is_idle


def test_a_source_that_fails_tells_nothing(engine: SqliteEngine, clock: ManualClock, keyboard: Told) -> None:
    async def work() -> None:
        wait_for_machine(engine, clock)
        async with probe(engine, clock, Broken(), keyboard) as here:
            await here.tick()

    run(work)
    assert machine(engine).source == "keyboard"


def test_where_nothing_tells_of_input_five_minutes_of_low_load_let_the_job_run(
    engine: SqliteEngine, clock: ManualClock
) -> None:
    load = Told("load", LoadSeen("load", 0.1), is_cheap=True)

    async def work() -> None:
        here_session = NewSession("here", "embedded", engine.node, "boot", 4711, None)
        write(engine, sessions.open_session, here_session, None, clock.now())
        wait_for_machine(engine, clock)
        async with probe(engine, clock, load) as here:
            for _ in range(30):
                await here.tick()
                assert claim_some(engine, session="here", now=clock.now()) == []
                clock.advance(EVERY_S)
            await here.tick()
            assert [run.job_id for run in claim_some(engine, session="here", now=clock.now())] == ["j1"]

    run(work)


def test_a_probe_on_watch_sees_that_the_machine_needs_rest_and_when_it_is_over(
    engine: SqliteEngine, clock: ManualClock
) -> None:
    memory = Told("memory", MemorySeen("test", 0.5), is_cheap=True)

    async def work() -> None:
        async with probe(engine, clock, gauges=(memory,), is_eager=True) as looking:
            found = []
            for left in (0.5, 0.05, 0.05, 0.5, 0.5, 0.5, 0.5):
                memory.says = MemorySeen("test", left)
                await looking.tick()
                found.append(machine(engine).holds)
                clock.advance(EVERY_S)
            assert found == [0, 0, 1, 1, 1, 1, 0]
            assert (memory.looks, looking.stored) == (7, 3)

    run(work)


def test_a_refusal_is_said_again_before_it_ends(engine: SqliteEngine, clock: ManualClock) -> None:
    disk = Told("disk", DiskSeen("test", 0.01, 5), is_cheap=True)

    async def work() -> None:
        async with probe(engine, clock, gauges=(disk,), is_eager=True) as looking:
            for _ in range(20):
                await looking.tick()
                until = machine(engine).refuses_until
                assert until is not None
                assert until > clock.now() + 20_000
                clock.advance(EVERY_S)
            disk.says = DiskSeen("test", 0.5, 5 << 30)
            await looking.tick()
            assert machine(engine).refuses is None

    run(work)


def test_a_program_that_works_looks_before_it_starts_anything(engine: SqliteEngine, clock: ManualClock) -> None:
    memory = Told("memory", MemorySeen("test", 0.01), is_cheap=True)

    async def work() -> None:
        upkeep = Upkeep(engine, clock, SESSION, probing=Probing(sources=(), gauges=(memory,)))
        await upkeep.prepare()
        assert machine(engine).holds == 1
        upkeep.leave()

    run(work)


def test_a_refusal_is_said_anew_when_the_clock_was_set_back(engine: SqliteEngine, clock: ManualClock) -> None:
    disk = Told("disk", DiskSeen("test", 0.01, 5), is_cheap=True)

    async def work() -> None:
        async with probe(engine, clock, gauges=(disk,), is_eager=True) as looking:
            await looking.tick()
            clock.step(-3600)
            looking.look_anew()
            await looking.tick()
            assert machine(engine).refuses_until == clock.now() + REFUSAL_MS

    run(work)


def test_a_program_that_only_works_off_what_is_ready_does_not_ask_whether_the_machine_is_tired(
    engine: SqliteEngine, clock: ManualClock
) -> None:
    memory = Told("memory", MemorySeen("test", 0.01), is_cheap=True)

    async def work() -> None:
        async with probe(engine, clock, gauges=(memory,)) as looking:
            write(engine, note_machine, engine.node, BUSY, None, clock.now())
            await looking.tick()
            assert (memory.looks, machine(engine).holds) == (0, 0)

    run(work)


def test_a_switch_that_is_neither_on_nor_off_counts_as_on_with_a_warning(
    engine: SqliteEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert system_gauges(engine) == ()
    monkeypatch.setenv("HOLDFAST_PRESSURE", "nope")
    assert system_gauges(engine)
    assert "HOLDFAST_PRESSURE='nope' is not valid: use off, or on" in caplog.text
