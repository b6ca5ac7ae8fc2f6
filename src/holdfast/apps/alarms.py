"""Calls functions of an event loop at moments of the injected monotonic clock."""

from __future__ import annotations

import asyncio
import heapq
import logging
from collections.abc import Callable
from itertools import count

from holdfast.core.job import Millis
from holdfast.runtime.clock import Clock

CROWDED = 1_000

log = logging.getLogger("holdfast.app")


class TimedCall:
    """A function that is called once, unless it is cancelled before."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[], None]) -> None:
        self._function: Callable[[], None] | None = function

    @property
    def is_set(self) -> bool:
        """Whether the function is still to be called."""
        return self._function is not None

    def cancel(self) -> None:
        """Do not call it."""
        self._function = None

    def ring(self) -> None:
        """Call it."""
        function, self._function = self._function, None
        if function is not None:
            function()


class Alarms:
    """Lives on one event loop. `check` is to be called there when the clock was moved by hand."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self._loop = loop
        self._clock = clock
        self._waiting: list[tuple[Millis, int, TimedCall]] = []
        self._order = count()
        self._timer: asyncio.TimerHandle | None = None
        self._crowded = CROWDED

    def now(self) -> Millis:
        """The moment by the monotonic clock, in milliseconds."""
        return int(self._clock.monotonic() * 1000)

    def set(self, moment: Millis, function: Callable[[], None]) -> TimedCall:
        """Call the function at this moment, or soon if it has passed."""
        alarm = TimedCall(function)
        if len(self._waiting) > self._crowded:
            # Most of them may be cancelled: those of calls that ended in time.
            self._waiting = [one for one in self._waiting if one[2].is_set]
            heapq.heapify(self._waiting)
            self._crowded = max(CROWDED, 2 * len(self._waiting))
        heapq.heappush(self._waiting, (moment, next(self._order), alarm))
        if self._waiting[0][2] is alarm:
            self._arm()
        return alarm

    def check(self) -> None:
        """Call what is due, then wait for the next."""
        now = self.now()
        try:
            while self._waiting and (self._waiting[0][0] <= now or not self._waiting[0][2].is_set):
                alarm = heapq.heappop(self._waiting)[2]
                try:
                    alarm.ring()
                except Exception:
                    log.exception("something that was due failed")
        finally:
            self._arm()

    def close(self) -> None:
        """Call nothing any more."""
        self._waiting.clear()
        self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting:
            return
        # A millisecond more, since `now` is rounded down.
        wait = self._clock.timeout(max(0, self._waiting[0][0] - self.now()) / 1000)
        if wait is not None:
            self._timer = self._loop.call_later(wait, self.check)
