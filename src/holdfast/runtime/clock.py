"""Time, injected. Wall-clock milliseconds for what is stored, a monotonic clock for how long things take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

from holdfast.core.job import Millis


class Clock(Protocol):
    """What the loops know about time."""

    def now(self) -> Millis:
        """Milliseconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back; while the machine sleeps they stand still where the system lets them."""

    def timeout(self, seconds: float) -> float | None:
        """How long to really wait for `seconds` to pass; None: until somebody moves the clock."""

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` when the clock was moved by hand; returns the way out."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> Millis:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()

    def timeout(self, seconds: float) -> float | None:
        return seconds

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
        self._callbacks: list[Callable[[], None]] = []

    def now(self) -> Millis:
        return self._now

    def monotonic(self) -> float:
        return self._elapsed

    def timeout(self, seconds: float) -> float | None:
        return 0.0 if seconds <= 0 else None

    def advance(self, by: float | timedelta) -> None:
        """Let time pass, in seconds or as a timedelta."""
        seconds = by.total_seconds() if isinstance(by, timedelta) else float(by)
        if seconds < 0:
            raise ValueError(f"time cannot pass backwards ({seconds} s); use step() to set the wall clock back")
        with self._lock:
            self._elapsed += seconds
            self._now += round(seconds * 1000)
        self._tell()

    def step(self, by: float | timedelta) -> None:
        """Set the wall clock forward or back without any time passing."""
        seconds = by.total_seconds() if isinstance(by, timedelta) else float(by)
        with self._lock:
            self._now += round(seconds * 1000)
        self._tell()

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback)

    def _tell(self) -> None:
        for callback in list(self._callbacks):
            callback()
