"""A process forks while its engine is in use: every process writes on, and every row is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.store.engine import Engine
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.scripts.maintenance import doctor
from holdfast.store.scripts.reading.read_jobs import counts
from holdfast.store.sqlite.engine import SqliteEngine
from tests.faults.fork_family import CHILDREN, NOW, WRITES

ENDINGS = pytest.mark.parametrize("ending", ["orderly", "at once"])


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Its kind, and where it is."""
    if request.param == "sqlite":
        return "sqlite", str(tmp_path / "family.db")
    return "postgres", f"{request.getfixturevalue('postgres_url')} {request.getfixturevalue('postgres_schema')}"


def run_family(database: tuple[str, str], what: str, ending: str) -> str:
    command = [sys.executable, "-m", "tests.faults.fork_family", *database, what, ending]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def count_jobs(database: tuple[str, str]) -> int:
    kind, where = database
    url, _, schema = where.rpartition(" ")
    engine: Engine = (
        SqliteEngine(where, now=lambda: NOW)
        if kind == "sqlite"
        else PostgresEngine(url, schema=schema, now=lambda: NOW)
    )
    try:
        assert doctor.examine(engine) == []
        return sum(count.jobs for count in engine.query(counts))
    finally:
        engine.close()


@ENDINGS
def test_children_and_parent_write_at_the_same_time(database: tuple[str, str], ending: str) -> None:
    by_busy_threads = int(run_family(database, "busy", ending))
    assert count_jobs(database) == by_busy_threads + CHILDREN * WRITES + WRITES


def test_nothing_is_imported_by_threads_that_a_fork_may_cut_off(database: tuple[str, str]) -> None:
    assert run_family(database, "import", "orderly") == "[]\n"


@ENDINGS
def test_children_outlive_the_engine_of_their_parent(database: tuple[str, str], ending: str) -> None:
    run_family(database, "outlive", ending)
    assert count_jobs(database) == WRITES + CHILDREN * (2 + WRITES) + WRITES


def test_a_child_that_was_forked_in_the_middle_of_a_read_keeps_away(tmp_path: Path) -> None:
    database = ("sqlite", str(tmp_path / "family.db"))
    run_family(database, "interrupt", "at once")
    assert count_jobs(database) == 2 * WRITES


def test_a_child_can_find_the_folder_that_a_thread_of_its_parent_was_looking_for(
    postgres_url: str, postgres_schema: str
) -> None:
    database = ("postgres", f"{postgres_url} {postgres_schema}")
    run_family(database, "look", "at once")
    assert count_jobs(database) == WRITES
