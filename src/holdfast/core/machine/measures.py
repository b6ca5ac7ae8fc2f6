"""The thresholds of each reading of a machine: where its pressure rises, and where it falls."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.machine.readings import CpuSeen, DiskSeen, GpuSeen, HeatSeen, MemorySeen, PowerSeen, WalSeen


class Level(StrEnum):
    """The pressure of a reading."""

    CALM = "calm"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for calm, and one more for each level above."""
        return list(Level).index(self)


class Thresholds(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The thresholds of the readings. 0 turns one off.

    Shares are from 0 to 1, the batteries' charge is in percent. Busy processors press only if programs that Holdfast
    did not start use a share of at least `cpu_others`: what it runs need not make room for itself. A level rises after
    `enter_ms` and falls after `leave_ms`; `unplugged_ms` is how long heavy queues rest after the power was unplugged.
    """

    cpu: float = 0.8
    cpu_others: float = 0.2
    gpu: float = 0.8
    memory: float = 0.1
    battery: int = 30
    battery_critical: int = 10
    heat: float = 90.0
    wal: int = 256 << 20
    disk: float = 0.05
    disk_bytes: int = 1 << 30
    pull_interval_ms: Millis = 100
    enter_ms: Millis = 10_000
    leave_ms: Millis = 30_000
    unplugged_ms: Millis = 60_000


class Measured(Struct, frozen=True):
    """The level by the thresholds where it rises, the one by those where it falls, and the reading in words."""

    rises_to: Level
    falls_to: Level
    says: str


def _cpu(told: CpuSeen, limits: Thresholds) -> Measured:
    busy = _busy(told.share, limits.cpu, "the processors are")
    if told.others is None:
        return busy
    return Measured(
        busy.rises_to if told.others >= limits.cpu_others else Level.CALM,
        busy.falls_to if told.others >= limits.cpu_others / 2 else Level.CALM,
        f"{busy.says}, {told.others * 100:.0f} % with other programs",
    )


def _gpu(told: GpuSeen, limits: Thresholds) -> Measured:
    return _busy(told.share, limits.gpu, "the GPU is")


def _busy(share: float, limit: float, what: str) -> Measured:
    # From 80 % on, and until it is below 70 %.
    rises, falls = 0 < limit < share, 0 < limit * 7 / 8 <= share
    return Measured(_high(rises), _high(falls), f"{what} {share * 100:.0f} % busy")


def _memory(told: MemorySeen, limits: Thresholds) -> Measured:
    rises, falls = told.available < limits.memory, told.available < _above(limits.memory, 0.5)
    return Measured(_high(rises), _high(falls), f"only {told.available * 100:.0f} % of the memory is free")


def _battery(told: PowerSeen, limits: Thresholds) -> Measured:
    left = told.percent
    if told.supply[0] or left is None:
        return Measured(Level.CALM, Level.CALM, "")
    high, critical = limits.battery, limits.battery_critical
    # A little above where it rose: the charge of a battery wavers.
    return Measured(
        _critical(left < critical, left < high),
        _critical(critical > 0 and left < critical + 5, high > 0 and left < high + 5),
        f"it runs on battery with {left:.0f} % left",
    )


def _heat(told: HeatSeen, limits: Thresholds) -> Measured:
    if not limits.heat:
        return Measured(Level.CALM, Level.CALM, "")
    celsius = told.celsius or 0.0
    says = "it slows down because it is hot" if told.is_throttling else f"it is {celsius:.0f} °C hot"
    rises, falls = celsius > limits.heat, celsius > limits.heat - 5
    return Measured(_high(told.is_throttling or rises), _high(told.is_throttling or falls), says)


def _wal(told: WalSeen, limits: Thresholds) -> Measured:
    rises, falls = 0 < limits.wal < told.size, 0 < limits.wal < told.size * 2
    return Measured(_high(rises), _high(falls), f"the write-ahead log has grown to {in_words(told.size)}")


def _disk(told: DiskSeen, limits: Thresholds) -> Measured:
    says = _disk_says(told, limits)
    return Measured(_high(_is_full(told, limits, 0.0)), _high(_is_full(told, limits, 0.2)), says)


def _disk_says(told: DiskSeen, limits: Thresholds) -> str:
    """How much is free, and which of the two thresholds is reached, in words."""
    share, size = f"{told.free * 100:.0f} %", "" if told.free_bytes is None else in_words(told.free_bytes)
    if told.free >= limits.disk and size:
        return f"only {size} ({share}) of the disk is free, and {in_words(limits.disk_bytes)} is the least (disk_bytes)"
    both = f"{share} ({size})" if size else share
    return f"only {both} of the disk is free, and {limits.disk * 100:g} % is the least (disk)"


def _is_full(told: DiskSeen, limits: Thresholds, more: float) -> bool:
    return told.free < _above(limits.disk, more) or (
        told.free_bytes is not None and told.free_bytes < limits.disk_bytes * (1 + more)
    )


def _above(limit: float, part: float) -> float:
    """A share a little above a limit, but one that can be reached."""
    return limit + part * min(limit, 1 - limit)


# The part of `SeenReadings` that each reading uses.
MEASURES: dict[str, tuple[str, Callable[[Any, Thresholds], Measured]]] = {
    "cpu": ("cpu", _cpu),
    "gpu": ("gpu", _gpu),
    "memory": ("memory", _memory),
    "battery": ("power", _battery),
    "heat": ("heat", _heat),
    "wal": ("wal", _wal),
    "disk": ("disk", _disk),
}


def measured(reading: str, told: object, limits: Thresholds) -> Measured:
    """The pressure of a reading: `disk` with a DiskSeen, `wal` with a WalSeen and so on."""
    _, measure = MEASURES[reading]
    return measure(told, limits)


def in_words(size: int) -> str:
    """A number of bytes for people."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}" if size < 10 * unit else f"{size / unit:.0f} {name}"
    return f"{size} B"


def _high(is_so: bool) -> Level:
    return Level.HIGH if is_so else Level.CALM


def _critical(is_critical: bool, is_high: bool) -> Level:
    return Level.CRITICAL if is_critical else _high(is_high)
