"""When a worker gives up on a run that takes no notice of being asked to stop, and what it leaves behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.core.jobs.requests import COMMAND
from holdfast.runtime.clock import ManualClock
from holdfast.store.scripts.sessions.recover import processes_of
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec
from holdfast.workers.builtin.command import SPEC
from holdfast.workers.exchange import ExchangeLoop
from holdfast.workers.stuck import OTHERS_GRACE_S, OTHERS_S, StuckWatch
from tests.chaos.processes import KnownProcess, until
from tests.migrated import copy_migrated
from tests.store.acts import SESSION, open_session, put_one, states

GRACE_S = 30.0
STUBBORN = '{"argv": ["sh", "-c", "trap \'\' TERM; echo ready; while :; do sleep 1; done"], "grace_s": 3600}'


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def engine(tmp_path: Path, clock: ManualClock) -> Iterator[SqliteEngine]:
    made = SqliteEngine(copy_migrated(tmp_path / "work.db"), durability="normal", now=clock.now)
    open_session(made, now=clock.now())
    yield made
    made.close()


class Watched:
    """A worker with a function in it that ends only when the test is over, and what its watch has done."""

    def __init__(self, engine: SqliteEngine, clock: ManualClock) -> None:
        self.released = threading.Event()

        def deaf() -> None:
            self.released.wait()

        spec = TaskSpec("deaf", "default", deaf, PayloadSchema("deaf", deaf, skip_first=False), False, ())
        specs = {"deaf": spec, COMMAND: SPEC}
        self.exchange = ExchangeLoop(engine, clock, SESSION, "w", specs, {"default": 4})
        self.left: list[list[bool]] = []
        self.processes: list[KnownProcess] = []
        self.watch = StuckWatch(clock, self.exchange, lambda: GRACE_S, self._leave)

    def _leave(self) -> None:
        self.left.append([process.is_alive for process in self.processes])


@asynccontextmanager
async def working(engine: SqliteEngine, clock: ManualClock) -> AsyncIterator[Watched]:
    watched = Watched(engine, clock)
    watched.exchange.runner.start()
    try:
        await watched.exchange.exchange_once()
        await asyncio.to_thread(until, lambda: watched.exchange.runner.active, "the function runs")
        yield watched
    finally:
        watched.released.set()
        await asyncio.to_thread(watched.exchange.close)


def test_a_deadline_that_passed_while_the_machine_slept_leaves_a_run_its_grace(
    engine: SqliteEngine, clock: ManualClock
) -> None:
    put_one(engine, "j", task="deaf", deadline=clock.now() + 60_000, now=clock.now())

    async def wake_up() -> None:
        async with working(engine, clock) as watched:
            clock.step(8 * 3600)
            await watched.watch.tick()
            assert watched.left == []
            clock.advance(GRACE_S)
            await watched.watch.tick()
            assert watched.left == [[]]

    asyncio.run(wake_up())
    assert states(engine, "j") == ["SKIPPED_DEADLINE"]


def test_a_process_that_does_not_end_is_killed_before_its_run_goes_back(
    engine: SqliteEngine, clock: ManualClock
) -> None:
    put_one(engine, "j", task="deaf", timeout_ms=1_000, now=clock.now())
    put_one(engine, "program", task=COMMAND, payload=STUBBORN, now=clock.now())

    async def give_up() -> None:
        async with working(engine, clock) as watched:
            await asyncio.to_thread(until, lambda: any(map(Path.read_text, engine.files.rglob("*.log"))), "it is deaf")
            watched.processes = [KnownProcess(one.pid, one.started_at) for one in engine.query(processes_of, SESSION)]
            for passing in (2, GRACE_S, OTHERS_S, OTHERS_GRACE_S):
                clock.advance(passing)
                await watched.watch.tick()
            assert watched.left == [[False]]

    asyncio.run(give_up())
    assert states(engine, "j", "program") == ["FAILED", "QUEUED"]
