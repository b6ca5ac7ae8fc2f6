"""The planner on a real disk: what the system tells becomes jobs, and looking finds what the system did not tell."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.values.glob import Pattern
from holdfast.core.watching.ignore_rules import MOST_LINES, IgnoreRules
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.planner.watched import PlannerOptions
from holdfast.store.postgres.engine import PostgresEngine
from tests.runtime.garden import LOOKING, PATIENCE_S, TOLD, Garden, said


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


@pytest.mark.processes
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


@pytest.mark.processes
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
