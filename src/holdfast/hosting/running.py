"""The life of a `Holdfast`: from when this program begins to run jobs until it has stopped in order."""

from __future__ import annotations

import asyncio
import atexit
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from holdfast.apps.calling import error_of
from holdfast.core.errors import InvalidInput
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION
from holdfast.hosting.engine_access import EngineAccess
from holdfast.hosting.host_settings import GRACE_S, SHORT_WORK_S, HostSettings
from holdfast.hosting.session_thread import SessionThread, drain
from holdfast.hosting.signals import heeding_signals, wait_for
from holdfast.hosting.work_session import WorkSession
from holdfast.tasks.coroutine_thread import is_coroutines_thread

A = TypeVar("A", bound=EngineAccess)


class RunsJobs(ABC, Generic[A]):
    """Runs jobs: in the background, until a signal comes, or until none is ready."""

    def __init__(self, access: A) -> None:
        self._access = access
        self._is_for_jobs = False
        self._thread: SessionThread | None = None
        self._leaving: SessionThread | None = None
        self._asked_to_stop: SimpleQueue[None] = SimpleQueue()
        self._settings = HostSettings()

    @abstractmethod
    def _make_session(self, on_lost: Callable[[], None]) -> WorkSession:
        """The session to run jobs in. `on_lost` is called if others settle it as dead."""

    @property
    def is_running(self) -> bool:
        """Whether this program runs jobs now."""
        return self._thread is not None

    def start(self) -> None:
        """Begin to run jobs in the background of this program."""
        if self._thread is not None:
            raise InvalidInput("this Holdfast runs already")
        thread = SessionThread(self._make_session)
        thread.start()
        self._thread = thread
        _running.add(self)

    async def astart(self) -> None:
        """The awaitable twin of `start`."""
        await asyncio.to_thread(self.start)

    def stop(self, *, short: Duration = SHORT_WORK_S, grace: Duration = GRACE_S) -> None:
        """Stop in order: claim nothing new, let work end for `short`, ask the rest to stop and give it `grace`."""
        self._stop(DURATION.millis("short", short) / 1000, DURATION.millis("grace", grace) / 1000, None)

    def _stop(self, short: float, grace: float, ended_by: BaseException | None) -> None:
        """Stop in order. An exception that ends the program's work is kept with the session."""
        if is_coroutines_thread():
            raise InvalidInput("a coroutine task must `await hf.astop()`, or it would wait for itself")
        self._asked_to_stop.put(None)
        thread, self._leaving = self._thread, self._thread or self._leaving
        self._thread = None
        if thread is not None:
            thread.stop(short, grace, error_of(ended_by) if isinstance(ended_by, Exception) else None)
            _running.discard(self)
        elif self._leaving is not None:
            self._leaving.join()

    async def astop(self, *, short: Duration = SHORT_WORK_S, grace: Duration = GRACE_S) -> None:
        """The awaitable twin of `stop`."""
        await asyncio.to_thread(self.stop, short=short, grace=grace)

    def run(self) -> None:
        """Run jobs until SIGINT, SIGTERM or a `stop()` elsewhere, then stop in order. A second signal hurries."""
        # Unlike an Event, a signal handler may put into this queue while the same thread is in `get`.
        asked = self._asked_to_stop = SimpleQueue[None]()
        self._is_for_jobs = True
        signals = 0

        def heed() -> None:
            nonlocal signals
            signals += 1
            thread = self._thread or self._leaving
            if signals > 1 and thread is not None:
                thread.hurry()
            asked.put(None)

        with heeding_signals(heed):
            self.start()
            try:
                wait_for(asked)
            except Exception as error:
                self._stop(0, self._settings.grace, error)
                raise
            if signals > 1:
                self.stop(short=0, grace=0)
            else:
                self.stop(short=self._settings.short, grace=self._settings.grace)
        self._is_for_jobs = False

    async def arun(self) -> None:
        """Run jobs until this coroutine is cancelled, then stop in order."""
        await self.astart()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.shield(self.astop())

    def drain(self) -> int:
        """Run everything that is ready, and what becomes ready by that, then return how many runs there were.

        For tests and scripts: jobs whose time has not come by the clock stay where they are.
        """
        if self._thread is not None:
            raise InvalidInput("this Holdfast runs already; drain() is for one that does not")
        return drain(self._make_session)

    async def adrain(self) -> int:
        """The awaitable twin of `drain`."""
        return await asyncio.to_thread(self.drain)

    def close(self) -> None:
        """Stop, and close the database. A later use opens it again."""
        self.stop()
        self._access.engine.close()

    async def aclose(self) -> None:
        """The awaitable twin of `close`."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop(SHORT_WORK_S, GRACE_S, error)

    async def __aenter__(self) -> Self:
        await self.astart()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._stop, SHORT_WORK_S, GRACE_S, error)

    def forget(self) -> object:
        """In a forked child nothing runs: the threads are those of the parent."""
        inherited = (self._thread, self._leaving)
        self._thread = self._leaving = None
        _running.discard(self)
        return inherited


_running: weakref.WeakSet[RunsJobs[Any]] = weakref.WeakSet()


def _stop_all() -> None:
    for one in list(_running):
        one.stop(short=0, grace=1)


# Python ends its thread pools before it calls `atexit` functions, and without them nothing can stop in order.
getattr(threading, "_register_atexit", atexit.register)(_stop_all)
