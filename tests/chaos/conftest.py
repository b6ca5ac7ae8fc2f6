"""A database that processes share, a folder for their side files, and a way to start them that leaves none behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest

from holdfast.store.engine import Engine
from holdfast.store.scripts.maintenance.doctor import examine
from holdfast.store.statements import Dialect
from tests.chaos.database import Database
from tests.chaos.processes import Program

Start: TypeAlias = Callable[..., Program]


@pytest.fixture
def sqlite(tmp_path: Path) -> Database:
    """A SQLite file that nobody has opened yet."""
    return Database(str(tmp_path / "work.db"), "holdfast")


@pytest.fixture
def postgres(postgres_url: str, postgres_schema: str) -> Database:
    """An empty schema."""
    return Database(postgres_url, postgres_schema)


@pytest.fixture(params=list(Dialect))
def database(request: pytest.FixtureRequest) -> Database:
    """The same test on both engines."""
    found: Database = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def engine(database: Database) -> Iterator[Engine]:
    """The database as this process sees it. At the end every invariant must hold."""
    made = database.engine()
    # Opened now, so that no process which stands still later can keep us from it.
    assert made.check() == []
    yield made
    found = examine(made)
    made.close()
    assert found == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where processes leave their side files."""
    path = tmp_path / "side"
    path.mkdir()
    return path


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start programs; those that still live at the end of the test are killed."""
    programs: list[Program] = []
    numbers = count(1)

    def begin(name: str, *args: object, inside: tuple[str, ...] = ()) -> Program:
        program = Program(tmp_path / f"{name}-{next(numbers)}.log", name, *args, inside=inside)
        programs.append(program)
        return program

    yield begin
    for program in programs:
        if program.is_running:
            program.kill()
