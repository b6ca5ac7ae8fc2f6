"""The lines that new jobs come to stand in: the place at the end of each, and what its queue says of new jobs."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.order import next_position
from holdfast.core.pressure import REFUSAL_MS
from holdfast.core.queue import Overflow, usual_policy
from holdfast.core.requests import Line, NewJob
from holdfast.core.retry import RetryPolicy
from holdfast.store.engine import Tx
from holdfast.store.scripts.door import Door
from holdfast.store.scripts.known_tasks import Tasks
from holdfast.store.scripts.queues import policy_in
from holdfast.store.statements import Dialect, sql


class Arrival(Struct, frozen=True, gc=False):
    """The end of a line, and what its queue says of new jobs."""

    position: int | None
    max_length: int | None
    overflow: str | None
    retry: str | None
    timeout_ms: Millis | None
    refused_by: str | None
    known: int | None


class Usual(Struct, frozen=True):
    """What jobs of a queue have that say nothing themselves."""

    policy: RetryPolicy
    timeout_ms: Millis | None


class Lines:
    """The lines of one transaction, each looked up once. The same look tells the door what limits them, and whether
    the task of their first job is known.
    """

    def __init__(self, tx: Tx, door: Door | None, tasks: Tasks, now: Millis) -> None:
        self._tx = tx
        self._door = door
        self._tasks = tasks
        self._now = now
        # A server has a disk of its own: that of another machine is no reason to take nothing in here.
        self._node = tx.here() if tx.dialect is Dialect.POSTGRES else None
        self._highest: dict[Line, int | None] = {}
        self._usual: dict[str, Usual] = {}

    def next_position(self, line: Line) -> int:
        """The place behind the last one of a line that was met."""
        place = self._highest[line] = next_position(self._highest[line])
        return place

    def usual(self, queue: str) -> Usual:
        """What a queue that was met says for its jobs."""
        return self._usual[queue]

    def meet(self, job: NewJob) -> Line:
        """The line in which a job comes to stand."""
        line = job.line
        if line not in self._highest:
            queue, tenant, priority = line
            place = {"queue": queue, "tenant": tenant, "priority": priority}
            moment = {"now": self._now, "latest": self._now + REFUSAL_MS}
            found = self._tx.one(sql.arrival, Arrival, task=job.task, node=self._node, **moment, **place)
            assert found is not None
            self._tasks.learn(job.task, known=found.known is not None)
            if found.refused_by is not None and self._door is not None:
                self._door.refuse(job, found.refused_by)
            self._highest[line] = found.position
            if queue not in self._usual:
                self._usual[queue] = Usual(policy_in(found.retry) or usual_policy(queue), found.timeout_ms)
                if found.max_length is not None and self._door is not None:
                    self._door.guard(queue, found.max_length, Overflow(found.overflow or Overflow.REJECT))
        return line
