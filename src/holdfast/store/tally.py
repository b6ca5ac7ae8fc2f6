"""How many jobs a transaction stored and ended, for whoever counts, and what it says in the log once it is committed.

Kept apart from what listeners are told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.job import StateName


class Line(Struct, frozen=True):
    """A warning for the log. `event` is a stable word for what happened, `about` what it happened to."""

    event: str
    message: str
    about: dict[str, str]


class Tally(Struct):
    """Jobs that were stored, by queue, jobs that ended, by state, and those among them that made room, by queue.

    `infra` are failures that the machine is to blame for and `parked` poison pills, by queue. `tokens` are those that
    runs have taken, by kind.
    """

    enqueued: dict[str, int] = {}
    ended: dict[StateName, int] = {}
    shed: dict[str, int] = {}
    infra: dict[str, int] = {}
    parked: dict[str, int] = {}
    tokens: dict[str, int] = {}
    lines: list[Line] = []

    def count_enqueued(self, queue: str, jobs: int = 1) -> None:
        """Jobs were stored."""
        self.enqueued[queue] = self.enqueued.get(queue, 0) + jobs

    def count_ended(self, state: StateName, jobs: int = 1) -> None:
        """Jobs ended."""
        self.ended[state] = self.ended.get(state, 0) + jobs

    def count_shed(self, queue: str, jobs: int) -> None:
        """Waiting jobs made room for others."""
        self.shed[queue] = self.shed.get(queue, 0) + jobs

    def count_infra(self, queue: str) -> None:
        """The machine is to blame for a failure."""
        self.infra[queue] = self.infra.get(queue, 0) + 1

    def count_parked(self, queue: str) -> None:
        """A poison pill was parked."""
        self.parked[queue] = self.parked.get(queue, 0) + 1

    def count_tokens(self, kind: str, tokens: int) -> None:
        """Runs have taken tokens of a machine."""
        self.tokens[kind] = self.tokens.get(kind, 0) + tokens

    def warn(self, event: str, message: str, **about: str) -> None:
        """Say this in the log, once it is committed."""
        self.lines.append(Line(event, message, about))

    def merge(self, other: Tally) -> None:
        """Add what another script of the same transaction counted."""
        for queue, jobs in other.enqueued.items():
            self.count_enqueued(queue, jobs)
        for state, jobs in other.ended.items():
            self.count_ended(state, jobs)
        for queue, jobs in other.shed.items():
            self.count_shed(queue, jobs)
        for queue, failures in other.infra.items():
            self.infra[queue] = self.infra.get(queue, 0) + failures
        for queue, jobs in other.parked.items():
            self.parked[queue] = self.parked.get(queue, 0) + jobs
        for kind, tokens in other.tokens.items():
            self.count_tokens(kind, tokens)
        self.lines += other.lines


Watcher: TypeAlias = Callable[[float, Tally], None]
"""Called after every commit of this process, with how many seconds it took and what it counted."""
