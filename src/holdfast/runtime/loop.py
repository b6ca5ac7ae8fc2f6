"""The protocol of all loops: what a loop waits for, and what one tick does. It is woken instead of polling."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress

from holdfast.core.errors import HoldfastError
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Changes

log = logging.getLogger("holdfast.runtime")

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0


class Loop(ABC):
    """Ticks, waits as long as the tick said or until it is woken, and goes on after errors."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._runs_in: asyncio.AbstractEventLoop | None = None
        self._forget_clock: Callable[[], None] = lambda: None
        self._stopping = False
        self._failures = 0

    @property
    def name(self) -> str:
        """Its name in logs."""
        return type(self).__name__.lower()

    @property
    def longest_pause(self) -> float:
        """How many seconds it waits at most to try again after failures."""
        return LONGEST_PAUSE_S

    @abstractmethod
    async def tick(self) -> float | None:
        """Do what is due. Return in how many seconds to tick again, or None to wait for a wake-up."""

    def start(self) -> None:
        """Begin to tick, in the running event loop."""
        self._runs_in = asyncio.get_running_loop()
        self._forget_clock = self.clock.on_change(self.wake_soon)
        self._task = asyncio.create_task(self._run(), name=f"holdfast-{self.name}")

    async def stop(self) -> None:
        """Let the current tick end, and begin no other."""
        self._forget_clock()
        self._forget_clock = lambda: None
        self._stopping = True
        self._woken.set()
        if self._task is not None:
            await self._task

    def wake(self) -> None:
        """Tick now. Call it from the event loop's own thread."""
        self._woken.set()

    def wake_soon(self) -> None:
        """Tick soon, if it was started. Called from any thread."""
        if self._runs_in is not None:
            with suppress(RuntimeError):  # The event loop has come to its end.
                self._runs_in.call_soon_threadsafe(self.wake)

    def heed(self, changes: Changes) -> None:  # noqa: B027  # most loops have their own moments
        """Hear what a commit has changed. Called from any thread."""

    async def _run(self) -> None:
        while not self._stopping:
            self._woken.clear()
            pause = await self._tick_safely()
            await self._pause(pause)

    async def _tick_safely(self) -> float | None:
        try:
            pause = await self.tick()
        except Exception as error:
            if isinstance(error, HoldfastError):
                log.warning("%s: %s", self.name, error)
            else:
                log.exception("%s failed", self.name)
            self._failures += 1
            return float(min(FIRST_PAUSE_S * 2 ** min(self._failures, 10), self.longest_pause))
        self._failures = 0
        return pause

    async def _pause(self, seconds: float | None) -> None:
        if self._stopping:
            return
        # After a failure it waits in real time: with a manual clock a broken loop would spin or hang.
        limit = seconds if self._failures else None if seconds is None else self.clock.timeout(seconds)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), limit)
