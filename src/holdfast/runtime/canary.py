"""A small job that goes all the way every minute: what it takes is what a job of the user's would take."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from msgspec import Struct

from holdfast.core.errors import HoldfastError, NotFound
from holdfast.core.job import TERMINAL, Job, JobId, StateName
from holdfast.core.requests import SYSTEM_QUEUE, NewJob
from holdfast.core.reserved import CANARY
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Changes, Engine, new_uuid
from holdfast.store.scripts.cancel import cancel_job
from holdfast.store.scripts.enqueue import enqueue_any
from holdfast.store.scripts.look import find_job
from holdfast.store.scripts.retention import forget_ended
from holdfast.store.scripts.why import why

EVERY_S = 60.0
PATIENCE_S = 60.0
KEEP_MS = 3_600_000
TTL_MS = 600_000  # One that a daemon left behind when it went away is not run for nobody much later.

log = logging.getLogger("holdfast.canary")


class Keeper(Protocol):
    """Who wants to know how the canaries fare."""

    def canary_returned(self, seconds: float) -> None:
        """It went all the way, in so many seconds."""

    def canary_missed(self) -> None:
        """It did not come back in time, or came back ill."""


class Flight(Struct):
    """A canary under way. Times are of the monotonic clock."""

    job_id: JobId
    began: float
    ended: float | None = None


class Canary(Loop):
    """Sends one at a time; is told of its end, and looks for the reason if it stays away."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        keeper: Keeper,
        *,
        every: float = EVERY_S,
        patience: float = PATIENCE_S,
        ids: Callable[[], JobId] = new_uuid,
    ) -> None:
        super().__init__(clock)
        self._engine = engine
        self._keeper = keeper
        self._every = every
        self._patience = patience
        self._new_id = ids
        self._home = asyncio.get_running_loop()
        self._leave: Callable[[], None] | None = None
        self._flight: Flight | None = None
        self._next = clock.monotonic()

    async def tick(self) -> float | None:
        if self._leave is None:
            self._leave = await asyncio.to_thread(self._engine.listen, self._hear)
        if self._flight is not None and not await self._has_landed(self._flight):
            return max(0.0, self._flight.began + self._patience - self.clock.monotonic())
        self._flight = None
        wait = self._next - self.clock.monotonic()
        if wait > 0:
            return wait
        await self._send()
        return self._patience

    async def stop(self) -> None:
        await super().stop()
        if self._leave is not None:
            self._leave()
            self._leave = None
        if self._flight is not None:
            # Nobody will hear of it any more; a job of the user's would stay.
            with suppress(HoldfastError):
                await self._engine.write(cancel_job, self._flight.job_id, self.clock.now(), "the daemon stopped")

    async def _send(self) -> None:
        self._next = self.clock.monotonic() + self._every
        await self._engine.write(forget_ended, SYSTEM_QUEUE, CANARY, self.clock.now() - KEEP_MS)
        flight = Flight(self._new_id(), self.clock.monotonic())
        job = NewJob(id=flight.job_id, task=CANARY, queue=SYSTEM_QUEUE, ttl_ms=TTL_MS, trigger='{"kind": "canary"}')
        # Before it is stored: it may be back before the call is.
        self._flight = flight
        try:
            await self._engine.write(enqueue_any, [job], self.clock.now())
        except BaseException:
            self._flight = None
            raise

    async def _has_landed(self, flight: Flight) -> bool:
        """Whether there is nothing more to wait for; if so, its keeper has heard of it."""
        try:
            job = await self._engine.read(find_job, flight.job_id)
        except NotFound:
            return True  # Somebody has removed it, so there is nothing to learn from it.
        if job.state.name is StateName.DONE:
            ended = self.clock.monotonic() if flight.ended is None else flight.ended
            took = ended - flight.began
            self._keeper.canary_returned(took)
            extra = {"event": "canary_returned", "job_id": job.id, "latency_ms": round(took * 1000, 2)}
            log.debug("the canary came back after %.1f ms", took * 1000, extra=extra)
            return True
        if job.state.name in TERMINAL:
            self._miss(job, f"it ended as {job.state.name}")
            return True
        if self.clock.monotonic() - flight.began < self._patience:
            return False
        reason = await self._engine.read(why, job.id, self.clock.now())
        self._miss(job, str(reason))
        # Nobody waits for it any more, and it must not pile up behind others of its kind.
        await self._engine.write(cancel_job, job.id, self.clock.now())
        return True

    def _miss(self, job: Job, reason: str) -> None:
        self._keeper.canary_missed()
        extra = {"event": "canary_missed", "job_id": job.id, "reason": reason}
        log.warning("the canary did not come back within %g s: %s", self._patience, reason, extra=extra)

    def _hear(self, changes: Changes) -> None:
        """Called from any thread."""
        flight = self._flight
        if flight is not None and flight.ended is None and flight.job_id in changes.ended:
            flight.ended = self.clock.monotonic()
            self._home.call_soon_threadsafe(self.wake)
        elif flight is not None and changes.unknown:
            self._home.call_soon_threadsafe(self.wake)
