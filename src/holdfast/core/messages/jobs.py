"""Jobs in pages, and what became of calls that change them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.job import JobId, StateName
from holdfast.core.jobs.stored_job import Job


class Page(Struct, frozen=True):
    """Some jobs, newest first, and the cursor of the next page if there is one."""

    jobs: list[Job]
    cursor: str | None


class Count(Struct, frozen=True):
    """How many jobs of a queue are in a state."""

    queue: str
    state: str
    jobs: int


class BulkAction(StrEnum):
    """What can be done to many jobs at once."""

    CANCEL = "cancel"
    RETRY = "retry"
    PRIORITY = "priority"


class BulkResult(Struct, frozen=True):
    """How many jobs the action concerns, or concerned; `more`: the limit was reached."""

    jobs: int
    more: bool
    dry_run: bool


class Cancelling(Struct, frozen=True):
    """How many were cancelled at once, asked to stop, or had ended already."""

    cancelled: int = 0
    requested: int = 0
    ended: int = 0


class Retried(Struct, frozen=True):
    """A job that was made of another one by a retry by hand."""

    id: JobId
    number: int
    state: StateName


class Retied(Struct, frozen=True):
    """How many jobs may run elsewhere now; `more`: there may be others."""

    jobs: int
    more: bool


class Predecessor(Struct, frozen=True):
    """A job that another one came after, as its last link. `result_json` is there if it is DONE.

    `is_previous`: it stands before the other one in a sequential group.
    """

    id: JobId
    number: int
    task: str
    state: StateName
    result_json: str | None = None
    is_previous: bool = False

    @property
    def result(self) -> Any:
        """What it returned; None if it returned nothing, or has no result."""
        return None if self.result_json is None else msgspec.json.decode(self.result_json)
