"""The sources of pressure: processors, memory, heat, the GPU, the disks and the write-ahead log."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from holdfast.core.machine.readings import CpuSeen, DiskSeen, GpuSeen, HeatSeen, MemorySeen, WalSeen
from holdfast.runtime.machine import load, system_programs
from holdfast.runtime.machine.load import CpuTimes

# The share of the processors is measured over so many seconds.
WINDOW_S = 10.0
# A look at the GPU starts a program.
GPU_EVERY_S = 30.0
SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal", "acpitz")
THROTTLED = Path("/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count")


class CpuBusy:
    """The share of the processors in use over the last seconds: by all programs, and by others than Holdfast."""

    tells: ClassVar[str] = "cpu"
    is_cheap: ClassVar[bool] = True

    def __init__(
        self, measure: Callable[[], CpuTimes] | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._measure = measure or load.cpu_times
        self._monotonic = monotonic
        self._before: tuple[float, CpuTimes] | None = None
        self._last: CpuSeen | None = None

    def look(self) -> CpuSeen | None:
        """None in the first seconds, when there is nothing to compare with."""
        at, now = self._monotonic(), self._measure()
        if self._before is None or now.total <= self._before[1].total:
            self._before, self._last = (at, now), None
        elif at - self._before[0] >= WINDOW_S * 0.9:
            before = self._before[1]
            busy, own = now.busy - before.busy, max(0.0, now.own - before.own)
            share, others = (_share(seconds / (now.total - before.total)) for seconds in (busy, busy - own))
            self._before, self._last = (at, now), CpuSeen("psutil", share, others)
        return self._last


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


class MemoryLeft(Struct, frozen=True):
    """The memory that programs could still have without swapping."""

    tells: ClassVar[str] = "memory"
    is_cheap: ClassVar[bool] = True

    def look(self) -> MemorySeen:
        """The share of all memory."""
        import psutil

        memory = psutil.virtual_memory()
        return MemorySeen("psutil", memory.available / memory.total)


class Heat:
    """How hot the processors are, if the system tells. On Linux also whether they slow down because of that."""

    tells: ClassVar[str] = "heat"
    is_cheap: ClassVar[bool] = True

    def __init__(self, throttled: Path = THROTTLED) -> None:
        self._throttled = throttled
        self._count: int | None = None

    def look(self) -> HeatSeen | None:
        """The hottest processor. None if nothing is known."""
        hottest, is_throttling = self._hottest(), self._is_throttling()
        return None if hottest is None and self._count is None else HeatSeen("sensors", hottest, is_throttling)

    def _hottest(self) -> float | None:
        import psutil

        if not hasattr(psutil, "sensors_temperatures"):
            return None
        found = psutil.sensors_temperatures()
        return max((one.current for name in SENSORS for one in found.get(name, ())), default=None)

    def _is_throttling(self) -> bool:
        """Whether the processors were slowed down since the last look. The kernel counts that."""
        before, self._count = self._count, None
        with suppress(OSError, ValueError):
            self._count = int(self._throttled.read_text())
        return before is not None and self._count is not None and self._count > before


class NvidiaSmi:
    """The busiest GPU, if `nvidia-smi` is installed. It is asked seldom."""

    tells: ClassVar[str] = "gpu"
    is_cheap: ClassVar[bool] = True

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._program = shutil.which("nvidia-smi")
        self._asked_at: float | None = None
        self._last: GpuSeen | None = None

    def look(self) -> GpuSeen | None:
        """Its share in use. None if there is no GPU."""
        if self._program is None:
            return None
        now = self._monotonic()
        if self._asked_at is None or now - self._asked_at >= GPU_EVERY_S:
            self._asked_at = now
            said = (
                system_programs.output_of(self._program, "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits")
                or ""
            )
            shares = [int(line) for line in said.split() if line.isdigit()]
            self._last = GpuSeen("nvidia-smi", min(100, max(shares)) / 100) if shares else None
        return self._last


class DisksLeft(Struct, frozen=True):
    """The disks that hold these folders: the smallest share and the fewest bytes that one of them has left."""

    folders: tuple[Path, ...]
    tells: ClassVar[str] = "disk"
    is_cheap: ClassVar[bool] = True

    def look(self) -> DiskSeen | None:
        """What is free. None if none of them can be read."""
        free: list[tuple[float, int]] = []
        for folder in self.folders:
            with suppress(OSError):
                usage = shutil.disk_usage(_existing(folder))
                if usage.total:
                    free.append((usage.free / usage.total, usage.free))
        return DiskSeen("disk", *map(min, zip(*free, strict=True))) if free else None


class WalSize(Struct, frozen=True):
    """The write-ahead log of a SQLite file."""

    database: str
    tells: ClassVar[str] = "wal"
    is_cheap: ClassVar[bool] = True

    def look(self) -> WalSeen:
        """Its size. 0 if there is none."""
        try:
            return WalSeen("file", os.stat(f"{self.database}-wal").st_size)
        except OSError:
            return WalSeen("file", 0)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next((one for one in (folder, *folder.parents) if one.exists()), folder)
