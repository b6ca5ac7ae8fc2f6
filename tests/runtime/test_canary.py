"""The canary: what it takes when all is well, and what is said when it stays away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from holdfast.core.job import StateName
from holdfast.core.jobs.requests import SYSTEM_QUEUE, Claimed, ClaimRequest, JobFilter, QueueSlots, Report
from holdfast.core.jobs.settle import Broke, Completed, Outcome
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.core.tasks.reserved import CANARY
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.runtime.canary import KEEP_MS, Canary
from holdfast.runtime.clock import ManualClock
from holdfast.runtime.parts import Parts, commits_of
from holdfast.store.engine import Engine
from holdfast.store.scripts.claiming.claim import claim
from holdfast.store.scripts.queues.queues import pause
from holdfast.store.scripts.reading.read_jobs import list_jobs
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions.sessions import open_session
from holdfast.store.sqlite.engine import SqliteEngine
from tests.migrated import copy_migrated

PATIENCE_S = 60.0
DONE = Completed("null")


def from_any_thread(function: Callable[[], None]) -> Callable[..., None]:
    """Call it on the event loop, whoever calls and whatever he says."""
    home = asyncio.get_running_loop()

    def call(*said: object) -> None:
        home.call_soon_threadsafe(function)

    return call


class Aviary:
    """An engine, a clock, and what the keeper of the canaries heard."""

    def __init__(self, engine: Engine, clock: ManualClock) -> None:
        self.engine = engine
        self.clock = clock
        self.returned: list[float] = []
        self.missed = 0
        self._changed = asyncio.Event()

    def canary_returned(self, seconds: float) -> None:
        self.returned.append(seconds)
        self._changed.set()

    def canary_missed(self) -> None:
        self.missed += 1
        self._changed.set()

    async def until_heard(self) -> None:
        """Until the keeper has heard something."""
        async with asyncio.timeout(PATIENCE_S):
            await self._changed.wait()
        self._changed.clear()

    @asynccontextmanager
    async def flying(self, every: float = 60.0) -> AsyncIterator[Canary]:
        """A canary that is sent at once, and again when the clock says so."""
        canary = Canary(self.engine, self.clock, self, every=every)
        parts = Parts([canary])
        await parts.start(commits_of(self.engine))
        try:
            yield canary
        finally:
            await parts.stop()

    async def claimed(self) -> Claimed:
        """The canary, as soon as a worker can have it."""
        ready = asyncio.Event()
        leave = self.engine.listen(from_any_thread(ready.set))
        request = ClaimRequest(
            session_id="s1", slots=1, queues=(QueueSlots(SYSTEM_QUEUE, 1),), tasks=(CANARY,), worker_id="w1"
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    found = await self.engine.write(claim, request, self.clock.now())
                    if found:
                        return found[0]
                    await ready.wait()
                    ready.clear()
        finally:
            leave()

    async def end(self, run: Claimed, outcome: Outcome = DONE) -> None:
        """A worker's report about it."""
        await self.engine.write(finish, [Report(run.run_id, run.job_id, outcome, 1)], self.clock.now())

    async def states(self) -> list[StateName]:
        """Of every canary there is, newest first."""
        page = await self.engine.read(list_jobs, JobFilter(queue=SYSTEM_QUEUE), 50, None)
        return [job.state.name for job in page.jobs]


@pytest.fixture
def aviary(tmp_path: Path) -> Iterator[Aviary]:
    clock = ManualClock()
    engine = SqliteEngine(copy_migrated(tmp_path / "work.db"), durability="normal", now=clock.now)
    offer = Offer("w1", "worker", (CANARY,), (SYSTEM_QUEUE,), 2)
    engine.submit(open_session, NewSession("s1", "worker", "node", "boot", 1, None), offer, clock.now()).result()
    yield Aviary(engine, clock)
    engine.close()


def test_its_latency_is_the_way_from_the_enqueue_to_the_end(aviary: Aviary) -> None:
    async def story() -> None:
        async with aviary.flying():
            run = await aviary.claimed()
            aviary.clock.advance(0.25)
            await aviary.end(run)
            await aviary.until_heard()

    asyncio.run(story())
    assert (aviary.returned, aviary.missed) == ([0.25], 0)


def test_one_follows_the_other_at_its_time(aviary: Aviary) -> None:
    async def story() -> None:
        async with aviary.flying(every=60):
            for _ in range(3):
                await aviary.end(await aviary.claimed())
                await aviary.until_heard()
                aviary.clock.advance(60)

    asyncio.run(story())
    assert aviary.returned == [0, 0, 0]


def test_one_that_stays_away_is_a_warning_with_its_reason(aviary: Aviary, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> list[StateName]:
        await aviary.engine.write(pause, SYSTEM_QUEUE, "repairs", aviary.clock.now())
        sent = asyncio.Event()
        leave = aviary.engine.listen(from_any_thread(sent.set))
        async with aviary.flying(every=600):
            await asyncio.wait_for(sent.wait(), PATIENCE_S)
            aviary.clock.advance(60)
            await aviary.until_heard()
        leave()
        return await aviary.states()

    with caplog.at_level(logging.WARNING, "holdfast.canary"):
        states = asyncio.run(story())
    assert (aviary.returned, aviary.missed, states) == ([], 1, [StateName.CANCELLED])
    [record] = caplog.records
    assert record.__dict__["event"] == "canary_missed"
    assert "repairs" in record.getMessage()


def test_one_that_fails_is_missed_at_once(aviary: Aviary, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        async with aviary.flying():
            broke = Broke(Failure(FailureKind.PERMANENT, "ERR_TEST", "it broke"))
            await aviary.end(await aviary.claimed(), broke)
            await aviary.until_heard()

    asyncio.run(story())
    assert (aviary.returned, aviary.missed) == ([], 1)
    assert "it ended as FAILED" in caplog.text


def test_those_of_an_hour_ago_are_removed(aviary: Aviary) -> None:
    async def story() -> list[StateName]:
        async with aviary.flying(every=KEEP_MS / 1000 + 1):
            for _ in range(3):
                await aviary.end(await aviary.claimed())
                await aviary.until_heard()
                aviary.clock.advance(KEEP_MS / 1000 + 1)
            await aviary.claimed()
            return await aviary.states()

    assert asyncio.run(story()) == [StateName.RUNNING]


def test_one_that_waits_when_the_daemon_stops_does_not_stay_behind(aviary: Aviary) -> None:
    async def story() -> list[StateName]:
        await aviary.engine.write(pause, SYSTEM_QUEUE, None, aviary.clock.now())
        sent = asyncio.Event()
        leave = aviary.engine.listen(from_any_thread(sent.set))
        async with aviary.flying():
            await asyncio.wait_for(sent.wait(), PATIENCE_S)
        leave()
        return await aviary.states()

    assert asyncio.run(story()) == [StateName.CANCELLED]
