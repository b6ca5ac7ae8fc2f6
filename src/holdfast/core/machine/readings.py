"""What sources tell about a machine at one moment, part by part, and how it can be simulated."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypedDict

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.rules.number_rules import Size, Whole
from holdfast.core.rules.value_rules import FLAG

SIMULATED = "simulated"
EVER: Millis = 100 * 365 * 86_400_000
HOTTEST = 150
# A smaller one is a number of MiB without its unit: the file has that size at once.
WAL = Size(1 << 20, 1 << 40, may_be_none=True)


class BatteryStatus(StrEnum):
    """What a battery says about itself."""

    CHARGING = "Charging"
    FULL = "Full"
    NOT_CHARGING = "Not charging"
    DISCHARGING = "Discharging"
    UNKNOWN = "Unknown"


class Battery(Struct, frozen=True):
    """One battery that the machine can run on."""

    percent: float | None = None
    status: BatteryStatus = BatteryStatus.UNKNOWN


class InputSeen(Struct, frozen=True):
    """How long the keyboard, the mouse and the terminals were not used."""

    source: str
    idle_ms: Millis


class LoadSeen(Struct, frozen=True):
    """How much of all processors is in use, from 0 to 1, without what Holdfast itself runs."""

    source: str
    share: float


class PowerSeen(Struct, frozen=True):
    """Where the power comes from. `on_ac` is None if no adapter tells."""

    source: str
    on_ac: bool | None = None
    batteries: tuple[Battery, ...] = ()

    @property
    def percent(self) -> float | None:
        """How full the batteries are on average. None if none of them tells."""
        told = [battery.percent for battery in self.batteries if battery.percent is not None]
        return sum(told) / len(told) if told else None

    @property
    def supply(self) -> tuple[bool, str]:
        """Whether the machine has mains power, and its power in words."""
        states = {battery.status for battery in self.batteries}
        if self.on_ac:
            return True, "on AC"
        if not states:
            return True, "no battery"
        if BatteryStatus.CHARGING in states:
            return True, "charging"
        if BatteryStatus.DISCHARGING in states or self.on_ac is False:
            return False, "discharging"
        if BatteryStatus.UNKNOWN in states:
            return False, "on battery, and nothing tells of an adapter"
        return True, "on AC"


class CpuSeen(Struct, frozen=True):
    """How much of all processors was in use over the last seconds, from 0 to 1.

    `share` is of everything on the machine, `others` of programs that Holdfast did not start. None: not known.
    """

    source: str
    share: float
    others: float | None = None


class MemorySeen(Struct, frozen=True):
    """How much of the memory programs could still have, from 0 to 1."""

    source: str
    available: float


class HeatSeen(Struct, frozen=True):
    """How hot the processors are, in °C, and whether they have slowed down because of that."""

    source: str
    celsius: float | None = None
    is_throttling: bool = False


class GpuSeen(Struct, frozen=True):
    """How busy the busiest GPU is, from 0 to 1."""

    source: str
    share: float


class DiskSeen(Struct, frozen=True):
    """What is free of the disks that matter: the smallest share, from 0 to 1, and the fewest bytes."""

    source: str
    free: float
    free_bytes: int | None = None


class WalSeen(Struct, frozen=True):
    """The size of the write-ahead log of a SQLite file, in bytes."""

    source: str
    size: int


class SeenReadings(Struct, frozen=True, kw_only=True):
    """What sources told, part by part. None: no source tells it."""

    input: InputSeen | None = None
    load: LoadSeen | None = None
    power: PowerSeen | None = None
    cpu: CpuSeen | None = None
    memory: MemorySeen | None = None
    heat: HeatSeen | None = None
    gpu: GpuSeen | None = None
    disk: DiskSeen | None = None
    wal: WalSeen | None = None

    def over(self, other: SeenReadings) -> SeenReadings:
        """These readings, and those that only the other one has."""
        return SeenReadings(**{part: getattr(self, part) or getattr(other, part) for part in PARTS})


PARTS = SeenReadings.__struct_fields__


class SimulatedReadings(TypedDict, total=False):
    """What a machine can be made to look like, by name. None: as it really is."""

    idle: bool | None
    charging: bool | None
    battery: int | None
    cpu: int | None
    memory: int | None
    heat: int | None
    throttling: bool | None
    gpu: int | None
    disk: int | None
    wal: int | None


class Simulation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the machine is made to look like. None: as it really is.

    `cpu` and `gpu` are how busy these are, `memory` and `disk` what is free of them, `battery` its charge, all in
    percent; `heat` is in °C, and `wal` is the size of the write-ahead log in bytes.
    """

    idle: bool | None = None
    charging: bool | None = None
    battery: int | None = None
    cpu: int | None = None
    memory: int | None = None
    heat: int | None = None
    throttling: bool | None = None
    gpu: int | None = None
    disk: int | None = None
    wal: int | None = None

    def __post_init__(self) -> None:
        for name in SWITCHES:
            if (flag := getattr(self, name)) is not None:
                FLAG.check(name, flag)
        for name, rule in NUMBERS.items():
            if (number := getattr(self, name)) is not None:
                rule.check(name, number)
        if self.wal is not None:
            WAL.bytes("wal", self.wal)

    def __bool__(self) -> bool:
        return any(getattr(self, name) is not None for name in self.__struct_fields__)

    @property
    def seen(self) -> SeenReadings:
        """What the sources of such a machine would tell. A `battery` alone means a machine on battery."""
        has_heat = self.heat is not None or self.throttling is not None
        return SeenReadings(
            input=None if self.idle is None else InputSeen(SIMULATED, EVER if self.idle else 0),
            power=self._power if self.charging is not None or self.battery is not None else None,
            cpu=None if self.cpu is None else CpuSeen(SIMULATED, self.cpu / 100),
            memory=None if self.memory is None else MemorySeen(SIMULATED, self.memory / 100),
            heat=HeatSeen(SIMULATED, self.heat, bool(self.throttling)) if has_heat else None,
            gpu=None if self.gpu is None else GpuSeen(SIMULATED, self.gpu / 100),
            disk=None if self.disk is None else DiskSeen(SIMULATED, self.disk / 100),
            wal=None if self.wal is None else WalSeen(SIMULATED, self.wal),
        )

    @property
    def _power(self) -> PowerSeen:
        status = BatteryStatus.CHARGING if self.charging else BatteryStatus.DISCHARGING
        has_battery = self.battery is not None or not self.charging
        return PowerSeen(SIMULATED, bool(self.charging), (Battery(self.battery, status),) if has_battery else ())


SWITCHES = ("idle", "charging", "throttling")
_PERCENT = Whole(0, 100, "a whole number of percent, from 0 to 100")
NUMBERS: dict[str, Whole] = {
    "battery": _PERCENT,
    "cpu": _PERCENT,
    "memory": _PERCENT,
    "heat": Whole(0, HOTTEST, f"a whole number of °C, from 0 to {HOTTEST}"),
    "gpu": _PERCENT,
    "disk": _PERCENT,
    "wal": Whole(0, WAL.high),
}


def is_simulated(told: Any) -> bool:
    """Whether a part of what was seen is simulated."""
    return told is not None and told.source == SIMULATED
