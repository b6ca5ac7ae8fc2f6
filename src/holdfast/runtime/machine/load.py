"""How busy the processors are with other work than Holdfast's."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from msgspec import Struct

from holdfast.core.machine.readings import LoadSeen

# A shorter time cannot be measured: seconds of all processors together, for each of them.
SHORTEST_S = 2.0


class CpuTimes(Struct, frozen=True):
    """Seconds of processors since some start: all, those in use, and those in use for this process."""

    processors: int
    total: float
    busy: float
    own: float


class CpuLoad:
    """The share of the processors in use since the last look, without this process and what it started.

    Otherwise the first job that waited for an idle machine would make it busy for the next one.
    """

    tells: ClassVar[str] = "load"
    is_cheap: ClassVar[bool] = True

    def __init__(self, measure: Callable[[], CpuTimes] | None = None) -> None:
        self._measure = measure or cpu_times
        self._before: CpuTimes | None = None
        self._last: LoadSeen | None = None

    def look(self) -> LoadSeen | None:
        """None at the first look, when there is nothing to compare with."""
        now, before = self._measure(), self._before
        if before is None or now.total < before.total:
            self._before, self._last = now, None
            return None
        total = now.total - before.total
        if total < SHORTEST_S * now.processors:
            return self._last
        own = max(0.0, now.own - before.own)
        share = min(1.0, max(0.0, (now.busy - before.busy - own) / total))
        self._before, self._last = now, LoadSeen("load", share)
        return self._last


def cpu_times() -> CpuTimes:
    """As the system counts them."""
    import psutil

    times = psutil.cpu_times()
    # On Linux, what guests use is counted as `user` as well.
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    total = sum(times) - guests
    return CpuTimes(psutil.cpu_count() or 1, total, total - times.idle - getattr(times, "iowait", 0.0), _own())


def _own() -> float:
    import psutil

    this = psutil.Process()
    used = 0.0
    for process in [this, *this.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        used += times.user + times.system + times.children_user + times.children_system
    return used
