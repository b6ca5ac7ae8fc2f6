"""Watches from end to end: a real daemon, a real worker, real files and real git; and nothing lost on the way."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast import Holdfast, Job, StateName
from holdfast.core.messages.watches import Watch
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House, inhabited

QUICK = "[planner]\nreconcile = 1\n"
# The system tells nothing, and looks are far apart: what is found was found by the look at the start.
BLIND = "[planner]\nreconcile = 3600\nwatcher = false\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A home whose worker notes what it is told about files. Each test has a watch and a task of its own."""
    with inhabited(tmp_path_factory.mktemp("side"), app="indexer") as house:
        yield house


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def watching(hf: Holdfast, name: str = "root") -> None:
    until(lambda: hf.watch(name).scanned_at is not None, "the first look is over")


def until_changed(hf: Holdfast, count: int, name: str = "root") -> Watch:
    until(lambda: hf.watch(name).changes >= count, f"{count} changes are found")
    return hf.watch(name)


def jobs_of(hf: Holdfast, task: str) -> list[Job]:
    """Those of one task, newest first."""
    return hf.jobs(limit=1_000, task=task).jobs


def payloads(hf: Holdfast, task: str = "index") -> list[dict[str, Any]]:
    return [msgspec.json.decode(job.payload or "") for job in jobs_of(hf, task)]


def git(root: Path, *words: str) -> None:
    alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    person = ("-c", "user.name=me", "-c", "user.email=me@example.org")
    subprocess.run(["git", *person, *words], cwd=root, check=True, capture_output=True, env={**os.environ, **alone})


def test_fifty_saves_of_one_file_are_one_run(shared: House, root: Path) -> None:
    hf = shared.client()
    hf.add_watch(root, name="saves", globs=["*.py"], task="index")
    watching(hf, "saves")
    # Held back, so that it does not matter how fast the saves come: the newest supersedes those before it.
    hf.pause("default")
    for number in range(50):
        (root / "a.py").write_text("x" * number)
    (root / "last.py").touch()
    until(lambda: any(job["relative"] == "last.py" for job in payloads(hf)), "all is planned")
    hf.resume("default")
    newest = next(job for job in jobs_of(hf, "index") if "a.py" in (job.subject or ""))
    assert hf.job(newest.id).result(PATIENCE_S) == "a.py"
    until(lambda: len(entries(shared.side, "end")) == 2, "both files are indexed")
    states = [job.state.name for job in jobs_of(hf, "index") if "a.py" in (job.subject or "")]
    assert states.count(StateName.DONE) == 1
    assert set(states) <= {StateName.DONE, StateName.SUPERSEDED}


def test_a_rebase_over_a_thousand_files_ends_in_few_jobs(shared: House, root: Path) -> None:
    git(root, "init", "-b", "main")
    for number in range(1_000):
        (root / f"{number}.txt").write_text("first")
    git(root, "add", ".")
    git(root, "commit", "-m", "first")
    git(root, "checkout", "-b", "topic")
    (root / "topic.txt").write_text("mine")
    git(root, "add", ".")
    git(root, "commit", "-m", "mine")
    git(root, "checkout", "main")
    for number in range(1_000):
        (root / f"{number}.txt").write_text("second")
    git(root, "commit", "-am", "second")
    git(root, "checkout", "topic")
    hf = shared.client()
    hf.add_watch(root, name="rebased", task="reindex", max_jobs=20, debounce=0.5, max_wait=60)
    hf.add_watch(root, name="commits", git=True, task="test")
    watching(hf, "rebased")
    watching(hf, "commits")
    git(root, "rebase", "main")
    until(lambda: hf.watch("commits").jobs, "the rebase is told")
    until(lambda: sum(job.get("paths_changed", 1) for job in payloads(hf, "reindex")) > 1_000, "all is planned")
    assert hf.watch("commits").jobs == 1
    assert hf.watch("rebased").jobs <= 100


def test_what_changed_while_the_daemon_was_down_is_found_by_the_next(house: House, root: Path) -> None:
    house.settings(BLIND)
    daemon = house.up()
    hf = house.client()
    hf.add_watch(root, task="index")
    watching(hf)
    daemon.kill()
    (root / "a").touch()
    daemon = house.up()
    until_changed(house.client(), 1)
    assert [job["relative"] for job in payloads(house.client())] == ["a"]
    house.down(daemon)


def test_a_daemon_that_is_killed_again_and_again_loses_no_file(house: House, root: Path) -> None:
    house.settings(QUICK)
    daemon = house.up()
    house.client().add_watch(root, task="index", max_jobs=10_000)
    watching(house.client())
    for life in range(3):
        for number in range(50):
            (root / f"{life}-{number}").touch()
        until(lambda: house.client().watch("root").changes > 50 * life, "some are found")  # noqa: B023  # called at once
        daemon.kill()
        daemon = house.up()
    hf = house.client()
    until_changed(hf, 150)
    assert sorted(job["relative"] for job in payloads(hf)) == sorted(path.name for path in root.iterdir())
    house.down(daemon)


def test_rules_of_the_settings_come_and_go_with_them(house: House, root: Path) -> None:
    rules = f'[[watch]]\npath = "{root}"\ntask = "index"\nglobs = ["*.py"]\ndebounce = "10ms"\n'
    house.settings(rules)
    daemon = house.up()
    watching(house.client())
    assert house.client().watch("root").origin == "file"
    house.down(daemon)
    (root / "a.py").touch()
    daemon = house.up()
    until_changed(house.client(), 1)
    house.down(daemon)
    house.settings("")
    daemon = house.up()
    until(lambda: house.client().watches() == [], "the rule is gone")
    house.down(daemon)


def test_a_command_waits_for_a_commit(shared: House, root: Path) -> None:
    git(root, "init", "-b", "main")
    hf = shared.client()
    hf.add_watch(root, name="repository", git=True)
    watching(hf, "repository")
    job = hf.enqueue("nobody", on_event="git:commit")
    git(root, "commit", "--allow-empty", "-m", "first")
    until(lambda: hf.job(job.id).job.state.name is StateName.QUEUED, "the commit lets it go")


def test_a_job_about_many_files_knows_which(shared: House, root: Path) -> None:
    hf = shared.client()
    hf.add_watch(root, name="many", task="list_files", max_jobs=10, debounce=0.5, max_wait=5)
    watching(hf, "many")
    for number in range(150):
        (root / f"{number:03}").touch()
    every = {f"added {number:03}" for number in range(150)}

    def listed() -> set[str]:
        done = hf.jobs(state=StateName.DONE, task="list_files", limit=1_000).jobs
        return {line for job in done for line in hf.job(job.id).result()}

    until(lambda: listed() == every, "every file is in the list of a job that is done")
    assert hf.watch("many").changes == 150


def test_a_process_of_its_own_knows_the_files_and_has_them_in_its_arguments(shared: House, root: Path) -> None:
    hf = shared.client()
    hf.add_watch(root, name="alone", task="list_files_alone", payload={"paths": "{paths}"})
    watching(hf, "alone")
    (root / "a").touch()
    [job] = until(lambda: jobs_of(hf, "list_files_alone"), "the job is there")
    assert hf.job(job.id).result(timeout=PATIENCE_S) == [[str(root / "a")], [str(root / "a")]]
    assert [file.relative for file in hf.job(job.id).changed_files()] == ["a"]
