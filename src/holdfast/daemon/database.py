"""The database of a home, whether a daemon runs or not: where it is, and how it is maintained."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import Conflict, HoldfastError, InvalidInput, NoDaemon, StoreUnavailable
from holdfast.core.messages.maintenance import Violation
from holdfast.daemon.settings import settings_file
from holdfast.decoding import decode
from holdfast.hosting.database import clock_for, make_engine
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import new_uuid
from holdfast.store.locks import LifeLock
from holdfast.store.scripts.maintenance import doctor
from holdfast.store.sqlite import database_file
from holdfast.store.sqlite.database_file import FileSize, Tell, Versions
from holdfast.wire.home import Address, Home
from holdfast.wire.peer import Peer
from holdfast.wire.status import DaemonStatus
from holdfast.wire.transport import Transport


class Compacted(Struct, frozen=True):
    """The sizes before and after. `is_whole`: the file itself was made small. Otherwise only its log was emptied."""

    before: FileSize
    after: FileSize
    is_whole: bool


class HomeDatabase:
    """The database of a home."""

    def __init__(self, home: Home, config: Path | None = None) -> None:
        self.home = home
        self.status = ask_daemon(home)
        self._config = config
        self._url: str | None = None
        if self.status is not None and self.status.dialect != "sqlite":
            self._path, self.name = None, self.status.store
        elif self.status is not None:
            self._path = self.name = self.status.store
        else:
            daemon = settings_file.load(settings_file.find_file(home, config)).daemon
            store = daemon.store or str(home.database)
            if "://" in store:
                self._url, self._schema, self._path = store, daemon.schema, None
                self.name = f"PostgreSQL, schema {daemon.schema}"
            else:
                self._path = self.name = store

    @property
    def is_postgres(self) -> bool:
        """Whether the jobs are in PostgreSQL."""
        return self._path is None

    @property
    def path(self) -> str:
        """The SQLite file. With PostgreSQL, InvalidInput says what to use instead."""
        if self._path is None:
            raise InvalidInput(
                f"the jobs of this home are in {self.name}: use PostgreSQL's own tools for that, such as pg_dump and "
                "pg_restore for copies, and VACUUM"
            )
        return self._path

    def back_up(self, target: Path, tell: Tell) -> int:
        """Make a checked copy, while a daemon runs or not. Return its size."""
        if target.is_dir():
            raise InvalidInput(f"{target} is a folder; give the path of a file in it")
        if not target.absolute().parent.is_dir():
            raise InvalidInput(f"the folder {target.absolute().parent} does not exist; create it first")
        with suppress(OSError):
            if target.samefile(self.path):
                raise InvalidInput(f"{target} is the database itself; choose another file")
        return database_file.copied(self.path, target.absolute(), tell)

    def restore(self, copy: Path, tell: Tell) -> Path | None:
        """Replace the database by a copy. Return where the old one was moved, if there was one."""
        self._refuse_while_used()
        if not copy.is_file():
            raise InvalidInput(f"there is no file {copy}")
        if not database_file.versions(str(copy)).has:
            raise InvalidInput(f"{copy} is not a copy of a Holdfast database")
        self.home.create()
        aside = Path(f"{self.path}.before-restore-{time.strftime('%Y%m%d-%H%M%S')}")
        if aside.exists():
            raise Conflict(f"{aside} exists already; try again in a second")
        is_new = not Path(self.path).exists()
        with self._no_daemon():
            database_file.restored(self.path, copy, aside, tell)
        return None if is_new else aside

    def check(self) -> list[Violation]:
        """Check the file and its invariants. Return what is wrong, with the rows."""
        if self._path is not None and not Path(self._path).exists():
            raise StoreUnavailable(f"there is no database {self._path} yet; holdfast up makes it")
        if self._url is not None:
            engine = make_engine(self._url, "full", self._schema, clock_for(self._url), new_uuid, home=self.home.folder)
        elif self._path is not None:
            wrong = database_file.problems(self._path)
            if wrong:
                return [Violation("database", [{"message": line} for line in wrong])]
            versions = database_file.versions(self._path)
            if versions.has != versions.newest:
                raise HoldfastError(
                    f"{self._path} has schema {versions.has:03d}, this program needs {versions.newest:03d}; "
                    "first: holdfast db migrate"
                )
            engine = make_engine(self._path, "full", "holdfast", SystemClock(), new_uuid)
        else:
            raise NoDaemon("the daemon went away; try again")
        try:
            return doctor.examine(engine)
        finally:
            engine.close()

    def versions(self) -> Versions:
        """The version of the schema of the file, and the newest one."""
        return database_file.versions(self.path)

    def migrate(self) -> None:
        """Bring the file to the newest schema. A copy of the old file stays beside it."""
        self._refuse_while_used()
        with self._no_daemon():
            engine = make_engine(self.path, "full", "holdfast", SystemClock(), new_uuid)
            engine.open()
            engine.close()

    def compact(self) -> Compacted:
        """Give back what is free inside. While a program works with it, only empty the write-ahead log."""
        before = database_file.size(self.path)
        is_whole = self.status is None and not database_file.users(self.path)
        if is_whole:
            with self._no_daemon():
                database_file.compacted(self.path)
        else:
            database_file.emptied_wal(self.path)
        return Compacted(before, database_file.size(self.path), is_whole)

    def _refuse_while_used(self) -> None:
        if self.home.is_lived_in:
            pid = self.home.daemon_pid() or "unknown"
            raise Conflict(f"a daemon with pid {pid} works with {self.name}; stop it first: holdfast down")
        living = database_file.users(self.path)
        if living:
            raise Conflict(f"{len(living)} programs work with {self.name}; stop them first")

    @contextmanager
    def _no_daemon(self) -> Iterator[None]:
        """In the block, no daemon can start in this home."""
        try:
            lock = LifeLock(self.home.lock)
        except BlockingIOError:
            raise Conflict("a daemon has just started here; stop it first: holdfast down") from None
        try:
            self.home.lock.write_text(str(os.getpid()))
            yield
        finally:
            lock.release()


def ask_daemon(home: Home, timeout: float = 5.0) -> DaemonStatus | None:
    """The status of the daemon of a home. None if there is none."""
    if not home.is_lived_in:
        return None
    transport = Transport(Peer(Address(socket=str(home.socket), lock=str(home.lock))))
    try:
        return decode(transport.call("GET", "/v1/daemon", timeout=timeout), DaemonStatus)
    except NoDaemon:
        return None
    finally:
        transport.close()
