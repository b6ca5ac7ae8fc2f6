"""What the planner finds after a time in which it did not watch, or could not, and which planner watches."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from holdfast.core.values.watch import SeenFile
from holdfast.runtime.planner import watcher
from holdfast.runtime.planner.planner import Planner
from holdfast.runtime.planner.watched import PlannerOptions
from holdfast.store.scripts.watches.plans import take_in
from holdfast.store.scripts.watches.watches import pause_watch, remove_watch, resume_watch
from tests.runtime.garden import Garden, said


def test_what_changed_while_nobody_watched_is_found(garden: Garden) -> None:
    async def story() -> None:
        (garden.root / "a").touch()
        (garden.root / "b").touch()
        async with garden.planner():
            await garden.add()
        (garden.root / "a").write_text("new")
        (garden.root / "b").unlink()
        (garden.root / "c").touch()
        async with garden.planner():
            assert said(await garden.changed(3)) == [("a", "modified"), ("b", "deleted"), ("c", "added")]
        async with garden.planner(PlannerOptions(reconcile=0.01)):
            (garden.root / "d").touch()
            await garden.changed(4)
        assert len(await garden.jobs()) == 4

    asyncio.run(story())


def test_what_changed_during_a_pause_is_found_at_its_end(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner():
            await garden.add()
            await garden.engine.write(pause_watch, "w", garden.clock.now())
            (garden.root / "a").touch()
            await garden.engine.write(resume_watch, "w", garden.clock.now())
            assert said(await garden.changed(1)) == [("a", "added")]

    asyncio.run(story())


def test_what_a_dead_planner_took_in_is_told_by_the_next(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner():
            watch = await garden.add()
        seen = [SeenFile(f"gone-{number}", "1") for number in range(500)]
        await garden.engine.write(take_in, watch.id, 1, seen, garden.clock.now())
        async with garden.planner():
            await garden.until(lambda watch: watch.jobs > 0, "it is told")
            assert (await garden.jobs())[0]["paths_changed"] == 500

    asyncio.run(story())


def test_a_folder_that_disappears_is_said_so_and_compared_when_it_is_back(garden: Garden, tmp_path: Path) -> None:
    async def story() -> None:
        (garden.root / "a").touch()
        (garden.root / "b").touch()
        async with garden.planner(PlannerOptions(reconcile=0.05)):
            await garden.add()
            garden.root.rename(tmp_path / "away")
            await garden.until(lambda watch: watch.problem == "the folder is not there", "it is missed")
            (tmp_path / "away" / "a").write_text("new")
            (tmp_path / "away").rename(garden.root)
            await garden.until(lambda watch: watch.problem is None, "it is back")
            assert said(await garden.changed(1)) == [("a", "modified")]
            (garden.root / "b").write_text("new")
            await garden.changed(2)

    asyncio.run(story())


def test_a_folder_may_come_after_its_watch(garden: Garden) -> None:
    async def story() -> None:
        late = garden.root / "late"
        async with garden.planner(PlannerOptions(reconcile=0.05)):
            await garden.add(path=str(late), is_awaited=False)
            await garden.until(lambda watch: watch.problem is not None, "it is missed")
            late.mkdir()
            await garden.until(lambda watch: watch.scanned_at is not None, "it is there")
            (late / "a").touch()
            assert said(await garden.changed(1)) == [("a", "added")]

    asyncio.run(story())


def test_a_watch_that_was_removed_makes_no_more_jobs(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner():
            await garden.add()
            await garden.engine.write(remove_watch, "w")
            (garden.root / "a").touch()
            assert (await garden.add()).files == 1
            (garden.root / "b").touch()
            assert said(await garden.changed(1)) == [("b", "added")]

    asyncio.run(story())


def test_two_planners_of_one_machine_make_each_job_once(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner(), garden.planner(PlannerOptions(reconcile=0.01)):
            await garden.add()
            for number in range(20):
                (garden.root / f"{number}").touch()
            await garden.changed(20)
        assert len(await garden.jobs()) == 20

    asyncio.run(story())


def test_a_planner_of_another_machine_leaves_it_alone(garden: Garden) -> None:
    async def story() -> None:
        foreign = Planner(garden.engine, garden.clock, options=PlannerOptions(reconcile=0.01), node="elsewhere")
        await garden.add(is_awaited=False)
        await foreign.tick()
        assert foreign._watched == {}
        await foreign.stop()

    asyncio.run(story())


def test_a_limit_of_the_system_is_named_with_what_to_do(
    garden: Garden, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(folders: set[str]) -> None:
        raise OSError("error in underlying watcher: OS file watch limit reached.")

    async def story() -> None:
        monkeypatch.setattr(watcher, "_notify", refuse)
        async with garden.planner(PlannerOptions(reconcile=0.05)):
            await garden.add()
            watch = await garden.until(lambda watch: watch.problem is not None, "it says so")
            assert "fs.inotify.max_user_watches" in (watch.problem or "")
            assert "sudo sysctl" in (watch.problem or "")
            (garden.root / "a").touch()
            await garden.changed(1)
        assert any("fs.inotify.max_user_watches" in record.getMessage() for record in caplog.records)

    asyncio.run(story())
