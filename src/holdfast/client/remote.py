"""A client of the daemon without tasks: a lighter `Holdfast`, for the command line."""

from __future__ import annotations

from typing import Any

from holdfast.client.operations import Operations
from holdfast.client.patience import Patience
from holdfast.client.resources.handle import JobHandle
from holdfast.client.store_access import StoreAccess
from holdfast.core.job import JobId
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.maintenance import ReservedUse
from holdfast.core.messages.tasks import UndeclaredTask
from holdfast.decoding import decode
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import new_uuid
from holdfast.store.script_names import declared_tasks, reserved, retention, schedules
from holdfast.wire.home import find_daemon
from holdfast.wire.remote import RemoteEngine
from holdfast.wire.status import DaemonStatus

# The numbers of the jobs that were asked for, so that messages can name them as the person did.
NUMBERS: dict[JobId, int] = {}


class Client(Operations):
    """Everything of `Holdfast` but tasks and running them."""

    def __init__(self) -> None:
        self.engine = RemoteEngine(find_daemon())
        self._access = StoreAccess(self.engine, SystemClock(), new_uuid)

    def _handle(self, job: Job) -> JobHandle[Any]:
        NUMBERS[job.id] = job.number
        return super()._handle(job)

    def wait_for_room(self, seconds: float | None) -> None:
        """Set how long an enqueue of this client waits while there is no room. None leaves it as it is."""
        if seconds is not None:
            self._access.patience = Patience(self._access.clock, seconds)

    def schedule_id(self, ref: str) -> str:
        """The id of a schedule that may be named."""
        return self.engine.query(schedules.find_schedule, ref).id

    def undeclared_tasks(self) -> list[UndeclaredTask]:
        """Tasks with waiting jobs that no worker has declared."""
        return self.engine.query(declared_tasks.list_undeclared)

    def reserved_uses(self) -> list[ReservedUse]:
        """What uses a reserved name, from before those were refused."""
        return self.engine.query(reserved.list_reserved)

    def enqueue_measured(self, jobs: int) -> list[JobId]:
        """Store so many jobs of a measurement."""
        ids = [new_uuid() for _ in range(jobs)]
        self.engine.run(retention.enqueue_measured, ids, 0)
        return ids

    def forget_measured(self) -> int:
        """Remove some of the ended jobs of measurements. Return how many."""
        return self.engine.run(retention.forget_measured, 0)

    def daemon(self) -> DaemonStatus:
        """The status of the daemon and its workers."""
        return decode(self.engine.transport.call("GET", "/v1/daemon"), DaemonStatus)
