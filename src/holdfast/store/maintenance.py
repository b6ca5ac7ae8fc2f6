"""What maintenance can do for a database as a whole, while programs work with it. It does not run in scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from holdfast.core.errors import StoreBusy


class Vacuumed(Struct, frozen=True):
    """How big a file was and is, in bytes."""

    before: int
    after: int


class Disturbed(StoreBusy):
    """Another program wanted to write, and went first. Nothing has changed."""


class DatabaseMaintenance(Protocol):
    """The maintenance of a database. Its calls block, so they need a thread of their own."""

    def tables(self) -> list[str]:
        """The tables that `analyse` is for."""

    def analyse(self, table: str) -> None:
        """Gather the statistics of a table, by which the database chooses its plans."""

    def empty_log(self) -> int:
        """Move the write-ahead log into the file, as far as readers allow. Return by how many bytes it shrank."""

    def vacuum(self, should_stop: Callable[[], bool]) -> Vacuumed:
        """Write the whole file anew. Disturbed: a program writes or wants to."""
