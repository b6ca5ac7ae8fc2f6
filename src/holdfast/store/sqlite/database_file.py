"""Copy a database file while it is used, check it, replace it by a copy, and make it small.

Nothing here needs an engine. Only `restored` and `compacted` change the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeAlias

import apsw
from msgspec import Struct

from holdfast.core.errors import Conflict, StoreCorrupt, StoreUnavailable
from holdfast.store.locks import is_locked
from holdfast.store.migrate import applied_to, migrations, pending
from holdfast.store.sqlite.connection import connect
from holdfast.store.sqlite.faults import DATABASE_ERRORS, translate
from holdfast.store.sqlite.parts import part_of
from holdfast.store.sqlite.write_lock import WriteLock, locks_of
from holdfast.store.statements import Dialect

PAGES_AT_ONCE = 1_000
TOOL_BUSY_MS = 5_000
TAIL = ("-wal", "-shm")

Tell: TypeAlias = Callable[[int, int], None]


class FileSize(Struct, frozen=True):
    """The size of a file, how much of it is free inside, and the size of its write-ahead log. In bytes."""

    file: int
    free: int
    wal: int


class Versions(Struct, frozen=True):
    """The version of the schema of a file, and the newest that this program knows. 0: the file has none yet."""

    has: int
    newest: int


def copied(source: str, target: Path, tell: Tell = lambda done, total: None, locks: Path | None = None) -> int:
    """Make a checked copy of a file that may be in use, and return its size. It gets its name when it is complete.

    `locks` is the folder of the locks beside the database that the copy is made for. By default that is the source.
    """
    with _errors(source):
        try:
            with part_of(target, locks or locks_of(source)) as fresh:
                _copy_pages(source, fresh, tell)
                wrong = problems(str(fresh))
                if wrong:
                    raise StoreCorrupt(f"{source} is damaged, its copy does not pass the check: {wrong[0]}")
                _sync(fresh)
                size = fresh.stat().st_size
                fresh.replace(target)
                _sync(target.parent)
        except OSError as error:
            raise StoreUnavailable(f"{target} cannot be written ({error.strerror})") from error
    return size


def _copy_pages(source: str, target: Path, tell: Tell) -> None:
    with closing(_reader(source)) as from_, closing(apsw.Connection(str(target))) as to:
        # One snapshot for the whole copy: others may write meanwhile, and it need not start again.
        from_.execute("BEGIN; SELECT count(*) FROM sqlite_master").fetchall()
        with to.backup("main", from_, "main") as backup:
            while not backup.done:
                backup.step(PAGES_AT_ONCE)
                tell(backup.page_count - backup.remaining, backup.page_count)
        # A copy is one file, without a write-ahead log, until a program works with it.
        to.pragma("journal_mode", "delete")


def problems(path: str) -> list[str]:
    """What SQLite finds wrong with a file. Empty: nothing."""
    with _errors(path), closing(_reader(path)) as connection:
        try:
            said = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            keys = connection.execute("PRAGMA foreign_key_check").fetchall()
        except apsw.CorruptError as error:
            return [str(error)]
    return [*said, *(f"a row of {key[0]} refers to nothing in {key[2]}" for key in keys)]


def versions(path: str) -> Versions:
    """The versions of the schema of a file. Refuse a newer one than this program knows, and a foreign database."""
    newest = migrations(Dialect.SQLITE)[-1].version
    with _errors(path), closing(_reader(path)) as connection:
        applied = applied_to(connection)
        if not applied and connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StoreCorrupt(f"{path} is a database of another program")
    pending(Dialect.SQLITE, applied)
    return Versions(max((row.version for row in applied), default=0), newest)


def size(path: str) -> FileSize:
    """The size of a file, and how much of it could be given back."""
    with _errors(path), closing(_reader(path)) as connection:
        page = connection.pragma("page_size")
        wal = Path(f"{path}-wal")
        return FileSize(
            file=connection.pragma("page_count") * page,
            free=connection.pragma("freelist_count") * page,
            wal=wal.stat().st_size if wal.exists() else 0,
        )


def users(path: str) -> list[str]:
    """The sessions that live on a file, by their locks."""
    folder = locks_of(path) / "sessions"
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    return [name for name in names if is_locked(str(folder / name))]


def restored(path: str, copy: Path, aside: Path, tell: Tell = lambda done, total: None) -> None:
    """Replace a file that no program uses by a checked copy of `copy`. What was there goes to `aside`."""
    real = os.path.realpath(path)
    fresh = Path(f"{real}.restoring")
    copied(str(copy), fresh, tell, locks_of(real))
    try:
        with _turn(real):
            living = users(real)
            if living:
                raise Conflict(f"{len(living)} programs work on {path}; stop them first: holdfast sessions")
            if os.path.exists(real):
                _set_aside(real, aside)
            fresh.replace(real)
            _sync(Path(real).parent)
    finally:
        fresh.unlink(missing_ok=True)


def _set_aside(real: str, aside: Path) -> None:
    """Give a file another name. It keeps the old one until a copy takes that, so that a kill leaves a file there."""
    try:
        with closing(connect(real, writable=True, durability="full")) as connection:
            connection.set_busy_timeout(TOOL_BUSY_MS)
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        os.link(real, aside)
    except (*DATABASE_ERRORS, OSError):
        # The file is damaged, or the disk has no hard links: so its parts are renamed one after the other.
        for tail in ("", *TAIL):
            if os.path.exists(real + tail):
                os.replace(real + tail, f"{aside}{tail}")
    # What was in the log is in the file by now. Beside a copy it would do harm.
    for tail in TAIL:
        Path(real + tail).unlink(missing_ok=True)


def compacted(path: str) -> None:
    """Give back what is free inside a file that no program uses."""
    real = os.path.realpath(path)
    with _turn(real), _errors(path):
        living = users(real)
        if living:
            raise Conflict(f"{len(living)} programs work on {path}; stop them first: holdfast sessions")
        with closing(connect(real, writable=True, durability="full")) as connection:
            connection.set_busy_timeout(TOOL_BUSY_MS)
            connection.execute("VACUUM")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def emptied_wal(path: str) -> bool:
    """Move the write-ahead log of a file that may be in use into the file. False: a reader still needs it."""
    real = os.path.realpath(path)
    with _turn(real), _errors(path), closing(connect(real, writable=True, durability="full")) as connection:
        connection.set_busy_timeout(TOOL_BUSY_MS)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
    return True


def _reader(path: str) -> apsw.Connection:
    if not Path(path).is_file():
        raise StoreUnavailable(f"there is no file {path}")
    return connect(path, writable=False, durability="full")


@contextmanager
def _turn(path: str) -> Iterator[None]:
    """The lock of all processes that write to the file."""
    write_lock = WriteLock(locks_of(path))
    try:
        with write_lock:
            yield
    finally:
        write_lock.close()


@contextmanager
def _errors(path: str) -> Iterator[None]:
    try:
        yield
    except DATABASE_ERRORS as error:
        raise translate(error, path) from error


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
