"""Calls that are refused for now: they are repeated when the refusal says so, up to a limit."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from holdfast.core.errors import HoldfastError
from holdfast.runtime.clock import Clock

T = TypeVar("T")

PATIENCE_S = 30.0

log = logging.getLogger("holdfast.client")


class Patience:
    """How long each call of a program waits in all. 0: not at all."""

    def __init__(self, clock: Clock, seconds: float = PATIENCE_S) -> None:
        self._clock = clock
        self._seconds = seconds

    def ask(self, call: Callable[[], T]) -> T:
        """Call, and call again when a refusal says so. After the limit, raise the refusal."""
        try:
            return call()
        except HoldfastError as error:
            refused = error
            if error.retry_after is None or self._seconds <= 0 or _is_in_the_way():
                raise
        waiting = RefusedCall(self._clock, self._seconds, refused)
        while True:
            waiting.sleep(refused)
            try:
                return call()
            except HoldfastError as error:
                refused = error

    async def aask(self, call: Callable[[], Awaitable[T]]) -> T:
        """The awaitable twin of `ask`."""
        try:
            return await call()
        except HoldfastError as error:
            refused = error
            if error.retry_after is None or self._seconds <= 0:
                raise
        waiting = RefusedCall(self._clock, self._seconds, refused)
        while True:
            await waiting.asleep(refused)
            try:
                return await call()
            except HoldfastError as error:
                refused = error


class RefusedCall:
    """One call that was refused. Its time is that of the clock. While that stands still, real time counts as well."""

    def __init__(self, clock: Clock, seconds: float, refused: HoldfastError) -> None:
        self._clock = clock
        self._until = clock.monotonic() + seconds
        self._really_until = monotonic() + seconds
        log.warning("waiting for room, %g seconds at most: %s", seconds, refused)

    def sleep(self, refused: HoldfastError) -> None:
        """Sleep until it is time to ask again. Raise the refusal if there is no such time."""
        again_at = self._again_at(refused)
        moved = threading.Event()
        leave = self._clock.on_change(moved.set)
        try:
            while (left := self._left(again_at)) > 0:
                moved.wait(left)
                moved.clear()
        finally:
            leave()

    async def asleep(self, refused: HoldfastError) -> None:
        """The awaitable twin of `sleep`."""
        import asyncio

        again_at = self._again_at(refused)
        loop, moved = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(moved.set)

        leave = self._clock.on_change(tell)
        try:
            while (left := self._left(again_at)) > 0:
                with suppress(TimeoutError):
                    await asyncio.wait_for(moved.wait(), left)
                moved.clear()
        finally:
            leave()

    def _again_at(self, refused: HoldfastError) -> float:
        now = self._clock.monotonic()
        if refused.retry_after is None or now >= self._until or monotonic() >= self._really_until:
            raise refused
        return min(now + refused.retry_after, self._until)

    def _left(self, again_at: float) -> float:
        """How many real seconds to wait before looking at the clock again."""
        left = again_at - self._clock.monotonic()
        really = max(0.0, self._really_until - monotonic())
        if left <= 0:
            return 0.0
        limit = self._clock.timeout(left)
        return really if limit is None else min(limit, really)


def _is_in_the_way() -> bool:
    """Whether a sleep here would block every coroutine of a worker. Imported late: the command line has no worker."""
    from holdfast.tasks.coroutine_thread import is_coroutines_thread

    return is_coroutines_thread()
