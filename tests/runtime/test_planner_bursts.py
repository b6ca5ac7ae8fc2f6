"""Many changes at once, and changes that go on: debounce, one job for many, and room in the queue."""

from __future__ import annotations

import asyncio

from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.values.watch import DEBOUNCE_MS, Burst
from holdfast.runtime.planner.watched import PlannerOptions
from holdfast.store.scripts.queues.queues import set_queue
from tests.runtime.garden import FAR, Garden, said


def test_how_long_a_change_took_to_become_a_job_is_told(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner():
            await garden.add(globs=["*.py"], debounce_ms=DEBOUNCE_MS)
            garden.save("one.py", "1")
            await garden.changed(1)
            await garden.until(lambda watch: len(garden.took) == 1, "it is told")
            garden.save("other.txt", "nobody wants it")
            garden.save("two.py", "2")
            await garden.changed(2)
            await garden.until(lambda watch: len(garden.took) == 2, "the other one is told")

    asyncio.run(story())
    assert all(took >= DEBOUNCE_MS / 1000 for took in garden.took)


def test_much_at_once_is_one_job(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner(PlannerOptions(reconcile=FAR, debounce_ms=500, max_wait_ms=60_000)):
            await garden.add(max_jobs=10)
            for number in range(1_200):
                (garden.root / f"{number}").touch()
            await garden.changed(1_200)
            await garden.until(lambda watch: watch.jobs > 0, "it is told")
            jobs = await garden.jobs()
            assert sum(job.get("paths_changed", 1) for job in jobs) == 1_200
            assert len(jobs) < 50

    asyncio.run(story())


def test_a_constant_stream_gets_through(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner(PlannerOptions(reconcile=FAR, debounce_ms=100, max_wait_ms=100)):
            await garden.add()
            is_over = asyncio.Event()

            async def write() -> None:
                number = 0
                while not is_over.is_set():
                    (garden.root / "busy").write_text(str(number))
                    number += 1
                    await asyncio.sleep(0.001)

            writing = asyncio.create_task(write())
            await garden.changed(3)
            is_over.set()
            await writing

    asyncio.run(story())


def test_a_burst_larger_than_its_queue_goes_in_as_there_is_room(garden: Garden) -> None:
    async def story() -> None:
        await garden.engine.write(set_queue, "small", QueueChanges(max_length=3))
        async with garden.planner():
            await garden.add(queue="small")
            for number in range(8):
                (garden.root / f"{number}").touch()
            waiting = await garden.until(
                lambda watch: watch.jobs == 3 and watch.waits_for is not None, "as many are in as fit"
            )
            assert waiting.waits_for == "room in queue small for 5 changed files"
            assert waiting.problem is None
            await garden.engine.write(set_queue, "small", QueueChanges(max_length=5))
            await garden.until(lambda watch: watch.jobs == 5, "more are in")
            await garden.engine.write(set_queue, "small", QueueChanges(max_length=100))
            await garden.until(lambda watch: watch.jobs == 8 and watch.waits_for is None, "all are in")

    asyncio.run(story())


def test_a_job_for_many_changes_waits_for_room(garden: Garden) -> None:
    async def story() -> None:
        await garden.engine.write(set_queue, "small", QueueChanges(max_length=0))
        async with garden.planner():
            await garden.add(queue="small", max_jobs=2)
            for number in range(5):
                (garden.root / f"{number}").touch()
            await garden.until(lambda watch: watch.waits_for is not None, "it waits")
            (garden.root / "later").touch()
            await garden.engine.write(set_queue, "small", QueueChanges(max_length=10))
            await garden.until(lambda watch: watch.changes == 6 and watch.waits_for is None, "all are in")

    asyncio.run(story())


def test_a_file_that_has_stopped_changing_becomes_a_job(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner():
            await garden.add(settle_ms=50)
            (garden.root / "grown").write_text("all of it")
            assert said(await garden.changed(1)) == [("grown", "added")]
            (garden.root / "grown").unlink()
            await garden.changed(2)

    asyncio.run(story())


def test_a_debounce_above_the_longest_wait_raises_it(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner() as planner:
            await garden.add(debounce_ms=5_000, max_wait_ms=1_000)
            [watched] = planner._watched.values()
            assert watched._due(Burst(10.0, 10.0)) == 15.0

    asyncio.run(story())
