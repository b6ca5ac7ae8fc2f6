"""The thread in which this process runs its loops. User code never runs here.

So a blocking call in the event loop of the caller blocks only the caller.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from holdfast.core.errors import HoldfastError, StoreError
from holdfast.core.messages.telemetry import RaisedError
from holdfast.hosting.signals import join
from holdfast.hosting.work_session import WorkSession

RESTART_PAUSE_S = 1.0

log = logging.getLogger("holdfast.embedded")


class SessionThread:
    """The thread of a work session. It opens another session if this one was taken for dead."""

    def __init__(self, make_session: Callable[[Callable[[], None]], WorkSession]) -> None:
        self._make_session = make_session
        self._ready = threading.Event()
        self._error: BaseException | None = None
        self._stop: Callable[[], None] = lambda: None
        self._hurry: Callable[[], None] = lambda: None
        self._patience = (5.0, 5.0)
        self._ended_by: RaisedError | None = None
        self._thread = threading.Thread(target=self._serve, name="holdfast", daemon=True)

    def start(self) -> None:
        """Return once the session works. Raise what kept it from that."""
        self._thread.start()
        self._ready.wait()
        if self._error is not None:
            self._thread.join()
            raise self._error

    def stop(self, short: float, grace: float, error: RaisedError | None = None) -> None:
        """Return once the session has stopped in order. `error` is the exception that ends it."""
        self._patience = (short, grace)
        self._ended_by = error
        self._stop()
        self.join()

    def join(self) -> None:
        """Wait for the end of a stop that is under way."""
        join(self._thread)

    def hurry(self) -> None:
        """Do not let the stop wait for runs any longer."""
        with suppress(RuntimeError):  # The stop has ended, and so has its event loop.
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
            session = self._make_session(lost.set)
            self._hurry = session.hurry
            try:
                await session.start()
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
                session.abandon()
            await session.stop(*self._patience, self._ended_by)


async def _first(*events: asyncio.Event) -> None:
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


def drain(make_session: Callable[[Callable[[], None]], WorkSession]) -> int:
    """Run everything that is ready, in a session of its own. It works inside a running event loop too."""

    async def work() -> int:
        lost = asyncio.Event()
        session = make_session(lost.set)
        try:
            await session.open()
            done = asyncio.create_task(session.drain())
            await asyncio.wait({done, asyncio.create_task(lost.wait())}, return_when=asyncio.FIRST_COMPLETED)
            if lost.is_set():
                done.cancel()
                session.abandon()
                raise StoreError("others took this session for dead and settled its runs; drain again")
            return await done
        finally:
            await session.close()

    with ThreadPoolExecutor(1, "holdfast-drain") as thread:
        return thread.submit(asyncio.run, work()).result()
