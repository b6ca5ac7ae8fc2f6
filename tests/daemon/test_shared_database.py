"""Two daemons, each with a home and workers of its own, on one PostgreSQL database."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Retry
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import Engine
from holdfast.store.postgres.engine import PostgresEngine
from tests.chaos import checker
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, until
from tests.daemon.house import House, is_alive, two_houses


@pytest.fixture
def houses(side: Path, postgres_url: str, postgres_schema: str) -> Iterator[tuple[House, House]]:
    """Two homes with the same database in their settings, and a short lease."""
    settings = f'[daemon]\nstore = "{postgres_url}"\nschema = "{postgres_schema}"\nlease = "600ms"\n'
    with two_houses(side, settings) as pair:
        yield pair


@pytest.fixture
def engine(postgres_url: str, postgres_schema: str) -> Iterator[Engine]:
    """The database, past every daemon."""
    made = PostgresEngine(postgres_url, schema=postgres_schema, now=SystemClock().now)
    yield made
    made.close()


def lose(house: House, daemon: int) -> None:
    """Let a whole machine go: its processes, and the files by which others could tell."""
    for pid in (daemon, *house.everybody()):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not house.everybody(), "nobody is left")
    shutil.rmtree(house.home.folder)


def test_they_share_a_queue_and_one_settles_what_the_other_leaves(houses: tuple[House, House], engine: Engine) -> None:
    first, second = houses
    daemons = [house.up(app="manners") for house in houses]
    for house in houses:
        house.worker()
    jobs = [first.enqueue("short", retry=Retry(0, initial=0)) for _ in range(6)]
    until(lambda: len(entries(first.side, "start")) == len(jobs), "all of them run, four here and two there")
    assert len({entry.life for entry in entries(first.side, "start")}) == 2
    lose(first, daemons[0].pid)
    (first.side / "finish").touch()
    there = second.client()
    assert [there.job(job.id).result(PATIENCE_S) for job in jobs] == ["finished"] * len(jobs)
    second.down(daemons[1])
    assert checker.problems(engine, first.side) == []


def test_a_worker_of_another_daemon_is_not_taken_for_hung(houses: tuple[House, House], engine: Engine) -> None:
    first, second = houses
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
    assert (is_alive(worker), len(job.runs)) == (True, 1)
    assert "worker_hung" not in daemons[1].events()
    for house, living in ((first, daemon), (second, daemons[1])):
        house.down(living)
    assert checker.problems(engine, first.side) == []


def beats(house: House) -> int:
    return max(row.heartbeat for row in house.client().sessions() if row.kind == "daemon")
