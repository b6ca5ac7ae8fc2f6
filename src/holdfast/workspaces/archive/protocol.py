"""What a store of archives can do. It needs none of the libraries that one is made with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from holdfast.core.workspaces.conditions import ConditionReason, Observation
from holdfast.workspaces.archive.packing import PackedHome


class ArchiveMeta(Struct, frozen=True):
    """What the stream of an archive must be, and what is in it."""

    sha256: str
    size: int
    home: PackedHome


class ArchiveAway(Exception):
    """The store of archives does not answer. What is in it is not lost."""


class ArchiveLost(Exception):
    """An archive is not what it must be, and never will be again."""

    def __init__(self, reason: ConditionReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Archives(Protocol):
    """Archives of homes, by keys. All of it may be done twice."""

    def put(self, key: str, home: Path, check: Callable[[], None], *, is_first: bool) -> ArchiveMeta:
        """Store a home, and return when it was read back and is the same.

        `is_first`: no workspace has an archive yet, so the store may be new.
        """

    def get(self, key: str, home: Path, check: Callable[[], None]) -> None:
        """Fill an empty folder from an archive. ArchiveLost if it is not what was stored."""

    def answers(self) -> bool:
        """Whether there is a store that something could be put into."""

    def look(self, key: str) -> Observation:
        """What is there of an archive, as its condition says it."""
