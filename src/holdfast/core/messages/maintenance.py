"""The state of a database: chores, violations, names of the system that others use."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.jobs.stored_job import Job
from holdfast.core.machine.maintenance import Chore


class Violation(Struct, frozen=True):
    """An invariant that does not hold, with the rows that break it."""

    invariant: str
    rows: list[dict[str, Any]]


class ChoreView(Struct, frozen=True, kw_only=True):
    """A chore, what it does, when it is due again, and the job that did it last, if that is still there."""

    chore: Chore
    task: str
    says: str
    due_at: Millis | None = None
    last: Job | None = None


class ReservedUse(Struct, frozen=True):
    """A template, schedule, watch or waiting job that uses a name of the system's. `name` of a job is its number."""

    kind: str
    name: str
    task: str | None
    queue: str
