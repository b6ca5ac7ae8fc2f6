"""A process that is killed between any two statements of a call leaves all of the call behind, or nothing of it."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count, pairwise, product
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest
from msgspec import structs

from holdfast.core.jobs.requests import Claimed
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.maintenance.doctor import examine
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.scripts.sessions.sessions import running_sessions
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from tests.chaos.checker import Evidence, stored_problems
from tests.chaos.database import Database, dump, statement, stored
from tests.chaos.processes import ROOT
from tests.chaos.programs.victim import ANSWER, COMMIT, Died, Order
from tests.chaos.scenarios.chores import CHORES_DONE
from tests.chaos.scenarios.settings import SETTINGS
from tests.chaos.scenarios.shared import DOOMED, NOW, Scenario, work_off
from tests.chaos.scenarios.table import SCENARIOS
from tests.chaos.scenarios.work import WORK
from tests.migrated import copy_migrated
from tests.postgres_server import fresh_schema
from tests.store.acts import TABLES, emptying

World: TypeAlias = dict[str, list[str]]

BEGINNING = "the beginning"
EVERY: tuple[str, ...] = ()
ENDS = (COMMIT, ANSWER)
STEP = 12


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
        died = msgspec.json.decode(self._server.stdout.readline(), type=Died)
        assert died.code == (0 if died.point is None else -signal.SIGKILL), died
        return died

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
        copy_migrated(self._path)
        with closing(SqliteEngine(self._path, durability="normal", now=lambda: NOW)) as engine:
            self._runs = scenario.prepare(engine)
        shutil.copy(self._path, self._prepared)

    def set_up(self) -> dict[str, Claimed]:
        """The world before the call; the runs in it."""
        for leftover in (f"{self._path}-wal", f"{self._path}-shm"):
            Path(leftover).unlink(missing_ok=True)
        shutil.copy(self._prepared, self._path)
        return self._runs

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """The database as this process sees it; closed before the file is replaced."""
        with closing(self._database.engine()) as engine:
            yield engine

    def look(self) -> World:
        """All that is stored."""
        with self.engine() as engine:
            return dump(engine, but=())

    def close(self) -> None:
        """Nothing is left open."""


class PostgresStage:
    """Sets up the same world again and again, in an emptied schema."""

    def __init__(self, database: Database, scenario: Scenario) -> None:
        self._scenario = scenario
        self._numbers = count(1)
        self._engine = database.engine(lambda: f"prepared-{next(self._numbers):03}")
        self._runs: dict[str, Claimed] = {}
        self._world: object = None

    def set_up(self) -> dict[str, Claimed]:
        """The world before the call, unless it is still as it was; the runs in it."""
        if stored(self._engine) != self._world:
            self._engine.submit(_empty).result()
            self._numbers = count(1)
            self._runs = self._scenario.prepare(self._engine)
            self._world = stored(self._engine)
        return self._runs

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        """The database as this process sees it."""
        yield self._engine

    def look(self) -> World:
        """All that is stored."""
        return dump(self._engine, but=())

    def close(self) -> None:
        """Let go of the server."""
        self._engine.close()


def _empty(tx: Tx) -> None:
    for table in TABLES:
        tx.run(statement(emptying(table)))
    for table in ("nodes", "jobs"):  # Other rows name their numbers.
        tx.rows(statement(f"SELECT setval(pg_get_serial_sequence('{table}', 'number'), 1, false)"))


@pytest.fixture(scope="module")
def postgres_schema(postgres_url: str) -> Iterator[str]:
    """One for all of them: to empty it is quicker than to make one."""
    with fresh_schema(postgres_url) as name:
        yield name


@pytest.fixture
def stage(database: Database, name: str) -> Iterator[SqliteStage | PostgresStage]:
    """The world of the scenario that the test is about."""
    made = (PostgresStage if "://" in database.target else SqliteStage)(database, SCENARIOS[name])
    yield made
    made.close()


def trials() -> Iterator[object]:
    """A call is cut before each commit and each answer, which is enough to see a commit too many.

    The long tests cut it between any two statements; what is set, and what is done for the database, is cut on
    PostgreSQL in them alone. The way of a job has a test of its own besides.
    """
    for dialect, name in product(Dialect, SCENARIOS):
        yield pytest.param(dialect, name, EVERY, id=f"{dialect}-{name}", marks=pytest.mark.long)
        if name not in WORK and (dialect is Dialect.SQLITE or name not in SETTINGS | CHORES_DONE):
            yield pytest.param(dialect, name, ENDS, id=f"{dialect}-{name}, commits")


@pytest.mark.parametrize(("database", "name", "points"), list(trials()), indirect=["database"])
def test_a_kill_between_two_statements_leaves_all_or_nothing(
    name: str, points: tuple[str, ...], database: Database, stage: SqliteStage | PostgresStage, victims: Victims
) -> None:
    worlds_left_behind(name, points, database, stage, victims)


@pytest.mark.parametrize(("database", "name"), list(product(Dialect, WORK)), indirect=["database"])
def test_a_kill_between_some_statements_leaves_what_a_kill_before_a_commit_leaves(
    name: str, database: Database, stage: SqliteStage | PostgresStage, victims: Victims, seed: int
) -> None:
    worlds = worlds_left_behind(name, ENDS, database, stage, victims)
    reached = 0
    for nth in count(1 + seed % STEP, STEP):
        died = victims.send(Order(*database.args, name, nth, stage.set_up(), EVERY))
        world = stage.look()
        assert world in worlds[reached:], f"{name}, killed before {died.point}, point {nth}"
        reached = worlds.index(world, reached)
        if died.point is None:
            break


def worlds_left_behind(
    name: str, points: tuple[str, ...], database: Database, stage: SqliteStage | PostgresStage, victims: Victims
) -> list[World]:
    """Kill at each of the points; what was left behind, in order, each of it whole."""
    scenario = SCENARIOS[name]
    stage.set_up()
    seen: list[tuple[str | None, World]] = [(BEGINNING, stage.look())]
    ends: list[tuple[str, World]] = []
    times = 0
    for nth in count(1):
        order = Order(*database.args, name, nth, stage.set_up(), points)
        died = victims.send(order)
        world = stage.look()
        where = f"{name}, killed before {died.point}, point {nth}"
        # What follows depends on the rows alone. Each change is seen at least twice: before the answer, and after it.
        times = times + 1 if world == seen[-1][1] else 1
        seen.append((died.point, world))
        if times == 1:
            with stage.engine() as engine:
                assert examine(engine) == [], where
                assert_that_it_can_be_finished(engine, where)
        elif times == 2 and scenario.can_repeat:
            victims.send(structs.replace(order, nth=0))
            ends.append((where, stage.look()))
        if died.point is None:
            break
    changes = [point for (point, old), (_, new) in pairwise(seen) if old != new]
    answers = [point for point, _ in seen if point == ANSWER]
    assert (changes, len(answers)) == ([COMMIT] * scenario.commits, scenario.commits)
    for where, end in ends:
        assert end == seen[-1][1], f"{where}, and done once more"
    print(f"{len(seen) - 1} kills")
    return [world for _, world in seen]


def assert_that_it_can_be_finished(engine: Engine, where: str) -> None:
    """The dead sessions are settled, twice as well as once, and others bring every job to its end."""
    dead = {DOOMED} | {session.id for session in engine.query(running_sessions)}
    for session in sorted(dead):
        while engine.submit(recover, session, False, NOW + 2, limit=4).result().more:
            pass
    settled = dump(engine)
    for session in dead:
        engine.submit(recover, session, False, NOW + 3).result()
    assert dump(engine) == settled, where
    work_off(engine, "heir", NOW + 3)
    assert stored_problems(Evidence(engine)) == [], where
