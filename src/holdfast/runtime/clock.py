"""The injected time: wall-clock milliseconds for what is stored, and a monotonic clock for durations."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from holdfast.core.job import Millis
from holdfast.store.boot_clock import boot_time


class Clock(Protocol):
    """What the loops know about time."""

    def now(self) -> Millis:
        """Milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back. On most systems they stand still while the machine sleeps."""

    def ahead(self) -> Millis:
        """How far `now` is ahead of the time since the boot, sleep included. It changes when the clock is set."""

    def timeout(self, seconds: float) -> float | None:
        """How long to really wait for `seconds` to pass. None: until the clock is moved."""

    def doubt(self) -> str | None:
        """Why this clock cannot be relied on now. None: it can."""

    def off_by(self) -> Millis:
        """How far the clock of this machine is ahead of this clock, if they differ."""

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when the clock was moved by hand. Call the result to end that."""


LOOK_MS: Millis = 100


class SystemClock:
    """The machine's clock."""

    def now(self) -> Millis:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def ahead(self) -> Millis:
        while True:
            before = boot_time()
            now = self.now()
            # A process that is stopped between the two readings would see a step.
            if boot_time() - before < LOOK_MS:
                return now - before

    def timeout(self, seconds: float) -> float | None:
        return seconds

    def doubt(self) -> str | None:
        return None

    def off_by(self) -> Millis:
        return 0

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None


class ManualClock:
    """A clock that stands still until it is told otherwise, for tests.

    >>> clock = ManualClock(datetime(2030, 1, 1, tzinfo=UTC))
    >>> clock.advance(timedelta(hours=1))
    >>> clock.now() == 1893456000000 + 3_600_000
    True
    """

    def __init__(self, start: datetime = datetime(2030, 1, 1, tzinfo=UTC)) -> None:
        self._lock = threading.Lock()
        self._now = int(start.timestamp() * 1000)
        self._elapsed = 0.0
        self._stepped: Millis = 0
        self._callbacks: list[Callable[[], None]] = []

    def now(self) -> Millis:
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    def ahead(self) -> Millis:
        return self._stepped

    def timeout(self, seconds: float) -> float | None:
        return 0.0 if seconds <= 0 else None

    def doubt(self) -> str | None:
        return None

    def off_by(self) -> Millis:
        return 0

    def advance(self, by: float | timedelta) -> None:
        """Let time pass, in seconds or as a timedelta."""
        seconds = _seconds(by)
        if seconds < 0:
            raise ValueError(f"time cannot pass backwards ({seconds} s); use step() to set the wall clock back")
        with self._lock:
            self._elapsed += seconds
            self._now += round(seconds * 1000)
        self._tell()

    def step(self, by: float | timedelta) -> None:
        """Set the wall clock forward or back without any time passing."""
        self._set(_seconds(by), is_step=True)

    def sleep(self, by: float | timedelta) -> None:
        """Let time pass while the machine sleeps: timers do not count it."""
        self._set(_seconds(by), is_step=False)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def _set(self, seconds: float, *, is_step: bool) -> None:
        millis = round(seconds * 1000)
        with self._lock:
            self._now += millis
            self._stepped += millis if is_step else 0
        self._tell()

    def _tell(self) -> None:
        for callback in list(self._callbacks):
            callback()


def _seconds(by: float | timedelta) -> float:
    return by.total_seconds() if isinstance(by, timedelta) else float(by)
