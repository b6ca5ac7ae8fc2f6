"""A database that cannot be used is said to be so, and by what."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from holdfast import (
    Holdfast,
    HoldfastError,
    InvalidInput,
    SchemaMismatch,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from tests.client.conftest import Database
from tests.migrated import copy_migrated

NOWHERE = "postgresql://postgres@localhost:1/nowhere?connect_timeout=1"


def use_by_reading(hf: Holdfast) -> None:
    hf.counts()


def use_by_enqueuing(hf: Holdfast) -> None:
    hf.task(name="task")(lambda: None).enqueue()


def use_by_starting(hf: Holdfast) -> None:
    hf.start()


def use_by_draining(hf: Holdfast) -> None:
    hf.drain()


def use_by_awaiting(hf: Holdfast) -> None:
    asyncio.run(hf.acounts())


def use_by_asking_the_doctor(hf: Holdfast) -> None:
    hf.doctor()


USES: list[Callable[[Holdfast], None]] = [
    use_by_reading,
    use_by_enqueuing,
    use_by_starting,
    use_by_draining,
    use_by_awaiting,
    use_by_asking_the_doctor,
]


@pytest.fixture(params=USES)
def use(request: pytest.FixtureRequest) -> Callable[[Holdfast], None]:
    """One of the ways in which a database is used first."""
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("database", "message"),
    [
        (5, "5 is not a database"),
        (b"work.db", "b'work.db' is not a database"),
        ("", "'' is not a database"),
        (":memory:", "':memory:' does not survive this program: give the path of a file"),
        (
            "mysql://localhost/work",
            "'mysql' is not a scheme that works here: give the path of a file, or a postgresql://",
        ),
        ("sqlite:///work.db", "'sqlite' is not a scheme that works here"),
        ("file:work.db", "'file' is not a scheme that works here"),
        ("postgresql+psycopg://localhost/work", r"'postgresql\+psycopg' is not a scheme that works here"),
        ("work\x00.db", "cannot be the path of a file"),
        ("\ud800.db", "cannot be the path of a file"),
    ],
)
def test_what_cannot_be_a_database_is_refused_at_once(database: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Holdfast(database)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"durability": "some"}, "durability 'some' is not valid: use one of 'full', 'normal'"),
        ({"concurrency": 0}, "concurrency 0 is not valid"),
        ({"concurrency": True}, "concurrency True is not valid"),
        ({"concurrency": {"a b": 1}}, "queue 'a b' is not valid"),
        ({"concurrency": {"a": -1}}, "concurrency -1 is not valid"),
        ({"keep": -1}, "keep -1 is not valid"),
        ({"keep": None}, "keep None is not valid"),
        ({"schema": 'a"b'}, "schema .* is not valid"),
        ({"schema": "x" * 55}, "schema .* is not valid: use 1 to 54 letters"),
    ],
)
def test_a_wrong_setting_is_refused_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Holdfast(NOWHERE, **settings)


def test_a_folder_is_no_database(tmp_path: Path, use: Callable[[Holdfast], None]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(StoreUnavailable, match="is a folder; give the path of a database file in it"):
        use(Holdfast(folder))
    assert list(tmp_path.rglob("*")) == [folder]


def test_a_folder_that_is_missing_is_not_made(tmp_path: Path, use: Callable[[Holdfast], None]) -> None:
    with pytest.raises(StoreUnavailable, match=r"the folder .*missing does not exist; create it first"):
        use(Holdfast(tmp_path / "missing" / "work.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_kind_is_left_as_it_is(tmp_path: Path, use: Callable[[Holdfast], None]) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Ada,\n" * 1_000)
    with pytest.raises(StoreCorrupt, match=r"letter\.txt is damaged or not a database .*; restore it from a backup"):
        use(Holdfast(path))
    assert path.read_text() == "Dear Ada,\n" * 1_000


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE jobs (name TEXT)")
        connection.execute("INSERT INTO jobs VALUES ('precious')")
    with pytest.raises(StoreError, match="failed and was undone"):
        Holdfast(path).counts()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM jobs").fetchall() == [("precious",)]


def test_a_damaged_file_is_found_by_the_doctor(tmp_path: Path) -> None:
    path = tmp_path / "work.db"
    copy_migrated(path)
    hf = Holdfast(path)
    hf.task(name="task")(lambda: None).enqueue_many([{}] * 500)
    hf.close()
    with path.open("r+b") as file:
        file.seek(4096 * 8)
        file.write(b"\xff" * 4096 * 20)
    try:
        found = [violation.invariant for violation in hf.doctor()]
    except HoldfastError as error:
        found = [type(error).__name__]
    assert found in (["database"], [StoreCorrupt.__name__])


def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "work.db"
    copy_migrated(path)
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO schema_version VALUES (999, '999_future', 'x', 0)")
    with pytest.raises(SchemaMismatch, match="is newer than this program"):
        Holdfast(path).counts()


AS_A_GUEST = """
import os, sys
from holdfast import Holdfast, HoldfastError

def enqueue(path):
    hf = Holdfast(path)
    hf.task(name="task")(lambda: None).enqueue()
    hf.close()

enqueue(sys.argv[1])
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    enqueue(sys.argv[2])
except HoldfastError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("file_mode", "folder_mode", "message"),
    [
        (0o444, 0o777, "is read-only; make the file and its folder writable"),
        (0o000, 0o777, "cannot be opened"),
        (None, 0o555, "make the folder writable"),
    ],
    ids=["read-only file", "unreadable file", "read-only folder"],
)
def test_what_may_not_be_written_is_said_to_be_so(
    tmp_path: Path, file_mode: int | None, folder_mode: int, message: str
) -> None:
    # The superuser may write everywhere, and nobody else may enter a folder of his tests.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "work.db"
        if file_mode is not None:
            copy_migrated(path)
            path.chmod(file_mode)
        Path(folder).chmod(folder_mode)
        command = [sys.executable, "-c", AS_A_GUEST, str(tmp_path / "mine.db"), str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        Path(folder).chmod(0o700)
    assert run.stdout.startswith("StoreUnavailable"), run.stderr
    assert message in run.stdout


def test_a_server_that_cannot_be_reached_is_said_to_be_so(use: Callable[[Holdfast], None]) -> None:
    with pytest.raises(StoreUnavailable, match="PostgreSQL localhost/nowhere schema holdfast cannot be reached"):
        use(Holdfast(NOWHERE))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://postgres:hunter2@localhost:none/work",
        "postgresql://postgres:hunter2@localhost/work?colour=red",
        "postgresql://postgres:hunter2@localhost:1/work?connect_timeout=1",
    ],
)
def test_an_error_never_tells_the_password(url: str) -> None:
    with pytest.raises(StoreError) as raised:
        Holdfast(url).counts()
    assert "hunter2" not in str(raised.value)
    assert "hunter2" not in repr(Holdfast(url))


def test_a_user_who_may_not_write_is_said_so(postgres_url: str, migrated_schema: Database) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")
    try:
        url = postgres_url.replace("postgres@", "guest@")
        with pytest.raises(StoreUnavailable, match="does not let this user write"):
            Holdfast(url, schema=migrated_schema.schema).counts()
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP ROLE guest")


def test_a_failed_start_can_be_tried_again(tmp_path: Path) -> None:
    hf = Holdfast(tmp_path / "later" / "work.db")
    with pytest.raises(StoreUnavailable):
        hf.start()
    assert not hf.is_running
    (tmp_path / "later").mkdir()
    with hf:
        assert hf.is_running
    hf.close()
