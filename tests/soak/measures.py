"""What is measured of a daemon and its workers while they run for long, and whether it stays as it was at first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import psutil
from msgspec import Struct

from tests.daemon.house import House

MIB = 1024 * 1024
MOST_WAL = 256 * MIB  # Above that, enqueues are refused.


class Sample(Struct, frozen=True):
    """One look: at all processes together, at the log of the database, and at the waits since the look before.

    `p99_ms` is the time from queued to running that 99 of 100 jobs did not exceed.
    """

    rss: int
    fds: int
    processes: int
    wal: int
    p99_ms: float
    started: int


class Part(Struct, frozen=True):
    """Some samples in one: the middle of each, and the largest log."""

    rss: float
    fds: float
    processes: float
    wal: int
    p99_ms: float

    def __str__(self) -> str:
        return (
            f"rss {self.rss / MIB:.0f} MiB, {self.fds:.0f} file descriptors, {self.processes:.0f} processes, "
            f"wal up to {self.wal / MIB:.1f} MiB, p99 {self.p99_ms:.0f} ms"
        )


def look(house: House, waits: Sequence[int]) -> Sample:
    """Measure now; `waits` are those of the jobs that were started since the last look."""
    rss = fds = processes = 0
    for known in house.everybody():
        try:
            process = psutil.Process(known.pid)
            command = process.cmdline()
            # Programs of the load, and commands that come and go, are none of ours.
            if "holdfast.cli" not in command:
                continue
            rss, fds, processes = rss + process.memory_info().rss, fds + process.num_fds(), processes + 1
        except psutil.NoSuchProcess:
            continue
    log = house.home.database.with_name(f"{house.home.database.name}-wal")
    wal = log.stat().st_size if log.exists() else 0
    ordered = sorted(waits)
    p99 = float(ordered[int(len(ordered) * 0.99)]) if ordered else 0.0
    return Sample(rss, fds, processes, wal, p99, len(ordered))


def together(samples: Sequence[Sample]) -> Part:
    """Many looks in one."""

    def middle(of: Callable[[Sample], float]) -> float:
        return median(map(of, samples))

    return Part(
        middle(lambda sample: sample.rss),
        middle(lambda sample: sample.fds),
        middle(lambda sample: sample.processes),
        max(sample.wal for sample in samples),
        middle(lambda sample: sample.p99_ms),
    )


def growth(first: Part, last: Part) -> list[str]:
    """What is worse at the end than it may be, compared with how it was at first."""
    bounds = (
        ("memory", last.rss, first.rss * 1.25 + 32 * MIB),
        ("file descriptors", last.fds, first.fds + 16),
        ("processes", last.processes, first.processes),
        ("the database's log", last.wal, min(MOST_WAL, first.wal * 2 + 64 * MIB)),
        ("the wait of 99 of 100 jobs", last.p99_ms, first.p99_ms * 3 + 500),
    )
    return [f"{name}: {found:.0f}, and at most {most:.0f} is fine" for name, found, most in bounds if found > most]
