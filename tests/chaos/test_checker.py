"""The checker of the kill tests sees what it is there to see."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.store.engine import Engine
from tests.chaos.checker import problems
from tests.chaos.database import select
from tests.chaos.journal import Journal
from tests.chaos.scenarios import NOW, job, put, work_off

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@pytest.fixture
def journal(folder: Path) -> Journal:
    return Journal(folder)


@pytest.fixture
def run_id(engine: Engine, folder: Path, journal: Journal) -> str:
    """The run of the job `a`, which is done, and of which all is well."""
    put(engine, job("a"))
    journal.note("acked", "a")
    work_off(engine, "s", NOW)
    [run] = select(engine, "SELECT id FROM job_runs")
    journal.note("start", run["id"], "a")
    journal.note("end", run["id"], "a")
    assert problems(engine, folder) == []
    return str(run["id"])


def test_a_lost_job_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    journal.note("acked", "stray")
    assert problems(engine, folder) == ["job stray was acknowledged and is lost"]


def test_a_job_that_did_not_end_is_seen(engine: Engine, folder: Path) -> None:
    put(engine, job("a"))
    assert problems(engine, folder) == ["job a (work) is left QUEUED"]


@pytest.mark.usefixtures("run_id")
def test_a_run_that_the_store_does_not_know_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    journal.note("start", "stray", "a")
    journal.note("end", "stray", "a")
    assert problems(engine, folder) == ["run stray was started and is not in the store"]


def test_a_run_that_starts_twice_is_seen(engine: Engine, folder: Path, journal: Journal, run_id: str) -> None:
    journal.note("start", run_id, "a")
    assert "a run was started twice" in problems(engine, folder)


def test_two_runs_at_once_are_seen(engine: Engine, folder: Path, journal: Journal, run_id: str) -> None:
    journal.note("start", "other", "a")
    Journal(folder).note("start", "third", "a")
    journal.note("alive")
    assert any(problem.startswith("two runs of job a at the same time") for problem in problems(engine, folder))


@pytest.mark.usefixtures("run_id")
def test_a_cancelled_job_that_ran_is_seen(engine: Engine, folder: Path, journal: Journal) -> None:
    journal.note("cancelled", "a")
    assert problems(engine, folder) == ["job a was cancelled and is DONE"]


def test_a_completed_run_that_never_ran_is_seen(engine: Engine, folder: Path) -> None:
    put(engine, job("a"))
    work_off(engine, "s", NOW)
    [problem] = problems(engine, folder)
    assert problem.endswith("is stored as completed and never came to its end")
