"""The planner on a real disk: what the system tells becomes jobs, and looking finds what the system did not tell."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.glob import Pattern
from holdfast.core.ignore_rules import MOST_LINES, IgnoreRules
from holdfast.core.queue import QueueChanges
from holdfast.core.requests import JobFilter
from holdfast.core.watch import DEBOUNCE_MS, Burst, NewWatch, Seen
from holdfast.runtime import watcher
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.planner import Planner
from holdfast.runtime.watched import PlannerOptions
from holdfast.store.engine import Engine, new_uuid
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.look import list_jobs
from holdfast.store.scripts.plans import take_in
from holdfast.store.scripts.queues import set_queue
from holdfast.store.scripts.watches import Watch, add_watch, find_watch, pause_watch, remove_watch, resume_watch
from holdfast.store.sqlite.engine import SqliteEngine

PATIENCE_S = 60.0
LOOK_S = 0.005
FAR = 3_600.0
TOLD = PlannerOptions(reconcile=FAR)  # only what the system tells is found
LOOKING = PlannerOptions(reconcile=0.05, watcher=False)  # the system tells nothing


class Garden:
    """A folder, and a database with a planner for it."""

    def __init__(self, folder: Path, engine: Engine | None = None) -> None:
        self.root = folder / "root"
        self.root.mkdir()
        self.clock = SystemClock()
        self.engine = engine or SqliteEngine(folder / "store.db", durability="normal", now=self.clock.now)

        self.took: list[float] = []

    @asynccontextmanager
    async def planner(self, options: PlannerOptions = TOLD) -> AsyncIterator[Planner]:
        planner = Planner(self.engine, self.clock, options=options, on_planned=self.took.append)
        planner.start()
        try:
            yield planner
        finally:
            await planner.stop()

    def save(self, name: str, text: str) -> None:
        """Write a file at one stroke, so that nobody sees half of it."""
        aside = self.root.with_name("aside")
        aside.write_text(text)
        aside.replace(self.root / name)

    async def add(self, *, is_awaited: bool = True, **fields: Any) -> Watch:
        wanted = NewWatch(id=new_uuid(), name="w", **{"path": str(self.root), "task": "index"} | fields)
        await self.engine.write(add_watch, wanted, self.clock.now())
        if is_awaited:
            await self.until(lambda watch: watch.scanned_at is not None, "the first look is over")
        return await self.watch()

    async def watch(self) -> Watch:
        return await self.engine.read(find_watch, "w")

    async def until(self, is_so: Callable[[Watch], bool], what: str) -> Watch:
        give_up = self.clock.monotonic() + PATIENCE_S
        while not is_so(watch := await self.watch()):
            assert self.clock.monotonic() < give_up, f"waited too long until {what}: {watch}"
            await asyncio.sleep(LOOK_S)
        return watch

    async def changed(self, count: int) -> list[dict[str, Any]]:
        """Wait until so many changes were taken in; the payloads of all jobs, oldest first."""
        await self.until(lambda watch: watch.changes >= count, f"{count} changes are found")
        return await self.jobs()

    async def jobs(self) -> list[dict[str, Any]]:
        page = await self.engine.read(list_jobs, JobFilter(), 1_000, None)
        return [json.loads(job.payload or "") for job in reversed(page.jobs)]


@pytest.fixture
def garden(tmp_path: Path) -> Iterator[Garden]:
    garden = Garden(tmp_path)
    yield garden
    garden.engine.close()


def said(jobs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(job["relative"], job["change"]) for job in jobs]


async def goes_by(garden: Garden) -> None:
    """A file comes, another one changes, and the first gets another name."""
    (garden.root / "other.md").touch()
    (garden.root / "new.py").touch()
    await garden.changed(1)
    garden.save("there.py", "22")
    await garden.changed(2)
    (garden.root / "new.py").rename(garden.root / "moved.py")
    told = said(await garden.changed(4))
    assert told[:2] == [("new.py", "added"), ("there.py", "modified")]
    assert sorted(told[2:]) == [("moved.py", "added"), ("new.py", "deleted")]


EITHER = pytest.mark.parametrize("options", [TOLD, LOOKING], ids=["told", "looking"])


@EITHER
def test_changes_become_jobs(garden: Garden, options: PlannerOptions) -> None:
    async def story() -> None:
        (garden.root / "there.py").write_text("1")
        async with garden.planner(options):
            assert (await garden.add(globs=("*.py",))).files == 1
            await goes_by(garden)

    asyncio.run(story())


def test_changes_become_jobs_on_postgresql(tmp_path: Path, postgres_url: str, postgres_schema: str) -> None:
    async def story() -> None:
        garden = Garden(tmp_path, PostgresEngine(postgres_url, schema=postgres_schema, now=SystemClock().now))
        (garden.root / "there.py").touch()
        async with garden.planner():
            await garden.add(globs=("*.py",))
            await goes_by(garden)
        garden.engine.close()

    asyncio.run(story())


@EITHER
def test_a_new_folder_is_watched_with_all_that_is_in_it(garden: Garden, options: PlannerOptions) -> None:
    async def story() -> None:
        async with garden.planner(options):
            await garden.add()
            (garden.root / "a" / "b").mkdir(parents=True)
            (garden.root / "a" / "b" / "one").touch()
            await garden.changed(1)
            (garden.root / "a" / "b" / "two").touch()
            await garden.changed(2)
            shutil.rmtree(garden.root / "a")
            await garden.changed(4)
            (garden.root / "a" / "b").mkdir(parents=True)
            (garden.root / "a" / "b" / "one").touch()
            await garden.changed(5)
            garden.save("a/b/one", "again")
            told = said(await garden.changed(6))[2:]
            assert sorted(told[:2]) == [("a/b/one", "deleted"), ("a/b/two", "deleted")]
            assert told[2:] == [("a/b/one", "added"), ("a/b/one", "modified")]

    asyncio.run(story())


@EITHER
def test_nothing_outside_the_folder_is_seen_through_a_link(
    garden: Garden, tmp_path: Path, options: PlannerOptions
) -> None:
    async def story() -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (garden.root / "link").symlink_to(outside)
        (garden.root / "loop").symlink_to(garden.root)
        async with garden.planner(options):
            assert (await garden.add()).files == 2
            (outside / "secret").touch()
            (garden.root / "mine").touch()
            await garden.changed(1)
            (garden.root / "link").unlink()
            assert said(await garden.changed(2)) == [("mine", "added"), ("link", "deleted")]

    asyncio.run(story())


def test_a_change_of_what_is_ignored_holds_at_once(garden: Garden) -> None:
    async def story() -> None:
        (garden.root / ".gitignore").write_text("*.log\n")
        (garden.root / "a.log").touch()
        async with garden.planner():
            assert (await garden.add(globs=("*.log",))).files == 0
            (garden.root / ".gitignore").write_text("")
            assert said(await garden.changed(1)) == [("a.log", "added")]

    asyncio.run(story())


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
        seen = [Seen(f"gone-{number}", "1") for number in range(500)]
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


def test_a_name_that_is_not_utf8_stops_nobody(garden: Garden) -> None:
    async def story() -> None:
        async with garden.planner():
            await garden.add()
            os.close(os.open(os.fsencode(garden.root) + b"/a\xff", os.O_CREAT))
            await garden.changed(1)
            (garden.root / "b").touch()
            assert said(await garden.changed(2)) == [("a\\xff", "added"), ("b", "added")]

    asyncio.run(story())


def test_files_that_are_there_become_jobs_where_that_is_wanted(garden: Garden) -> None:
    async def story() -> None:
        (garden.root / "a").touch()
        async with garden.planner():
            await garden.add(initial=True)
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


def test_who_watches_nothing_loads_nothing() -> None:
    program = "import sys, holdfast.daemon.daemon; print({'watchfiles'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_rules_that_are_left_out_are_named(garden: Garden) -> None:
    async def story() -> None:
        (garden.root / ".gitignore").write_text("a\n" * (MOST_LINES + 1))
        async with garden.planner():
            await garden.add()
            watch = await garden.until(lambda watch: watch.problem is not None, "it says so")
            assert (watch.problem or "").startswith(".gitignore has more rules than the first 10000 lines and 256 KiB")
            garden.save(".gitignore", "a\n")
            await garden.until(lambda watch: watch.problem is None, "all is well again")

    asyncio.run(story())


def test_nothing_is_matched_on_the_event_loop(garden: Garden, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = set()

    def note(kind: type, name: str) -> None:
        real = getattr(kind, name)

        def noted(*words: Any, **options: Any) -> Any:
            threads.add(threading.current_thread())
            return real(*words, **options)

        monkeypatch.setattr(kind, name, noted)

    note(IgnoreRules, "verdict")
    note(Pattern, "matches")
    note(Pattern, "__init__")

    async def story() -> None:
        (garden.root / ".gitignore").write_text("*.log\n")
        async with garden.planner():
            await garden.add(ignores=("*.tmp",))
            (garden.root / "sub").mkdir()
            (garden.root / "sub" / "a").touch()
            await garden.changed(1)

    asyncio.run(story())
    assert threads
    assert threading.current_thread() not in threads


def test_a_watch_with_endless_rules_can_be_stopped(garden: Garden, monkeypatch: pytest.MonkeyPatch) -> None:
    began = threading.Event()

    def endless(self: IgnoreRules, path: str, is_folder: bool, interrupt: Callable[[], object]) -> bool | None:
        began.set()
        while True:
            interrupt()

    monkeypatch.setattr(IgnoreRules, "verdict", endless)

    async def story() -> None:
        (garden.root / "a").touch()
        async with garden.planner():
            await garden.add(is_awaited=False)
            assert await asyncio.to_thread(began.wait, PATIENCE_S)

    asyncio.run(story())


def test_a_repository_is_watched(garden: Garden) -> None:
    def git(*words: str) -> None:
        person = ("-c", "user.name=me", "-c", "user.email=me@example.org")
        subprocess.run(["git", *person, *words], cwd=garden.root, check=True, capture_output=True)

    async def story() -> None:
        git("init", "-b", "main")
        git("commit", "--allow-empty", "-m", "first")
        async with garden.planner():
            await garden.add(kind="git")
            git("commit", "--allow-empty", "-m", "second")
            await garden.changed(1)
            git("checkout", "-b", "topic")
            jobs = await garden.changed(2)
            assert [(job["event"], job["branch"]) for job in jobs] == [("commit", "main"), ("branch", "topic")]

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
