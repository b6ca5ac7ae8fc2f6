"""What has happened in one place for workers, and how long to wait before the next one starts there."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from contextlib import suppress

from holdfast.wire.places import REPLACE_ME, WorkerPlace

LONGEST_PAUSE_S = 30.0
LIVED_WELL_S = 10.0
CRASH_LOOP = 5

log = logging.getLogger("holdfast.supervisor")


class PlaceHistory:
    """One place, and what has happened there."""

    def __init__(self, place: WorkerPlace, pause: float) -> None:
        self.place = place
        self._pause = pause
        self.process: asyncio.subprocess.Process | None = None
        self.is_leaving = asyncio.Event()
        self.stop_signal: signal.Signals | None = None
        self.keeping: asyncio.Task[None] | None = None
        self.removing: asyncio.Task[None] | None = None
        self._told: set[tuple[int, signal.Signals]] = set()
        self.started_at = 0.0
        self.restarts = 0
        self.failures = 0
        self.last_end: str | None = None
        self.last_words: str | None = None

    @property
    def own_pid(self) -> int | None:
        """The process that was started for it, while that lives."""
        return None if self.process is None or self.process.returncode is not None else self.process.pid

    @property
    def is_crash_looping(self) -> bool:
        """Whether its workers end right after their start, again and again."""
        lives_well = self.own_pid is not None and time.monotonic() - self.started_at >= LIVED_WELL_S
        return self.failures >= CRASH_LOOP and not lives_well

    def tell(self, pid: int, number: signal.Signals) -> None:
        """Send a signal to a process of this place, once: a second of its kind would mean something else."""
        if (pid, number) not in self._told:
            self._told.add((pid, number))
            send(pid, number)

    def note_start(self) -> None:
        """Note that a worker is started for it. Those before it have ended, and others may have their pids by now."""
        self.started_at = time.monotonic()
        self._told.clear()

    def ended(self, code: int, words: str | None) -> float:
        """Note the end of its worker, and its last words. Return how long to wait before the next one."""
        lived = time.monotonic() - self.started_at
        self.last_end = f"ended with code {code}" if code >= 0 else f"was killed by {_signal_name(-code)}"
        self.failures = 0 if lived >= LIVED_WELL_S or code == REPLACE_ME else self.failures + 1
        return self._again(f"{self.last_end} after {lived:.1f} s", words, {"event": "worker_ended", "exit_code": code})

    def not_started(self, why: str) -> float:
        """Note that no worker was started for it, and why. Return how long to wait before the next try."""
        self.last_end = "was not started"
        self.failures += 1
        return self._again(self.last_end, why, {"event": "worker_not_started"})

    def _again(self, end: str, words: str | None, event: dict[str, object]) -> float:
        """Report an end, or that there was no start. Return how long to wait."""
        name = self.place.name
        self.last_words = words
        self.restarts += 1
        pause = min(self._pause * 2 ** (self.failures - 1), LONGEST_PAUSE_S) if self.failures else 0.0
        why = f": {words}" if words else ""
        log.warning("worker %s %s%s; it starts again in %.1f s", name, end, why, pause, extra={**event, "worker": name})
        if self.failures >= CRASH_LOOP:
            extra = {"event": "worker_crash_loop", "worker": name}
            log.error("worker %s has ended %d times in a row right after its start", name, self.failures, extra=extra)
        return pause


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, if it is still there and ours."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
