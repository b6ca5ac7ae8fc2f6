"""The life of a `Holdfast`: from when this program begins to run jobs until it has stopped in order."""

from __future__ import annotations

import asyncio
import atexit
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Self

from holdfast.client.durations import Duration, to_millis
from holdfast.client.embedded import EngineRoom, drain
from holdfast.client.shift import Shift
from holdfast.client.signals import heeding_signals, wait_for
from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import InvalidInput
from holdfast.workers.coroutine_thread import is_coroutines_thread

SHORT_WORK_S = 5.0
GRACE_S = 5.0


class Running:
    """The part of `Holdfast` that runs jobs: in the background, until a signal comes, or until none is ready."""

    _access: StoreAccess

    if TYPE_CHECKING:

        def _make_shift(self, on_lost: Callable[[], None]) -> Shift: ...

    def __init__(self) -> None:
        self._is_for_jobs = False
        self._room: EngineRoom | None = None
        self._leaving: EngineRoom | None = None
        self._asked_to_stop: SimpleQueue[None] = SimpleQueue()
        # The settings of a daemon may say otherwise for its workers.
        self._patience = {"short": SHORT_WORK_S, "grace": GRACE_S}

    @property
    def is_running(self) -> bool:
        """Whether this program runs jobs now."""
        return self._room is not None

    def start(self) -> None:
        """Begin to run jobs in the background of this program."""
        if self._room is not None:
            raise InvalidInput("this Holdfast runs already")
        room = EngineRoom(self._make_shift)
        room.start()
        self._room = room
        _running.add(self)

    async def astart(self) -> None:
        """The awaitable twin of `start`."""
        await asyncio.to_thread(self.start)

    def stop(self, *, short: Duration = SHORT_WORK_S, grace: Duration = GRACE_S) -> None:
        """Stop in order: claim nothing new, let work end for `short`, ask the rest to stop and give it `grace`."""
        patience = (to_millis("short", short) / 1000, to_millis("grace", grace) / 1000)
        if is_coroutines_thread():
            raise InvalidInput("a coroutine task must `await hf.astop()`, or it would wait for itself")
        self._asked_to_stop.put(None)
        room, self._leaving = self._room, self._room or self._leaving
        self._room = None
        if room is not None:
            room.stop(*patience)
            _running.discard(self)
        elif self._leaving is not None:
            self._leaving.join()

    async def astop(self, *, short: Duration = SHORT_WORK_S, grace: Duration = GRACE_S) -> None:
        """The awaitable twin of `stop`."""
        await asyncio.to_thread(self.stop, short=short, grace=grace)

    def run(self) -> None:
        """Run jobs until SIGINT, SIGTERM or a `stop()` elsewhere, then stop in order. A second signal hurries."""
        # Unlike an Event, this queue may be put to by a signal in the midst of a `get` of the same thread.
        asked = self._asked_to_stop = SimpleQueue[None]()
        self._is_for_jobs = True
        signals = 0

        def heed() -> None:
            nonlocal signals
            signals += 1
            room = self._room or self._leaving
            if signals > 1 and room is not None:
                room.hurry()
            asked.put(None)

        with heeding_signals(heed):
            self.start()
            wait_for(asked)
            if signals > 1:
                self.stop(short=0, grace=0)
            else:
                self.stop(**self._patience)
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
        if self._room is not None:
            raise InvalidInput("this Holdfast runs already; drain() is for one that does not")
        return drain(self._make_shift)

    async def adrain(self) -> int:
        """The awaitable twin of `drain`."""
        return await asyncio.to_thread(self.drain)

    def close(self) -> None:
        """Stop and let go of the database. A later use opens it again."""
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
        self.stop()

    async def __aenter__(self) -> Self:
        await self.astart()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.astop()

    def forget(self) -> object:
        """In a forked child nothing runs; the parent's threads are the parent's."""
        inherited = (self._room, self._leaving)
        self._room = self._leaving = None
        _running.discard(self)
        return inherited


_running: weakref.WeakSet[Running] = weakref.WeakSet()


def _stop_all() -> None:
    for one in list(_running):
        one.stop(short=0, grace=1)


# Python ends its thread pools before it calls what `atexit` knows, and without them nothing can stop in order.
getattr(threading, "_register_atexit", atexit.register)(_stop_all)
