"""The clock of this machine that cannot be set: the time since its boot."""

from __future__ import annotations

import time

from holdfast.core.job import Millis

# Elsewhere the monotonic clock is the nearest. That of macOS goes on while the machine sleeps.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


def boot_time() -> Millis:
    """Milliseconds since the machine was started, sleep included."""
    if _SINCE_BOOT is None:
        return time.monotonic_ns() // 1_000_000
    return time.clock_gettime_ns(_SINCE_BOOT) // 1_000_000
