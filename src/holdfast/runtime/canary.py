"""The canary: a small job that runs every minute. It takes as long as a job of the user would."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from holdfast.core.errors import HoldfastError, NotFound
from holdfast.core.job import TERMINAL, JobId, StateName
from holdfast.core.jobs.requests import SYSTEM_QUEUE, NewJob
from holdfast.core.jobs.stored_job import Job
from holdfast.core.tasks.reserved import CANARY
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Changes, Engine, new_uuid
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.jobs import cancel, enqueue
from holdfast.store.scripts.maintenance import retention
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.topics import UNKNOWN

EVERY_S = 60.0
PATIENCE_S = 60.0
KEEP_MS = 3_600_000
TTL_MS = 600_000  # One that a stopped daemon left behind is not run much later.

log = logging.getLogger("holdfast.canary")


class CanaryObserver(Protocol):
    """It is told how each canary ended."""

    def canary_returned(self, seconds: float) -> None:
        """It was done after so many seconds."""

    def canary_missed(self) -> None:
        """It was not done in time, or ended otherwise."""


class SentCanary(Struct):
    """A canary that was enqueued. Times are of the monotonic clock."""

    job_id: JobId
    began: float
    ended: float | None = None


class Canary(Loop):
    """Enqueues one at a time, waits for its end, and looks for the reason if that does not come."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        observer: CanaryObserver,
        *,
        every: float = EVERY_S,
        patience: float = PATIENCE_S,
        ids: Callable[[], JobId] = new_uuid,
    ) -> None:
        super().__init__(clock)
        self._engine = engine
        self._observer = observer
        self._every = every
        self._patience = patience
        self._new_id = ids
        self._sent: SentCanary | None = None
        self._next = clock.monotonic()

    async def tick(self) -> float | None:
        if self._sent is not None and not await self._is_over(self._sent):
            return max(0.0, self._sent.began + self._patience - self.clock.monotonic())
        self._sent = None
        wait = self._next - self.clock.monotonic()
        if wait > 0:
            return wait
        await self._send()
        return self._patience

    async def stop(self) -> None:
        await super().stop()
        if self._sent is not None:
            # No observer is told of its end any more.
            with suppress(HoldfastError):
                await self._engine.write(cancel.cancel_job, self._sent.job_id, self.clock.now(), "the daemon stopped")

    async def _send(self) -> None:
        self._next = self.clock.monotonic() + self._every
        await self._engine.write(retention.forget_ended, SYSTEM_QUEUE, CANARY, self.clock.now() - KEEP_MS)
        sent = SentCanary(self._new_id(), self.clock.monotonic())
        job = NewJob(id=sent.job_id, task=CANARY, queue=SYSTEM_QUEUE, ttl_ms=TTL_MS, trigger='{"kind": "canary"}')
        # Before it is stored: it may end before the call returns.
        self._sent = sent
        try:
            await self._engine.write(enqueue.enqueue_any, [job], self.clock.now())
        except BaseException:
            self._sent = None
            raise

    async def _is_over(self, sent: SentCanary) -> bool:
        """Whether there is nothing more to wait for. If so, the observer has been told."""
        try:
            job = await self._engine.read(read_jobs.find_job, sent.job_id)
        except NotFound:
            return True  # It was removed, so it tells nothing.
        if job.state.name is StateName.DONE:
            ended = self.clock.monotonic() if sent.ended is None else sent.ended
            took = ended - sent.began
            self._observer.canary_returned(took)
            extra = {"event": "canary_returned", "job_id": job.id, "latency_ms": round(took * 1000, 2)}
            log.debug("the canary came back after %.1f ms", took * 1000, extra=extra)
            return True
        if job.state.name in TERMINAL:
            self._miss(job, f"it ended as {job.state.name}")
            return True
        if self.clock.monotonic() - sent.began < self._patience:
            return False
        reason = await self._engine.read(why, job.id, self.clock.now())
        self._miss(job, str(reason))
        # It is not waited for any more, and canaries must not pile up.
        await self._engine.write(cancel.cancel_job, job.id, self.clock.now())
        return True

    def _miss(self, job: Job, reason: str) -> None:
        self._observer.canary_missed()
        extra = {"event": "canary_missed", "job_id": job.id, "reason": reason}
        log.warning("the canary did not come back within %g s: %s", self._patience, reason, extra=extra)

    def heed(self, changes: Changes) -> None:
        sent = self._sent
        if sent is not None and sent.ended is None and sent.job_id in changes.ended:
            sent.ended = self.clock.monotonic()
            self.wake_soon()
        elif sent is not None and UNKNOWN in changes.topics:
            self.wake_soon()
