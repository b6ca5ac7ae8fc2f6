"""What can be done for a database as a whole while others work with it; never in their way, and never in a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from holdfast.core.errors import InvalidInput, StoreBusy
from holdfast.store.engine import Engine
from holdfast.store.statements import Dialect


class Vacuumed(Struct, frozen=True):
    """How big a file was and is, in bytes."""

    before: int
    after: int


class Disturbed(StoreBusy):
    """Somebody wanted to write, and came first. All is as it was."""


class Care(Protocol):
    """Blocking calls, for a thread of their own."""

    def tables(self) -> list[str]:
        """The tables that are counted."""

    def analyse(self, table: str) -> None:
        """Count what the database chooses its ways by."""

    def empty_log(self) -> int:
        """Bring the write-ahead log into the file, as far as readers allow; by how many bytes it became smaller."""

    def vacuum(self, should_stop: Callable[[], bool]) -> Vacuumed:
        """Write the whole file anew. Disturbed, as soon as anybody writes or wants to."""


def care_of(engine: Engine) -> Care:
    """Who looks after the database of an engine."""
    if engine.dialect is Dialect.SQLITE:
        from holdfast.store.sqlite.engine import SqliteEngine
        from holdfast.store.sqlite.tending import FileCare

        if isinstance(engine, SqliteEngine):
            return FileCare(engine.path)
    else:
        from holdfast.store.postgres.engine import PostgresEngine
        from holdfast.store.postgres.tending import ServerCare

        if isinstance(engine, PostgresEngine):
            return ServerCare(engine)
    raise InvalidInput("the database of a daemon is looked after by the daemon")
