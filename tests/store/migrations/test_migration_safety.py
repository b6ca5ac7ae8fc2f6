"""Before a migration the file is copied aside. While a session lives, there is no migration."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.core.errors import StoreError
from holdfast.store.engine import Engine
from holdfast.store.locks import LifeLock
from holdfast.store.postgres.engine import PostgresEngine
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.store.statements import Dialect
from tests.store.acts import NOW, execute, select, write
from tests.store.old_databases import EVERY, applied, put_row


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "work.db"


def opened(file: Path, version: int | None = None) -> SqliteEngine:
    engine = SqliteEngine(file, now=lambda: NOW, migrate_to=version)
    engine.query(lambda tx: None)
    return engine


def begin_as_before(engine: Engine, lock: Path) -> None:
    """A session, as programs of earlier versions stored it."""
    execute(
        engine,
        "INSERT INTO sessions (id, kind, status, node, boot_id, pid, lock_path, started_at, last_heartbeat_at)"
        f" VALUES ('s1', 'embedded', 'running', 'node', 'boot', 4711, '{lock}', 1, 1)",
    )


def copies(file: Path) -> list[Path]:
    return sorted(file.parent.glob("*before-migration*"))


def test_the_file_is_copied_aside_before_a_migration(file: Path) -> None:
    old = opened(file, 2)
    put_row(old)
    old.close()
    opened(file).close()
    [copy] = copies(file)
    assert copy.name == "work.db.before-migration-from-002"
    kept = opened(copy, 2)
    assert len(applied(kept)) == 2
    assert select(kept, "SELECT id FROM jobs") == [{"id": "ready"}]
    kept.close()


def test_an_older_copy_gives_way(file: Path) -> None:
    opened(file, 2).close()
    Path(f"{file}.before-migration-from-002").write_text("an old copy")
    opened(file).close()
    opened(copies(file)[0], 2).close()


def test_a_new_file_or_a_current_one_is_not_copied(file: Path) -> None:
    opened(file).close()
    opened(file).close()
    assert copies(file) == []


def test_no_migration_under_the_feet_of_a_living_session(file: Path, tmp_path: Path) -> None:
    old = opened(file, 3)
    lock = LifeLock(tmp_path / "locks" / "alive")
    begin_as_before(old, lock.path)
    with pytest.raises(StoreError, match="the program with pid 4711 is working on it"):
        opened(file)
    assert len(applied(old)) == 3
    assert copies(file) == []
    lock.release()
    old.close()
    opened(file).close()


def test_a_session_that_died_holds_no_migration_up(file: Path, tmp_path: Path) -> None:
    old = opened(file, 3)
    dead = tmp_path / "lock of the dead"
    dead.touch()
    begin_as_before(old, dead)
    old.close()
    new = opened(file)
    assert applied(new) == EVERY
    assert write(new, lambda tx: tx.dialect) is Dialect.SQLITE
    new.close()


def test_no_migration_of_a_schema_under_the_feet_of_a_living_session(
    postgres_url: str, postgres_schema: str, tmp_path: Path
) -> None:
    old = PostgresEngine(postgres_url, schema=postgres_schema, now=lambda: NOW, migrate_to=3)
    lock = LifeLock(tmp_path / "locks" / "alive")
    begin_as_before(old, lock.path)
    new = PostgresEngine(postgres_url, schema=postgres_schema, now=lambda: NOW)
    with pytest.raises(StoreError, match="the program with pid 4711 is working on it"):
        new.open()
    lock.release()
    new.open()
    assert applied(new) == EVERY
    new.close()
    old.close()
