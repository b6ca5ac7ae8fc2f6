"""The end of each line that new jobs join, and what its queue says of new jobs.

A line is what has one queue, tenant and priority.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from operator import attrgetter
from typing import Any

from msgspec import Struct

from holdfast.core.gates.pressure import REFUSAL_MS
from holdfast.core.gates.queue import Overflow, usual_policy
from holdfast.core.job import Millis
from holdfast.core.jobs import order
from holdfast.core.jobs.requests import Line, NewJob
from holdfast.core.settings.queue_settings import OF_JOBS
from holdfast.core.values.retry import RetryPolicy
from holdfast.store.engine import Tx
from holdfast.store.option_columns import usual_columns
from holdfast.store.scripts.jobs.admission import Admission
from holdfast.store.scripts.tasks.known_tasks import Tasks
from holdfast.store.setting_columns import OPTION_COLUMNS_OF_QUEUE
from holdfast.store.statements import Dialect, sql

_SAID_OF_JOBS = attrgetter(*OPTION_COLUMNS_OF_QUEUE.types)
_NOTHING_SAID = (None,) * len(OPTION_COLUMNS_OF_QUEUE.types)


@OPTION_COLUMNS_OF_QUEUE.extend
class QueueEnd(Struct, frozen=True, gc=False):
    """A row of `arrival`: the last position of a line, and what its queue says of new jobs."""

    position: int | None
    max_length: int | None
    overflow: str | None
    refused_by: str | None
    known: int | None

    def usual(self, queue: str) -> Mapping[str, Any]:
        """The columns of a job that says nothing."""
        if _SAID_OF_JOBS(self) == _NOTHING_SAID:
            return _usual_with(usual_policy(queue))
        said = OPTION_COLUMNS_OF_QUEUE.load(self)
        found = {name: said[setting.wire] for name, setting in OF_JOBS.items()}
        return usual_columns(found | {"retry": found["retry"] or usual_policy(queue)})


@cache
def _usual_with(retry: RetryPolicy) -> Mapping[str, Any]:
    return usual_columns({"retry": retry})


class QueueEnds:
    """The lines of one transaction, each read once. The same row has the limits of the queue, for the admission, and
    whether the task of the first job is known.
    """

    def __init__(self, tx: Tx, admission: Admission | None, tasks: Tasks, now: Millis) -> None:
        self._tx = tx
        self._admission = admission
        self._tasks = tasks
        self._now = now
        # A server has a disk of its own, so only the machine of the caller may refuse.
        self._node = tx.here() if tx.dialect is Dialect.POSTGRES else None
        self._highest: dict[Line, int | None] = {}
        self._usual: dict[str, Mapping[str, Any]] = {}

    def next_position(self, line: Line) -> int:
        """The next position of a line that `meet` has read."""
        place = self._highest[line] = order.next_position(self._highest[line])
        return place

    def usual(self, queue: str) -> Mapping[str, Any]:
        """The columns of a job that says nothing, in a queue that was met."""
        return self._usual[queue]

    def meet(self, job: NewJob) -> Line:
        """The line of a job. Read it, if that was not done."""
        line = job.line
        if line not in self._highest:
            queue, tenant, priority = line
            place = {"queue": queue, "tenant": tenant, "priority": priority}
            moment = {"now": self._now, "latest": self._now + REFUSAL_MS}
            found = self._tx.one(sql.arrival, QueueEnd, task=job.task, node=self._node, **moment, **place)
            assert found is not None
            self._tasks.learn(job.task, known=found.known is not None)
            if found.refused_by is not None and self._admission is not None:
                self._admission.refuse(job, found.refused_by)
            self._highest[line] = found.position
            if queue not in self._usual:
                self._usual[queue] = found.usual(queue)
                if found.max_length is not None and self._admission is not None:
                    self._admission.guard(queue, found.max_length, Overflow(found.overflow or Overflow.REJECT))
        return line
