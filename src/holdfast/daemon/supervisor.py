"""Keeps worker processes alive. User code never runs in the daemon itself.

Each place for a worker has a lock that its process holds for life. A worker that outlived an earlier daemon goes on in
its place; another one starts there only when it has ended.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from contextlib import suppress

from holdfast.store.locks import is_locked
from holdfast.wire.home import HOME, Home
from holdfast.wire.places import Place, lock_of, occupant

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
LIVED_WELL_S = 10.0
CRASH_LOOP = 5
LOOK_S = 0.2

log = logging.getLogger("holdfast.supervisor")


class Supervisor:
    """Fills every place, and fills it again when its worker ends, ever more slowly if that happens at once."""

    def __init__(self, home: Home, places: list[Place], environment: dict[str, str] | None = None) -> None:
        self._home = home
        self._places = places
        self._environment = {**os.environ, **(environment or {}), HOME: str(home.folder)}
        self._stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.restarts = 0
        self.crash_loops: dict[str, int] = {}

    def start(self) -> None:
        """Begin."""
        self._tasks = [asyncio.create_task(self._keep(place)) for place in self._places]

    async def stop(self, patience: float) -> None:
        """Ask every worker to stop in order, and end those that do not within `patience` seconds."""
        self._stopping.set()
        self._signal_all(signal.SIGTERM)
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=patience)
            if late:
                log.warning("%d workers do not stop; they are killed", len(late))
                self._signal_all(signal.SIGKILL)
                await asyncio.wait(late)

    def hurry(self) -> None:
        """Wait for no job any longer."""
        self._signal_all(signal.SIGTERM)

    def _signal_all(self, number: signal.Signals) -> None:
        for place in self._places:
            there = occupant(self._home, place.name)
            if there is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(there.pid, number)

    async def _keep(self, place: Place) -> None:
        await self._outlast_predecessor(place)
        failures = 0
        while not self._stopping.is_set():
            started = time.monotonic()
            code = await self._run_one(place)
            if self._stopping.is_set():
                return
            lived = time.monotonic() - started
            failures = 0 if lived >= LIVED_WELL_S else failures + 1
            pause = min(FIRST_PAUSE_S * 2 ** max(0, failures - 1), LONGEST_PAUSE_S)
            self._report(place, code, lived, failures, pause)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)

    def _report(self, place: Place, code: int, lived: float, failures: int, pause: float) -> None:
        self.restarts += 1
        said = f"ended with code {code}" if code >= 0 else f"was killed by {signal.Signals(-code).name}"
        extra = {"event": "worker_ended", "worker": place.name, "exit_code": code}
        log.warning("worker %s %s after %.1f s; it starts again in %.1f s", place.name, said, lived, pause, extra=extra)
        if failures >= CRASH_LOOP:
            self.crash_loops[place.name] = failures
            extra = {"event": "worker_crash_loop", "worker": place.name}
            log.error("worker %s has ended %d times in a row right after its start", place.name, failures, extra=extra)
        else:
            self.crash_loops.pop(place.name, None)

    async def _outlast_predecessor(self, place: Place) -> None:
        """A worker of an earlier daemon keeps its place for as long as it lives; one with other code is asked to go."""
        there = occupant(self._home, place.name)
        if there is None:
            return
        if there.words == place.words:
            log.info("worker %s (pid %d) lives on from before", place.name, there.pid)
        else:
            log.info("worker %s (pid %d) runs other code; it is asked to stop", place.name, there.pid)
            with suppress(ProcessLookupError, PermissionError):
                os.kill(there.pid, signal.SIGTERM)
        # It is not our child: its lock is all that tells of its end.
        while is_locked(str(lock_of(self._home, place.name))):
            await asyncio.sleep(LOOK_S)

    async def _run_one(self, place: Place) -> int:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "holdfast.cli",
            "worker",
            "--place",
            place.name,
            *place.words,
            stdin=asyncio.subprocess.DEVNULL,
            env=self._environment,
            # A Ctrl-C in the terminal is for the daemon, which then asks its workers in order.
            start_new_session=True,
        )
        if self._stopping.is_set():
            # It came too late to hear of the stop.
            process.terminate()
        return await process.wait()
