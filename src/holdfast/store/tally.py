"""How many jobs a transaction stored and ended, for whoever counts. Kept apart from what listeners are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.job import StateName


class Tally(Struct):
    """Jobs that were stored, by queue, jobs that ended, by state, and those among them that made room, by queue."""

    enqueued: dict[str, int] = {}
    ended: dict[StateName, int] = {}
    shed: dict[str, int] = {}

    def count_enqueued(self, queue: str, jobs: int = 1) -> None:
        """Jobs were stored."""
        self.enqueued[queue] = self.enqueued.get(queue, 0) + jobs

    def count_ended(self, state: StateName, jobs: int = 1) -> None:
        """Jobs ended."""
        self.ended[state] = self.ended.get(state, 0) + jobs

    def count_shed(self, queue: str, jobs: int) -> None:
        """Waiting jobs made room for others."""
        self.shed[queue] = self.shed.get(queue, 0) + jobs

    def merge(self, other: Tally) -> None:
        """Add what another script of the same transaction counted."""
        for queue, jobs in other.enqueued.items():
            self.count_enqueued(queue, jobs)
        for state, jobs in other.ended.items():
            self.count_ended(state, jobs)
        for queue, jobs in other.shed.items():
            self.count_shed(queue, jobs)


Watcher: TypeAlias = Callable[[float, Tally], None]
"""Called after every commit of this process, with how many seconds it took and what it counted."""
