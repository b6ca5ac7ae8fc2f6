"""A server that forks: its children use the same object, and have neither its session nor its locks."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from holdfast.store.engine import Engine
from holdfast.store.scripts.queues.queues import list_queues
from tests.chaos import checker
from tests.chaos.conftest import Start
from tests.chaos.database import Database, recovery, select, sessions, states
from tests.chaos.journal import entries
from tests.chaos.processes import PATIENCE_S, KnownProcess, until


def acknowledged(folder: Path) -> set[str]:
    return {entry.about[0] for entry in entries(folder, "acked")}


def stored(engine: Engine) -> set[str]:
    return {row["id"] for row in select(engine, "SELECT id FROM jobs")}


def test_children_of_a_working_parent_enqueue_and_the_parent_runs_all(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    parent = start("forking", *database.args, folder, "busy")
    parent.end_well()
    assert parent.said() == ""
    assert [session["status"] for session in sessions(engine)] == ["success"]
    assert Counter(entry.about[1] for entry in entries(folder, "start")) == Counter(acknowledged(folder))
    assert checker.problems(engine, folder) == []


def test_a_child_does_not_keep_its_dead_parents_session_alive(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    parent = start("forking", *database.args, folder, "orphan")
    [child] = until(lambda: entries(folder, "child"), "there is a child")
    parent.kill()
    asyncio.run(recovery(engine).tick())
    assert KnownProcess.read(child.about[0]).is_alive
    assert [session["status"] for session in sessions(engine)] == ["unknown"]
    assert states(engine) == {"SCHEDULED": 1}
    (folder / "go").touch()
    until(lambda: entries(folder, "gone"), "the child has done its work")
    assert acknowledged(folder) <= stored(engine)


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_a_child_does_not_keep_its_dead_parents_transaction_open(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    parent = start("forking", *database.args, folder, "cut")
    [child] = until(lambda: entries(folder, "child"), "there is a child")
    parent.kill()
    engine.submit(list_queues).result(PATIENCE_S)
    assert KnownProcess.read(child.about[0]).is_alive
    (folder / "go").touch()


def test_what_a_child_enqueues_after_its_parent_left_is_not_lost(
    database: Database, folder: Path, start: Start
) -> None:
    parent = start("forking", *database.args, folder, "leaving")
    until(lambda: entries(folder, "child"), "the child is at work")
    (folder / "leave").touch()
    parent.end_well()
    # A newcomer that comes and goes would take the child's write-ahead log away if the child had no lock on it.
    database.engine().close()
    (folder / "go").touch()
    until(lambda: entries(folder, "gone"), "the child has done its work")
    engine = database.engine()
    assert acknowledged(folder) == stored(engine)
    engine.close()


def test_children_that_work_have_sessions_of_their_own(
    database: Database, engine: Engine, folder: Path, start: Start
) -> None:
    parent = start("forking", *database.args, folder, "workers")
    parent.end_well()
    assert parent.said() == ""
    assert [session["status"] for session in sessions(engine)] == ["success"] * 3
    assert Counter(entry.about[1] for entry in entries(folder, "start")) == Counter(acknowledged(folder))
    assert checker.problems(engine, folder) == []
