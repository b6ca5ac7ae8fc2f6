"""When a watch looks: its own pace on a clock that stands still, and that of the system's watcher beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from holdfast.core.values.watch import MAX_WAIT_MS
from holdfast.core.watching.new_watch import NewWatch
from holdfast.runtime.clock import ManualClock, SystemClock
from holdfast.runtime.planner.planner import Planner
from holdfast.runtime.planner.watched import PlannerOptions, Watched
from holdfast.runtime.planner.watcher import STEP_MS
from holdfast.store.engine import new_uuid
from holdfast.store.scripts.watches.watches import add_watch, find_watch, watches_of_node
from holdfast.store.sqlite.engine import SqliteEngine
from tests.chaos.processes import until
from tests.migrated import copy_migrated

FAR = 3_600.0
QUIET_S = 0.075  # less than the usual debounce: a thread may be held up between two looks at the clock


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    engine = SqliteEngine(copy_migrated(tmp_path / "store.db"), durability="normal", now=SystemClock().now)
    engine.run(add_watch, NewWatch(id=new_uuid(), name="w", path=str(tmp_path), globs=("*.py",), task="index"), 0)
    yield engine
    engine.close()


class Counted(Watched):
    """Counts its looks."""

    looks = 0

    def cares_for(self, path: str) -> bool:
        return True

    async def look(self, paths: set[str], *, is_again: bool = False) -> None:
        self.looks += 1

    async def reconcile(self) -> None:
        pass


async def looks_at(engine: SqliteEngine, saves: int, every_ms: int) -> int:
    """How often a watch with the usual settings looks at a file that is saved again and again.

    Milliseconds pass one by one. The watcher looks up at each step, and reports when a step has brought nothing that
    it had not seen in the step before: one file that is saved all the time is told in every other step.
    """
    clock = ManualClock()
    [row] = engine.query(watches_of_node, engine.node)
    watched = Counted(engine, clock, row, None, PlannerOptions(reconcile=FAR))
    await watched.tick()
    is_saved = is_seen = False
    for now in range(saves * every_ms + 1_500):
        is_saved = is_saved or (now % every_ms == 0 and now < saves * every_ms)
        if now % STEP_MS == 0:
            if is_seen:
                watched.hear({"/w/a.py"})
                is_seen = is_saved = False
            is_seen = is_saved
        clock.advance(0.001)
        await watched.tick()
    return watched.looks


@pytest.mark.parametrize("every_ms", [1, 5])
def test_fifty_saves_in_a_quarter_of_a_second_are_looked_at_once(engine: SqliteEngine, every_ms: int) -> None:
    assert asyncio.run(looks_at(engine, 50, every_ms)) == 1


@pytest.mark.parametrize("every_ms", [5, 10, 20, 30, 40])
def test_a_stream_of_saves_is_looked_at_once_per_longest_wait(engine: SqliteEngine, every_ms: int) -> None:
    assert asyncio.run(looks_at(engine, 2_000 // every_ms, every_ms)) in (2, 3)


@pytest.mark.parametrize(
    ("is_crowded", "max_wait_ms", "waits"), [(False, 9_000, 1.0), (True, 9_000, 4.0), (True, 3_000, 3.0)]
)
def test_a_watch_whose_jobs_are_mostly_superseded_waits_longer_for_quiet_but_not_too_long(
    engine: SqliteEngine, is_crowded: bool, max_wait_ms: int, waits: float
) -> None:
    async def story() -> None:
        clock = ManualClock()
        [row] = engine.query(watches_of_node, engine.node)
        watched = Counted(engine, clock, row, None, PlannerOptions(FAR, debounce_ms=1_000, max_wait_ms=max_wait_ms))
        await watched.tick()
        watched.is_crowded = is_crowded
        watched.hear({"/w/a.py"})
        clock.advance(waits - 0.1)
        await watched.tick()
        assert watched.looks == 0
        clock.advance(0.2)
        await watched.tick()
        assert watched.looks == 1

    asyncio.run(story())


class Hearing(Planner):
    """Notes when it hears of something."""

    def __init__(self, engine: SqliteEngine) -> None:
        super().__init__(engine, SystemClock(), options=PlannerOptions(reconcile=FAR))
        self.heard: list[float] = []

    def _hear(self, paths: set[str]) -> None:
        self.heard.append(self.clock.monotonic())
        super()._hear(paths)


def test_saves_are_gathered_while_the_watcher_reports_them(engine: SqliteEngine, tmp_path: Path) -> None:
    async def story() -> None:
        planner = Hearing(engine)
        planner.start()
        try:
            await asyncio.to_thread(until, lambda: engine.query(find_watch, "w").scanned_at is not None, "it watches")
            for number in range(200):
                (tmp_path / "a.py").write_text("x" * number)
                await asyncio.sleep(0.005)
            (tmp_path / "last.py").touch()
            await asyncio.to_thread(until, lambda: engine.query(find_watch, "w").files == 2, "all is found")
        finally:
            await planner.stop()
        # However slow the machine is: a look comes after a quiet time, or after the longest wait.
        heard = planner.heard
        quiet = sum(later - earlier > QUIET_S for earlier, later in pairwise(heard))
        looks_at_most = 1 + quiet + (heard[-1] - heard[0]) * 1000 / MAX_WAIT_MS
        assert engine.query(find_watch, "w").changes <= looks_at_most + 1  # the last look finds two files

    asyncio.run(story())
