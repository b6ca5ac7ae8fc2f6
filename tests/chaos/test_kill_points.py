"""A process that is killed between any two statements of a call leaves all of the call behind, or nothing of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count, pairwise
from pathlib import Path

import msgspec
import pytest

from holdfast.core.requests import Claimed
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.doctor import examine
from holdfast.store.scripts.recover import recover
from holdfast.store.sqlite.engine import SqliteEngine
from tests.chaos.checker import Evidence, stored_problems
from tests.chaos.database import Database, dump, statement
from tests.chaos.processes import ROOT
from tests.chaos.programs.victim import Died, Order
from tests.chaos.scenarios import DOOMED, NOW, SCENARIOS, Scenario, work_off
from tests.store.acts import TABLES

COMMIT = "COMMIT"
ANSWER = "the answer"


class Victims:
    """Processes that die on order."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.chaos.programs.victim"]
        self._server = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, order: Order) -> Died:
        """Have one act and die; where it died."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self._server.stdin.flush()
        return msgspec.json.decode(self._server.stdout.readline(), type=Died)

    def close(self) -> None:
        """No more orders."""
        self._server.communicate()


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    made = Victims()
    yield made
    made.close()


class SqliteStage:
    """Sets up the same world again and again, by copies of a file that was prepared once."""

    def __init__(self, database: Database, scenario: Scenario) -> None:
        self._database = database
        self._path = Path(database.target)
        self._prepared = self._path.with_name("prepared.db")
        with closing(SqliteEngine(self._prepared, now=lambda: NOW)) as engine:
            self.runs = scenario.prepare(engine)

    def set_up(self) -> None:
        """The world before the call."""
        for leftover in (f"{self._path}-wal", f"{self._path}-shm"):
            Path(leftover).unlink(missing_ok=True)
        shutil.copy(self._prepared, self._path)

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """The database as this process sees it; closed before the file is replaced."""
        with closing(self._database.engine()) as engine:
            yield engine

    def close(self) -> None:
        """Nothing is left open."""


class PostgresStage:
    """Sets up the same world again and again, in an emptied schema."""

    def __init__(self, database: Database, scenario: Scenario) -> None:
        self._scenario = scenario
        self._numbers = count(1)
        self._engine = database.engine(lambda: f"prepared-{next(self._numbers):03}")
        self.runs: dict[str, Claimed] = {}

    def set_up(self) -> None:
        """The world before the call."""
        self._engine.submit(_empty).result()
        self._numbers = count(1)
        self.runs = self._scenario.prepare(self._engine)

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """The database as this process sees it."""
        yield self._engine

    def close(self) -> None:
        """Let go of the server."""
        self._engine.close()


def _empty(tx: Tx) -> None:
    for table in TABLES:
        tx.run(statement(f"DELETE FROM {table}"))


@pytest.fixture
def stage(database: Database, name: str) -> Iterator[SqliteStage | PostgresStage]:
    """The world of the scenario that the test is about."""
    made = (PostgresStage if "://" in database.target else SqliteStage)(database, SCENARIOS[name])
    yield made
    made.close()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_kill_between_two_statements_leaves_all_or_nothing(
    name: str, database: Database, stage: SqliteStage | PostgresStage, victims: Victims
) -> None:
    seen: list[tuple[str | None, dict[str, list[str]]]] = []
    for nth in count(1):
        stage.set_up()
        died = victims.send(Order(*database.args, name, nth, stage.runs))
        with stage.engine() as engine:
            assert examine(engine) == []
            world = dump(engine)
            if not seen or seen[-1][1] != world:
                # What follows depends on the rows alone, and the same rows were seen to end well before.
                assert_that_it_can_be_finished(engine, f"{name}, killed before {died.point}")
            seen.append((died.point, world))
        if died.point is None:
            break
    changes = [point for (point, old), (_, new) in pairwise(seen) if old != new]
    answers = [point for point, _ in seen if point == ANSWER]
    assert (changes, len(answers)) == ([COMMIT] * SCENARIOS[name].commits, SCENARIOS[name].commits)


def assert_that_it_can_be_finished(engine: Engine, where: str) -> None:
    """The dead session is settled, twice as well as once, and others bring every job to its end."""
    while engine.submit(recover, DOOMED, False, NOW + 2, limit=4).result().more:
        pass
    settled = dump(engine)
    engine.submit(recover, DOOMED, False, NOW + 3).result()
    assert dump(engine) == settled, where
    work_off(engine, "heir", NOW + 3)
    assert stored_problems(Evidence(engine)) == [], where
