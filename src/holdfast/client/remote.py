"""A client of the daemon that only asks and tells: the lighter sibling of `Holdfast`, for the command line."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.client.handle import JobHandle
from holdfast.client.operations import Operations
from holdfast.client.patience import Patience
from holdfast.client.store_access import StoreAccess
from holdfast.core.job import Job, JobId
from holdfast.runtime.clock import SystemClock
from holdfast.store.engine import new_uuid
from holdfast.wire.home import find_daemon
from holdfast.wire.remote import RemoteEngine
from holdfast.wire.status import DaemonStatus

# The jobs that were asked for, so that what is said about them can name them as the person does.
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
        """How long an enqueue of this client waits while there is no room; None leaves it as it is."""
        if seconds is not None:
            self._access.patience = Patience(self._access.clock, seconds)

    def daemon(self) -> DaemonStatus:
        """Who the daemon is, and how the workers are that it keeps."""
        return msgspec.json.decode(self.engine.transport.call("GET", "/v1/daemon"), type=DaemonStatus)
