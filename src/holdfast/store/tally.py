"""How many jobs a transaction stored and ended, and its lines for the log.

A script reports here what happened. The engine counts and logs it after the commit, so that only what has really
happened is told. Listeners are not told of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

import msgspec
from msgspec import Struct

from holdfast.core.job import StateName

_jobs_log = logging.getLogger("holdfast.jobs")


class LogLine(Struct, frozen=True):
    """A line for the log of a part. `event` is a stable word for what happened, `about` what it happened to."""

    part: str
    level: int
    event: str
    message: str
    about: dict[str, str | int | None]


class Tally(Struct):
    """Jobs that were stored, by queue, jobs that ended, by queue and state, and those that made room, by queue.

    `level` is the lowest one that the log takes; what is below it is not even put together. `infra` are failures that
    the machine is to blame for and `parked` poison pills, by queue. `tokens` are those that runs have taken, by kind.
    """

    level: int = msgspec.field(default_factory=_jobs_log.getEffectiveLevel)
    enqueued: dict[str, int] = {}
    ended: dict[tuple[str, StateName], int] = {}
    shed: dict[str, int] = {}
    infra: dict[str, int] = {}
    parked: dict[str, int] = {}
    tokens: dict[str, int] = {}
    lines: list[LogLine] = []

    def count_enqueued(self, queue: str, jobs: int = 1) -> None:
        """Jobs were stored."""
        self.enqueued[queue] = self.enqueued.get(queue, 0) + jobs

    def count_ended(self, queue: str, state: StateName, jobs: int = 1) -> None:
        """Jobs ended."""
        self.ended[queue, state] = self.ended.get((queue, state), 0) + jobs

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
        """Log a warning after the commit."""
        self.lines.append(LogLine("store", logging.WARNING, event, message, dict(about)))

    @property
    def warns(self) -> bool:
        """Whether there is a warning."""
        return any(line.level >= logging.WARNING for line in self.lines)

    def hears(self, level: int) -> bool:
        """Whether the log takes lines of this level."""
        return level >= self.level

    def say(self, level: int, event: str, message: str, **about: str | int | None) -> None:
        """Log a line after the commit, if the log takes this level. If the line is costly, ask `hears` first."""
        if self.hears(level):
            self.lines.append(LogLine("jobs", level, event, message, about))

    def merge(self, other: Tally) -> None:
        """Add what another script of the same transaction counted."""
        for queue, jobs in other.enqueued.items():
            self.count_enqueued(queue, jobs)
        for (queue, state), jobs in other.ended.items():
            self.count_ended(queue, state, jobs)
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
