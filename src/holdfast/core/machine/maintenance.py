"""The chores of a database: which there are, how often each is done, and when it is worth it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.job import Millis

MAINTENANCE = "holdfast.maintenance"  # the queue of the chores
EVERY_CHORE = "all"  # but the vacuum
KEEP_MS: Millis = 2 * 86_400_000  # how long the job of a chore is kept
HOUR_MS: Millis = 3_600_000
DAY_MS: Millis = 24 * HOUR_MS
WEEK_MS: Millis = 7 * DAY_MS

SLACK_BYTES = 4 << 20  # new rows will need it again
WORTH_BYTES = 64 << 20
WORTH_SHARE = 0.25
GAP_LEFT = 2  # no job fits between two positions that are closer
HIGHEST_PLACE = 2**52  # all languages can count exactly beyond it

_TASK = "holdfast."
_PLACE = "/"


class Chore(StrEnum):
    """A chore, by its name for people."""

    RETENTION = "retention"
    EVENTS = "events"
    LETTERS = "letters"
    MACHINES = "machines"
    TENANTS = "tenants"
    TASKS = "tasks"
    TELEMETRY = "telemetry"
    FILES = "files"
    POSITIONS = "positions"
    CHECKPOINT = "checkpoint"
    ANALYZE = "analyze"
    INCREMENTAL_VACUUM = "incremental-vacuum"
    VACUUM = "vacuum"


class KeepTimes(Struct, frozen=True):
    """How long ended jobs are kept, and the record of the calls of handlers and timers."""

    jobs_ms: Millis
    telemetry_ms: Millis = WEEK_MS


class ChoreRule(Struct, frozen=True):
    """What a chore does, and how often. `of_file`: SQLite alone needs it. `of_place`: each folder of files has its own.

    `asks_first`: it becomes a job only if there is something to do.
    """

    says: str
    every_ms: Millis
    of_file: bool = False
    of_place: bool = False
    asks_first: bool = False
    when_idle: bool = False


RULES: dict[Chore, ChoreRule] = {
    Chore.RETENTION: ChoreRule("removes jobs that ended long ago, with their runs", HOUR_MS, asks_first=True),
    Chore.EVENTS: ChoreRule("removes events that nobody needs any more", HOUR_MS, asks_first=True),
    Chore.LETTERS: ChoreRule("names what jobs failed of before failures had names", HOUR_MS, asks_first=True),
    Chore.MACHINES: ChoreRule("forgets machines on which nobody works any more", DAY_MS),
    Chore.TENANTS: ChoreRule("forgets tenants that have no jobs, where there are very many", DAY_MS),
    Chore.TASKS: ChoreRule("forgets versions of tasks that no worker has offered for 30 days", DAY_MS, asks_first=True),
    Chore.TELEMETRY: ChoreRule("removes the record of old calls of handlers and timers", HOUR_MS, asks_first=True),
    Chore.FILES: ChoreRule("removes logs and artifacts whose jobs are gone", HOUR_MS, of_place=True),
    Chore.POSITIONS: ChoreRule("makes room between jobs that stand too close to be moved between", DAY_MS),
    Chore.CHECKPOINT: ChoreRule("brings the write-ahead log into the database file", HOUR_MS, of_file=True),
    Chore.ANALYZE: ChoreRule("counts anew what the database chooses its ways by", DAY_MS),
    Chore.INCREMENTAL_VACUUM: ChoreRule(
        "gives free pages at the end of the file back, some at a time", HOUR_MS, of_file=True, asks_first=True
    ),
    Chore.VACUUM: ChoreRule(
        "writes the whole file anew, without gaps", DAY_MS, of_file=True, asks_first=True, when_idle=True
    ),
}


class Space(Struct, frozen=True):
    """How many pages a file has and how many of them are free. A database that is no file has none."""

    pages: int
    free: int
    page_size: int
    is_incremental: bool

    @property
    def free_bytes(self) -> int:
        """What could be given back."""
        return self.free * self.page_size


def can_release(space: Space) -> bool:
    """Whether free pages can be given back a few at a time, and there are enough of them."""
    return space.is_incremental and space.free_bytes > SLACK_BYTES


def is_worth_vacuuming(space: Space) -> bool:
    """Whether it is worth it to write the whole file anew."""
    return space.free_bytes > WORTH_BYTES and space.free > WORTH_SHARE * space.pages


def task_of(chore: Chore, place: str) -> str:
    """The task of a chore. A chore about a folder has one for each folder."""
    return f"{_TASK}{chore}" + (f"{_PLACE}{place}" if RULES[chore].of_place else "")


def chore_of(task: str) -> Chore | None:
    """The chore of a task. None if it is none."""
    name = task.removeprefix(_TASK).partition(_PLACE)[0]
    return Chore(name) if task.startswith(_TASK) and name in tuple(Chore) else None


def chores_of(*, is_file: bool) -> tuple[Chore, ...]:
    """The chores of a database, in the best order to do them."""
    return tuple(chore for chore in Chore if is_file or not RULES[chore].of_file)


def next_due(due_at: Millis | None, chore: Chore, now: Millis) -> Millis:
    """When a chore is due, given what is stored. A clock that was set back does not put it off for long."""
    rule = RULES[chore]
    if due_at is None:
        return now if rule.asks_first else now + rule.every_ms
    return min(due_at, now + rule.every_ms)
