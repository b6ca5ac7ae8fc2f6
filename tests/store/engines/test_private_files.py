"""What is new is for its owner alone, whatever the umask says; what is there keeps its mode."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.observe.logs import LogFile
from holdfast.store.migrate import migrations
from holdfast.store.sqlite import database_file
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from holdfast.wire.home import Home
from holdfast.wire.places import leave_words


@pytest.fixture(autouse=True)
def generous_umask() -> Iterator[None]:
    """One that takes nothing away: a file has the mode that it was opened with."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path | str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def opened(path: Path, version: int | None = None) -> SqliteEngine:
    engine = SqliteEngine(path, now=lambda: 1, migrate_to=version)
    engine.open()
    return engine


def test_a_new_database_and_what_sqlite_keeps_beside_it(tmp_path: Path) -> None:
    engine = opened(tmp_path / "work.db")
    found = {path.name: mode(path) for path in tmp_path.rglob("*")}
    engine.close()
    assert {"work.db", "work.db-wal", "work.db-shm", "gate", "turn"} <= set(found)
    assert {name: bits for name, bits in found.items() if bits & 0o077} == {}


def test_a_database_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "work.db"
    opened(path).close()
    path.chmod(0o640)
    engine = opened(path)
    assert (mode(path), mode(f"{path}-wal")) == (0o640, 0o640)
    engine.close()


def test_a_copy_before_a_migration(tmp_path: Path) -> None:
    path = tmp_path / "work.db"
    before = migrations(Dialect.SQLITE)[-2].version
    opened(path, before).close()
    copy = tmp_path / f"work.db.before-migration-from-{before:03d}"
    (tmp_path / "elsewhere").touch()
    copy.symlink_to(tmp_path / "elsewhere")
    opened(path).close()
    assert (copy.is_symlink(), mode(copy)) == (False, 0o600)
    assert (tmp_path / "elsewhere").read_bytes() == b""
    assert database_file.versions(str(copy)).has == before


def test_a_backup(tmp_path: Path) -> None:
    opened(tmp_path / "work.db").close()
    database_file.copied(str(tmp_path / "work.db"), tmp_path / "copy.db")
    assert mode(tmp_path / "copy.db") == 0o600


def test_logs_and_last_words(tmp_path: Path) -> None:
    LogFile(tmp_path / "daemon.log", 1_000, 1).close()
    home = Home(tmp_path)
    leave_words(home, "app-1", "it broke")
    assert mode(tmp_path / "daemon.log") == 0o600
    assert mode(tmp_path / "workers" / "app-1.said") == 0o600


def test_everything_of_an_embedded_program(tmp_path: Path) -> None:
    hf = Holdfast(tmp_path / "work.db")

    @hf.task
    def speak(ctx: object) -> None:
        ctx.log.info("words")  # type: ignore[attr-defined]

    with hf:
        speak.enqueue().result(timeout=30)
        found = {str(path.relative_to(tmp_path)): mode(path) for path in tmp_path.rglob("*") if not path.is_symlink()}
    assert any(name.endswith(".log") for name in found)
    assert {name: oct(bits) for name, bits in found.items() if bits & 0o077} == {}
