"""What the kernel's list of power supplies means, whatever machine it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.core.machine.readings import Battery, BatteryStatus, PowerSeen
from holdfast.runtime.machine.power import PsutilPower, SysfsPower


def look(root: Path, **supplies: dict[str, str]) -> PowerSeen | None:
    root.mkdir(exist_ok=True)
    for name, files in supplies.items():
        (root / name).mkdir()
        for file, text in files.items():
            (root / name / file).write_text(f"{text}\n")
    return SysfsPower(root).look()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "power_supply"


AC_ON, AC_OFF = {"type": "Mains", "online": "1"}, {"type": "Mains", "online": "0"}
MOUSE = {"type": "Battery", "scope": "Device", "status": "Discharging", "capacity": "50"}


def battery(status: str, capacity: str = "43") -> dict[str, str]:
    return {"type": "Battery", "present": "1", "status": status, "capacity": capacity}


def test_a_laptop_on_its_adapter(root: Path) -> None:
    found = look(root, AC=AC_ON, BAT0=battery("Charging"))
    assert found == PowerSeen("sysfs", True, (Battery(43.0, BatteryStatus.CHARGING),))


def test_a_laptop_on_its_batteries(root: Path) -> None:
    found = look(root, AC=AC_OFF, BAT0=battery("Discharging", "7"), BAT1=battery("Full", "100"))
    first, second = Battery(7.0, BatteryStatus.DISCHARGING), Battery(100.0, BatteryStatus.FULL)
    assert found == PowerSeen("sysfs", False, (first, second))


def test_one_of_several_adapters_is_enough(root: Path) -> None:
    found = look(root, AC=AC_OFF, usb1={"type": "USB", "online": "0"}, usb2={"type": "USB", "online": "1"})
    assert found == PowerSeen("sysfs", True)


def test_the_battery_of_a_mouse_and_one_that_is_not_there_do_not_count(root: Path) -> None:
    assert look(root, mouse=MOUSE, BAT1=battery("Unknown") | {"present": "0"}) == PowerSeen("sysfs")


def test_a_machine_without_supplies_has_no_battery(root: Path) -> None:
    assert look(root) == PowerSeen("sysfs")


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Not charging", BatteryStatus.NOT_CHARGING),
        ("Unknown", BatteryStatus.UNKNOWN),
        ("\N{PILE OF POO}", BatteryStatus.UNKNOWN),
    ],
)
def test_a_battery_says_how_it_is(root: Path, said: str, meant: BatteryStatus) -> None:
    assert look(root, BAT0=battery(said, "abc")) == PowerSeen("sysfs", None, (Battery(None, meant),))


def test_files_that_cannot_be_read_tell_nothing(root: Path) -> None:
    root.mkdir()
    for name in ("type", "online"):
        (root / "AC" / name).mkdir(parents=True)
    (root / "no folder").write_text("")
    half = {"type": "Battery"}
    assert look(root, BAT0=half) == PowerSeen("sysfs", None, (Battery(None, BatteryStatus.UNKNOWN),))


def test_without_such_a_list_another_source_is_asked(root: Path) -> None:
    assert SysfsPower(root).look() is None


def test_what_psutil_knows_of_this_machine_has_a_percentage() -> None:
    found = PsutilPower().look()
    assert found is None or all(cell.percent is not None for cell in found.batteries)
