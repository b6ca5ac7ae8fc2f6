"""Where the power comes from: the kernel's list of supplies, or what psutil knows of a battery."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from msgspec import Struct

from holdfast.core.machine.readings import Battery, BatteryStatus, PowerSeen

SUPPLIES = Path("/sys/class/power_supply")
STORES = ("Battery", "UPS")
_STATUSES = {status.value.lower(): status for status in BatteryStatus}


class SysfsPower(Struct, frozen=True):
    """Linux: a folder for each adapter and battery. The battery of a mouse does not count."""

    root: Path = SUPPLIES
    tells: ClassVar[str] = "power"
    is_cheap: ClassVar[bool] = True

    def look(self) -> PowerSeen | None:
        """The adapters and batteries. None if there is no such list."""
        try:
            supplies = sorted(self.root.iterdir())
        except OSError:
            return None
        online: list[bool] = []
        batteries: list[Battery] = []
        for supply in supplies:
            kind = _read(supply, "type")
            if kind is None or _read(supply, "scope") == "Device" or _read(supply, "present") == "0":
                continue
            if kind in STORES:
                batteries.append(_battery(supply))
            elif (said := _read(supply, "online")) is not None:
                online.append(said != "0")
        return PowerSeen("sysfs", any(online) if online else None, tuple(batteries))


class PsutilPower(Struct, frozen=True):
    """Where psutil knows the battery, as on macOS."""

    tells: ClassVar[str] = "power"
    is_cheap: ClassVar[bool] = True

    def look(self) -> PowerSeen | None:
        """The battery. None if nothing is known of any."""
        import psutil

        battery = psutil.sensors_battery() if hasattr(psutil, "sensors_battery") else None
        if battery is None:
            return None
        plugged: bool | None = battery.power_plugged
        status = BatteryStatus.UNKNOWN if plugged is not False else BatteryStatus.DISCHARGING
        return PowerSeen("psutil", plugged, (Battery(float(battery.percent), status),))


def _battery(supply: Path) -> Battery:
    try:
        percent = min(100.0, max(0.0, float(_read(supply, "capacity") or "")))
    except ValueError:
        percent = None
    return Battery(percent, _STATUSES.get((_read(supply, "status") or "").lower(), BatteryStatus.UNKNOWN))


def _read(supply: Path, name: str) -> str | None:
    """The contents of a file. That of a supply that is being unplugged cannot be read."""
    try:
        return (supply / name).read_text("utf-8", "replace").strip()
    except OSError:
        return None
