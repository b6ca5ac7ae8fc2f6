"""Waiting for jobs to end, by thread or by event loop, told by commits instead of polling."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from time import monotonic

from holdfast.core.errors import InvalidInput
from holdfast.core.job import TERMINAL, JobId, Millis
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.why import Why
from holdfast.store.engine import Changes, Engine
from holdfast.store.script_names import read_jobs, why
from holdfast.store.topics import UNKNOWN

LOOK_AGAIN_S = 2.0

log = logging.getLogger("holdfast.client")


class Waiters:
    """The callers that wait for jobs. It listens to the engine only while there are some."""

    def __init__(self, engine: Engine, now: Callable[[], Millis]) -> None:
        self._engine = engine
        self._now = now
        self._lock = threading.Lock()
        self._listening = threading.Lock()
        self._waiting: dict[Callable[[], None], set[JobId]] = {}
        self._leave: Callable[[], None] | None = None

    def wait(self, job_id: JobId, timeout: float | None) -> Job | None:
        """The job once it has ended, or None after `timeout` seconds. Blocks the calling thread only."""
        refuse_to_block("the job")
        told = threading.Event()
        unattended: bool | None = None
        ids = {job_id}
        left = Countdown(timeout)
        self._join(told.set, ids)
        try:
            while True:
                told.clear()
                job = self._engine.query(read_jobs.find_last, job_id)
                if has_ended(job):
                    return job
                ids.add(job.id)
                if left.seconds() == 0:
                    return None
                is_told = told.wait(min(LOOK_AGAIN_S, left.seconds()))
                # After the time-out, the error says it.
                if not is_told and unattended is None and left.seconds() > 0:
                    unattended = warn_if_unattended(self._engine.query(why.why, job_id, self._now()))
        finally:
            self._part(told.set)

    async def await_(self, job_id: JobId, timeout: float | None) -> Job | None:
        """The awaitable twin of `wait`."""
        import asyncio

        loop, told = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(told.set)

        unattended: bool | None = None
        ids = {job_id}
        left = Countdown(timeout)
        self._join(tell, ids)
        try:
            while True:
                told.clear()
                job = await self._engine.read(read_jobs.find_last, job_id)
                if has_ended(job):
                    return job
                ids.add(job.id)
                if left.seconds() == 0:
                    return None
                try:
                    await asyncio.wait_for(told.wait(), min(LOOK_AGAIN_S, left.seconds()))
                except TimeoutError:
                    if unattended is None and left.seconds() > 0:
                        unattended = warn_if_unattended(await self._engine.read(why.why, job_id, self._now()))
        finally:
            self._part(tell)

    def _join(self, tell: Callable[[], None], ids: set[JobId]) -> None:
        with self._lock:
            self._waiting[tell] = ids
        # Outside the lock: to open waits for a close, which waits for announcements, which wait for the lock.
        with self._listening:
            if self._leave is None:
                self._leave = self._engine.listen(self._heed)

    def _part(self, tell: Callable[[], None]) -> None:
        with self._lock:
            del self._waiting[tell]
        with self._listening:
            if not self._waiting and self._leave is not None:
                self._leave()
                self._leave = None

    def _heed(self, changes: Changes) -> None:
        with self._lock:
            concerned = [
                tell
                for tell, ids in self._waiting.items()
                if UNKNOWN in changes.topics or not changes.ended.isdisjoint(ids)
            ]
        for tell in concerned:
            tell()


def refuse_to_block(what: str) -> None:
    """Refuse a blocking wait in a coroutine of a worker. It would block all coroutines there for ever."""
    from holdfast.tasks.coroutine_thread import is_coroutines_thread

    if is_coroutines_thread():
        raise InvalidInput(f"a coroutine task must `await` {what} it waits for, or every coroutine here stands still")


def warn_if_unattended(found: Why) -> bool | None:
    """Warn if a caller waits for a job that no worker would run; usually `with hf:` is missing. None: ask again."""
    if any(gate.gate == "worker" for gate in found.closed):
        log.warning("somebody waits for a job that nobody runs: %s", found)
        return True
    return False if not found.gates else None


class Countdown:
    """The real seconds left of a time-out. It does not use the injected clock."""

    def __init__(self, timeout: float | None) -> None:
        self._until = None if timeout is None else monotonic() + timeout

    def seconds(self) -> float:
        """How many are left. Infinite without a time-out."""
        return float("inf") if self._until is None else max(0.0, self._until - monotonic())


def has_ended(job: Job) -> bool:
    """Whether the job is in a terminal state."""
    return job.state.name in TERMINAL
