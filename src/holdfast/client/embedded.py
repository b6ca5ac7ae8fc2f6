"""The engine room of embedded mode: the loops of this process, in a thread of their own.

A blocking call inside the caller's event loop therefore blocks only its caller, and user code never runs here.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from holdfast.client.shift import Shift
from holdfast.client.signals import join
from holdfast.core.errors import HoldfastError, StoreError

RESTART_PAUSE_S = 1.0

log = logging.getLogger("holdfast.embedded")


class EngineRoom:
    """The thread that a shift works in."""

    def __init__(self, make_shift: Callable[[Callable[[], None]], Shift]) -> None:
        self._make_shift = make_shift
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._stop: Callable[[], None] = lambda: None
        self._hurry: Callable[[], None] = lambda: None
        self._patience = (5.0, 5.0)
        self._thread = threading.Thread(target=self._serve, name="holdfast", daemon=True)

    def start(self) -> None:
        """Returns once the shift is at work, or raises what kept it from that."""
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            self._thread.join()
            raise self._error

    def stop(self, short: float, grace: float) -> None:
        """Returns once the shift has stopped in order."""
        self._patience = (short, grace)
        self._stop()
        self.join()

    def join(self) -> None:
        """Returns once a stop that is under way has come to its end."""
        join(self._thread)

    def hurry(self) -> None:
        """Cut the stop short that is under way."""
        with suppress(RuntimeError):  # It has come to its end, and so has its event loop.
            self._hurry()

    def _serve(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as error:
            self._error = error
            if self._ready.is_set():
                log.exception("embedded mode stopped")
            self._ready.set()

    async def _work(self) -> None:
        stopping, lost = asyncio.Event(), asyncio.Event()
        home = asyncio.get_running_loop()

        def stop() -> None:
            home.call_soon_threadsafe(stopping.set)

        self._stop = stop
        while not stopping.is_set():
            lost.clear()
            shift = self._make_shift(lost.set)
            self._hurry = shift.hurry
            try:
                await shift.start()
            except (HoldfastError, OSError) as error:
                if not self._ready.is_set():
                    raise
                log.error("cannot start anew: %s; trying again", error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), RESTART_PAUSE_S)
                continue
            self._ready.set()
            await _first(stopping, lost)
            if lost.is_set():
                log.error("others took this session for dead and settled its runs; starting a new one")
                shift.abandon()
            await shift.stop(*self._patience)


async def _first(*events: asyncio.Event) -> None:
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def drain(make_shift: Callable[[Callable[[], None]], Shift]) -> int:
    """Run everything that is ready in a shift of its own; works inside a running event loop too."""

    async def work() -> int:
        lost = asyncio.Event()
        shift = make_shift(lost.set)
        try:
            await shift.open()
            done = asyncio.create_task(shift.drain())
            await asyncio.wait({done, asyncio.create_task(lost.wait())}, return_when=asyncio.FIRST_COMPLETED)
            if lost.is_set():
                done.cancel()
                shift.abandon()
                raise StoreError("others took this session for dead and settled its runs; drain again")
            return await done
        finally:
            await shift.close()

    with ThreadPoolExecutor(1, "holdfast-drain") as thread:
        return thread.submit(asyncio.run, work()).result()
