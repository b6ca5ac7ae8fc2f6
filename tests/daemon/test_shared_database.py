"""Two daemons, each with a home and workers of its own, on one PostgreSQL database."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Retry
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Engine
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.runs.file_requests import list_requests
from tests.chaos import checker
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, kill, until
from tests.cli.shell import Shell
from tests.daemon.house import House, two_houses


@pytest.fixture
def houses(side: Path, postgres_url: str, postgres_schema: str) -> Iterator[tuple[House, House]]:
    """Two homes with the same database in their settings."""
    with two_houses(side, f'[daemon]\nstore = "{postgres_url}"\nschema = "{postgres_schema}"\n') as pair:
        yield pair


@pytest.fixture
def engine(postgres_url: str, postgres_schema: str) -> Iterator[Engine]:
    """The database, past every daemon."""
    made = PostgresEngine(postgres_url, schema=postgres_schema, now=SystemClock().now)
    yield made
    made.close()


def judge_after(house: House, lease: str) -> None:
    """Let the daemon of a house judge soon. The workers of the others keep the usual time for their heartbeats."""
    house.settings(house.home.settings.read_text().replace("[daemon]\n", f'[daemon]\nlease = "{lease}"\n'))


def lose(house: House) -> None:
    """Let a whole machine go: its processes, and the files by which others could tell."""
    while living := house.everybody():
        kill(*living)
    shutil.rmtree(house.home.folder)


def test_they_share_a_queue_and_one_settles_what_the_other_leaves(houses: tuple[House, House], engine: Engine) -> None:
    first, second = houses
    judge_after(second, "2s")
    daemons = [house.up(app="manners") for house in houses]
    for house in houses:
        house.worker()
    jobs = [first.enqueue("short", retry=Retry(0, initial=0)) for _ in range(6)]
    until(lambda: len(entries(first.side, "start")) == len(jobs), "all of them run, four here and two there")
    assert len({entry.life for entry in entries(first.side, "start")}) == 2
    lose(first)
    (first.side / "finish").touch()
    there = second.client()
    assert [there.job(job.id).result(PATIENCE_S) for job in jobs] == ["finished"] * len(jobs)
    second.down(daemons[1])
    assert checker.problems(engine, first.side) == []


def test_a_worker_of_another_daemon_is_not_taken_for_hung(houses: tuple[House, House], engine: Engine) -> None:
    first, second = houses
    judge_after(second, "600ms")
    daemons = [first.up(app="manners"), second.up()]
    worker = first.worker()
    job = first.enqueue("short")
    until(lambda: entries(first.side, "start"), "it runs")
    daemons[0].kill()
    began = beats(second)
    until(lambda: beats(second) > began + 6, "the other daemon has had time to misjudge somebody")
    (first.side / "finish").touch()
    daemon = first.up(app="manners")
    assert job.result(PATIENCE_S) == "finished"
    assert (worker.is_alive, len(job.runs)) == (True, 1)
    assert not daemons[1].has_found_hung(worker.pid)
    for house, living in ((first, daemon), (second, daemons[1])):
        house.down(living)
    assert checker.problems(engine, first.side) == []


def beats(house: House) -> int:
    return max(row.heartbeat for row in house.client().sessions() if row.kind == "daemon")


def name_of(house: House) -> str:
    """What people call the machine of a house."""
    hf = house.client()
    return next(node.name for node in hf.nodes() if node.id == hf.here)


def said_by(house: House, *words: str) -> tuple[int, str]:
    """The exit code of a command, and all that it printed."""
    said = Shell(house.home)(*words)
    return said.code, said.out + said.err


def test_a_command_is_waited_for_with_its_output_and_exit_code_wherever_it_runs(
    houses: tuple[House, House], engine: Engine
) -> None:
    first, second = houses
    daemons = [house.up() for house in houses]
    there = name_of(second)
    script = "echo one; echo two; echo made > $HOLDFAST_ARTIFACTS/made.txt; exit 3"
    code, said = said_by(first, "run", "--node", there, "--wait", "--", "sh", "-c", script)
    assert (code, said.splitlines()[:2]) == (3, ["one", "two"])
    job = first.client().job(1)
    assert ([run.node for run in job.runs], job.job.node) == ([there], there)
    with job.open_artifact("made.txt") as file:
        assert file.read() == b"made\n"
    assert said_by(first, "logs", "-f", "1") == (0, "one\ntwo\n")
    assert engine.query(list_requests) == []
    for house, daemon in zip(houses, daemons, strict=True):
        house.down(daemon)
    first.up()
    code, said = said_by(first, "logs", "1")
    assert code == 1
    assert f"is on node {there!r}, which is away; it was last seen at 20" in said


def test_a_command_runs_where_it_was_typed(houses: tuple[House, House]) -> None:
    for house in houses:
        house.up()
    for house in houses:
        ran = []
        for _ in range(3):
            handle = house.client().job(int(said_by(house, "run", "--", "true")[1].split()[-1]))
            handle.wait(PATIENCE_S)
            ran += [run.node for run in handle.runs]
        assert ran == [name_of(house)] * 3


def test_a_folder_that_machines_share_holds_what_is_too_large_to_travel(
    side: Path, tmp_path: Path, postgres_url: str, postgres_schema: str
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o700)
    settings = f'[daemon]\nstore = "{postgres_url}"\nschema = "{postgres_schema}"\n[files]\nshared = "{shared}"\n'
    with two_houses(side, settings) as (first, second):
        first.up()
        second.up()
        script = "truncate -s 65M $HOLDFAST_ARTIFACTS/large"
        code, said = said_by(first, "run", "--node", name_of(second), "--wait", "--", "sh", "-c", script)
        assert (code, said) == (0, "")
        with first.client().job(1).open_artifact("large") as file:
            assert file.seek(0, os.SEEK_END) == 65 << 20


def test_a_shared_folder_that_is_not_there_is_refused(house: House, tmp_path: Path) -> None:
    house.settings(f'[files]\nshared = "{tmp_path / "nowhere"}"\n')
    daemon = house.begin()
    assert daemon.wait() != 0
    assert "is not there; mount it, or create the folder" in daemon.said()
