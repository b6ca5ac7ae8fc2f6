"""Brings a database to this program's schema, one numbered file at a time, or stops and leaves it as it was."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

import apsw
from msgspec import Struct

from holdfast.core.errors import SchemaMismatch, StoreError, StoreFull
from holdfast.private_files import make_private
from holdfast.store.locks import is_locked
from holdfast.store.statements import Dialect


class Migration(Struct, frozen=True):
    """One numbered file."""

    version: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        """Its checksum, stored with it when it is applied."""
        return hashlib.sha256(self.text.encode()).hexdigest()


class Applied(Struct, frozen=True):
    """A row of `schema_version`."""

    version: int
    name: str
    sha256: str


@cache
def migrations(dialect: Dialect) -> tuple[Migration, ...]:
    """Every migration of a dialect, in order."""
    found = []
    for file in files("holdfast.store").joinpath("migrations").iterdir():
        stem, _, ending = file.name.partition(".")
        if ending == f"{dialect}.sql":
            number, _, _ = stem.partition("_")
            found.append(Migration(int(number), stem, file.read_text("utf-8")))
    return tuple(sorted(found, key=lambda migration: migration.version))


def pending(dialect: Dialect, applied: Iterable[Applied], target: int | None = None) -> list[Migration]:
    """The migrations still to be applied. Refuse a newer database, and one whose history differs from ours."""
    ours = {migration.version: migration for migration in migrations(dialect)}
    done = {row.version: row for row in applied}
    for version, row in sorted(done.items()):
        if version not in ours:
            raise SchemaMismatch(
                f"the database is newer than this program: it has migration {row.name}, this program knows "
                f"up to {max(ours):03d}. Upgrade Holdfast"
            )
        if row.sha256 != ours[version].sha256:
            raise SchemaMismatch(
                f"migration {row.name} was applied with other contents than this program has; "
                "use the program that made this database, or restore a backup"
            )
    last = max(ours) if target is None else target
    return [ours[version] for version in sorted(ours) if version not in done and version <= last]


_VERSION_TABLE = """
CREATE TABLE IF NOT EXISTS schema_version (
  version    {integer} PRIMARY KEY,
  name       TEXT NOT NULL,
  sha256     TEXT NOT NULL,
  applied_at {integer} NOT NULL
){options}
"""


def sqlite(connection: apsw.Connection, path: str, now: int, target: int | None = None) -> None:
    """Migrate a SQLite file. The caller holds the write lock."""
    applied = applied_to(connection)
    todo = pending(Dialect.SQLITE, applied, target)
    if not todo:
        return
    if applied:
        refuse_while_in_use(path, connection.execute(_AT_WORK).fetchall())
        copy_aside(connection, path, applied[-1].version)
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(_VERSION_TABLE.format(integer="INTEGER", options=" STRICT"))
        for migration in todo:
            _apply(connection, path, migration, now)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def applied_to(connection: apsw.Connection) -> list[Applied]:
    """The migrations that a SQLite file has."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchone():
        return []
    return [Applied(*row) for row in connection.execute("SELECT version, name, sha256 FROM schema_version")]


def _apply(connection: apsw.Connection, path: str, migration: Migration, now: int) -> None:
    try:
        connection.execute(migration.text)
        connection.execute(
            "INSERT INTO schema_version (version, name, sha256, applied_at) VALUES (?, ?, ?, ?)",
            (migration.version, migration.name, migration.sha256, now),
        )
    except apsw.Error as error:
        raise failed(migration, path, error) from error


def copy_aside(connection: apsw.Connection, path: str, version: int) -> str:
    """Copy the database before the migration. Refuse at once if there is no room."""
    copy = f"{path}.before-migration-from-{version:03d}"
    # The copy of an earlier try is removed, which makes room.
    earlier = os.lstat(copy).st_size if os.path.lexists(copy) else 0
    pages = connection.pragma("page_count") - connection.pragma("freelist_count")
    needed, free = pages * connection.pragma("page_size"), shutil.disk_usage(os.path.dirname(path)).free + earlier
    if free < needed:
        raise StoreFull(
            f"{path} needs a migration, and first a copy of {needed} bytes beside it, but its disk has {free} bytes "
            f"free; nothing was changed. Free {needed - free} bytes and start again"
        )
    # A link is removed too: the copy would go where it leads.
    with suppress(FileNotFoundError):
        os.unlink(copy)
    make_private(copy)
    connection.execute("VACUUM INTO ?", (copy,))
    return copy


# Workers of a daemon never use the database themselves, so those that outlived the daemon do not matter.
_AT_WORK = "SELECT pid, lock_path FROM sessions WHERE status = 'running' AND kind <> 'worker'"


def refuse_while_in_use(where: str, at_work: Iterable[Sequence[Any]]) -> None:
    """Refuse a migration while a program of this machine works on the database."""
    for pid, lock_path in at_work:
        if lock_path and is_locked(str(lock_path)):
            raise StoreError(
                f"{where} needs a migration, but the program with pid {pid} is working on it; stop that first"
            )


def failed(migration: Migration, where: str, error: BaseException) -> StoreError:
    """The error of a migration that failed."""
    return StoreError(f"migration {migration.name} of {where} failed and was undone, all is as it was: {error}")


def postgres(execute: Callable[..., Any], schema: str, now: int, target: int | None = None) -> None:
    """Migrate a PostgreSQL schema. The caller holds the advisory lock and an open transaction."""
    # IF NOT EXISTS asks for the right to create one even where it exists.
    if not execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone():
        execute(f'CREATE SCHEMA "{schema}"')
    execute(_VERSION_TABLE.format(integer="BIGINT", options=""))
    applied = [Applied(*row) for row in execute("SELECT version, name, sha256 FROM schema_version").fetchall()]
    todo = pending(Dialect.POSTGRES, applied, target)
    if todo and applied:
        refuse_while_in_use(f"schema {schema}", execute(_AT_WORK).fetchall())
    for migration in todo:
        try:
            execute(migration.text)
            execute(
                "INSERT INTO schema_version (version, name, sha256, applied_at) VALUES (%s, %s, %s, %s)",
                (migration.version, migration.name, migration.sha256, now),
            )
        except Exception as error:
            raise failed(migration, f"schema {schema}", error) from error
