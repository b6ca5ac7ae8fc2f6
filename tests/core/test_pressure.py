"""From when on a machine needs rest, for how long, and what follows from that."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.gates.pressure import (
    Effects,
    Holds,
    PendingLevels,
    Pressure,
    Refuses,
    changed,
    effects_of,
    is_held,
    is_paced,
    press,
    simulate_pressure,
)
from holdfast.core.gates.queue import QueueClass
from holdfast.core.machine.measures import Level, Thresholds
from holdfast.core.machine.readings import (
    Battery,
    BatteryStatus,
    CpuSeen,
    DiskSeen,
    GpuSeen,
    HeatSeen,
    MemorySeen,
    PowerSeen,
    SeenReadings,
    Simulation,
    WalSeen,
)

USUAL = Thresholds()
MIB = 1 << 20


class Watch:
    """A machine that is looked at time and again; seconds pass in between."""

    def __init__(self, **thresholds: Any) -> None:
        self.at = 0.0
        self.pressing: tuple[Pressure, ...] = ()
        self.pending = PendingLevels({})
        self.was_on_mains = True
        self.thresholds = Thresholds(**thresholds)

    def look(self, after: float = 10.0, **parts: Any) -> dict[str, str]:
        self.at += after
        seen = SeenReadings(**parts)
        self.pressing, self.pending = press(
            seen,
            self.pressing,
            self.pending,
            self.thresholds,
            was_on_mains=self.was_on_mains,
            at=self.at,
            now=round(self.at * 1000),
        )
        self.was_on_mains = seen.power is None or seen.power.supply[0]
        return {one.reading: one.level.value for one in self.pressing}


def on_battery(percent: float) -> PowerSeen:
    return PowerSeen("test", False, (Battery(percent, BatteryStatus.DISCHARGING),))


def first_look(**parts: Any) -> tuple[Pressure, ...]:
    return press(SeenReadings(**parts), (), PendingLevels(), USUAL, was_on_mains=False, at=0.0, now=0)[0]


@pytest.mark.parametrize(
    ("part", "told", "effects", "says"),
    [
        ("cpu", CpuSeen("t", 0.93), Effects(holds=Holds.HEAVY, pull_interval_ms=100), "the processors are 93 % busy"),
        ("gpu", GpuSeen("t", 0.9), Effects(holds=Holds.HEAVY, pull_interval_ms=100), "the GPU is 90 % busy"),
        ("memory", MemorySeen("t", 0.05), Effects(holds=Holds.HEAVY), "only 5 % of the memory is free"),
        ("heat", HeatSeen("t", 95.0), Effects(holds=Holds.HEAVY), "it is 95 °C hot"),
        ("heat", HeatSeen("t", None, True), Effects(holds=Holds.HEAVY), "it slows down because it is hot"),
        ("power", on_battery(15), Effects(holds=Holds.HEAVY), "it runs on battery with 15 % left"),
        ("power", on_battery(9), Effects(holds=Holds.ALL_BUT_LIGHT), "it runs on battery with 9 % left"),
        ("wal", WalSeen("t", 300 * MIB), Effects(refuses=Refuses.WAL), "the write-ahead log has grown to 300 MiB"),
        (
            "disk",
            DiskSeen("t", 0.02, 9 << 30),
            Effects(refuses=Refuses.DISK),
            "only 2 % (9.0 GiB) of the disk is free, and 5 % is the least (disk)",
        ),
        (
            "disk",
            DiskSeen("t", 0.99, 60 * MIB),
            Effects(refuses=Refuses.DISK),
            "only 60 MiB (99 %) of the disk is free, and 1.0 GiB is the least (disk_bytes)",
        ),
    ],
)
def test_what_presses_says_so_and_has_its_effect(part: str, told: Any, effects: Effects, says: str) -> None:
    pressing = first_look(**{part: told})
    assert (effects_of(pressing, USUAL), [one.says for one in pressing]) == (effects, [says])


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"cpu": CpuSeen("t", 0.8), "gpu": GpuSeen("t", 0.8), "memory": MemorySeen("t", 0.1)},
        {"cpu": CpuSeen("t", 1.0, 0.19)},
        {"heat": HeatSeen("t", 90.0), "wal": WalSeen("t", 256 * MIB), "disk": DiskSeen("t", 0.05, 1 << 30)},
        {"power": on_battery(30)},
        {"power": PowerSeen("t", True, (Battery(5, BatteryStatus.CHARGING),))},
    ],
)
def test_up_to_its_threshold_nothing_presses(parts: dict[str, Any]) -> None:
    assert first_look(**parts) == ()


def test_a_level_rises_at_one_threshold_and_falls_at_another() -> None:
    watch = Watch(leave_ms=0)
    assert [watch.look(cpu=CpuSeen("t", share)) for share in (0.85, 0.75, 0.69, 0.75)] == [
        {"cpu": "high"},
        {"cpu": "high"},
        {},
        {},
    ]


@pytest.mark.parametrize(
    ("limits", "bad", "good"),
    [
        ({"cpu": 0.1}, {"cpu": CpuSeen("t", 0.2)}, {"cpu": CpuSeen("t", 0.0)}),
        ({"gpu": 0.05}, {"gpu": GpuSeen("t", 0.2)}, {"gpu": GpuSeen("t", 0.0)}),
        ({"memory": 0.8}, {"memory": MemorySeen("t", 0.7)}, {"memory": MemorySeen("t", 0.95)}),
        ({"disk": 0.9}, {"disk": DiskSeen("t", 0.8)}, {"disk": DiskSeen("t", 0.95)}),
    ],
)
def test_whatever_the_threshold_is_a_level_can_end(
    limits: dict[str, float], bad: dict[str, Any], good: dict[str, Any]
) -> None:
    watch = Watch(enter_ms=0, leave_ms=0, **limits)
    assert list(watch.look(**bad)) == list(limits)
    assert watch.look(**good) == {}


def test_what_holdfast_runs_itself_does_not_make_the_processors_busy() -> None:
    watch = Watch(leave_ms=0)
    assert [watch.look(cpu=CpuSeen("t", 1.0, others)) for others in (0.15, 0.25, 0.15, 0.05)] == [
        {},
        {"cpu": "high"},
        {"cpu": "high"},
        {},
    ]
    says = [one.says for one in first_look(cpu=CpuSeen("t", 1.0, 0.4))]
    assert says == ["the processors are 100 % busy, 40 % with other programs"]


def test_a_moment_of_little_memory_is_nothing_and_ten_seconds_of_it_are() -> None:
    watch, little, much = Watch(), MemorySeen("t", 0.05), MemorySeen("t", 0.5)
    assert watch.look(memory=little) == {}
    assert watch.look(memory=much) == {}
    assert watch.look(memory=little) == {}
    assert watch.look(memory=little) == {"memory": "high"}


def test_pressure_is_over_only_when_that_has_lasted() -> None:
    watch, busy, calm = Watch(), CpuSeen("t", 0.9), CpuSeen("t", 0.1)
    assert watch.look(cpu=busy) == {"cpu": "high"}
    assert watch.look(20, cpu=calm) == watch.look(20, cpu=busy) == watch.look(20, cpu=calm) == {"cpu": "high"}
    assert watch.look(29, cpu=calm) == {"cpu": "high"}
    assert watch.look(1, cpu=calm) == {}


def test_a_source_that_falls_silent_does_not_press_for_ever() -> None:
    watch = Watch()
    watch.look(cpu=CpuSeen("t", 0.9))
    assert watch.look() == {"cpu": "high"}
    assert watch.look(30) == {}


def test_a_battery_that_empties_presses_more_and_more() -> None:
    watch = Watch()
    watch.was_on_mains = False
    found = [watch.look(60, power=on_battery(percent)) for percent in (40, 29, 9, 12, 16)]
    assert found == [{}, {"battery": "high"}, {"battery": "critical"}, {"battery": "critical"}, {"battery": "critical"}]
    assert watch.look(60, power=on_battery(16)) == {"battery": "high"}


def test_heavy_queues_rest_for_a_minute_after_the_power_was_unplugged() -> None:
    watch = Watch()
    assert watch.look(power=on_battery(90)) == {"power": "high"}
    assert effects_of(watch.pressing, USUAL).holds is Holds.HEAVY
    assert watch.look(59, power=on_battery(90)) == {"power": "high"}
    assert watch.look(1, power=on_battery(90)) == {}


def test_who_plugs_it_in_again_need_not_wait() -> None:
    watch = Watch()
    watch.look(power=on_battery(90))
    assert watch.look(1, power=PowerSeen("t", True)) == {}


@pytest.mark.parametrize(
    "off",
    [
        {"cpu": 0.0, "gpu": 0.0, "memory": 0.0, "heat": 0.0, "battery": 0, "battery_critical": 0}
        | {"wal": 0, "disk": 0.0, "disk_bytes": 0, "unplugged_ms": 0}
    ],
)
def test_a_threshold_of_nothing_is_off(off: dict[str, Any]) -> None:
    everything = Simulation(cpu=100, gpu=100, memory=0, heat=150, throttling=True, battery=0, wal=1 << 40, disk=0)
    pressed = press(everything.seen, (), PendingLevels(), Thresholds(**off), was_on_mains=True, at=0.0, now=0)[0]
    assert pressed == ()


def test_a_simulation_acts_at_once_and_what_is_really_so_stays() -> None:
    real = Pressure("memory", Level.HIGH, "little memory", 5)
    begun = simulate_pressure(
        SeenReadings(), Simulation(battery=15, charging=False).seen, [real], USUAL, was_on_mains=True, now=9
    )
    assert [(one.reading, one.is_simulated) for one in begun] == [("memory", False), ("battery", True), ("power", True)]
    ended = simulate_pressure(
        Simulation(battery=15, charging=False).seen, SeenReadings(), begun, USUAL, was_on_mains=False, now=10
    )
    assert ended == (real,)


def test_what_was_simulated_is_over_as_soon_as_a_real_look_says_so() -> None:
    watch = Watch()
    watch.look(cpu=Simulation(cpu=95).seen.cpu)
    assert watch.look(1, cpu=CpuSeen("t", 0.1)) == {}


def test_only_another_level_is_a_change() -> None:
    high = Pressure("battery", Level.HIGH, "15 %", 1)
    critical = Pressure("battery", Level.CRITICAL, "9 %", 2)
    assert changed([high], [Pressure("battery", Level.HIGH, "14 %", 2)]) == []
    assert changed([high], [critical]) == [("battery", Level.CRITICAL)]
    assert changed([high], []) == [("battery", Level.CALM)]


@pytest.mark.parametrize(
    ("queue", "queue_class", "held_by"),
    [
        ("q", QueueClass.HEAVY, [1, 2]),
        ("q", QueueClass.NORMAL, [2]),
        ("q", QueueClass.LIGHT, []),
        ("holdfast.webhooks", QueueClass.NORMAL, []),
    ],
)
def test_light_queues_and_the_systems_own_are_never_held(
    queue: str, queue_class: QueueClass, held_by: list[int]
) -> None:
    assert [holds for holds in Holds if is_held(holds, queue, queue_class)] == held_by


def test_a_pull_too_soon_waits_but_not_for_a_clock_that_was_set_back() -> None:
    assert is_paced(1_000, 1_500, 1_000)
    assert not is_paced(1_000, 1_500, 1_500)
    assert not is_paced(1_000, 3_600_000, 1_000)
    assert not is_paced(1_000, None, 1_000)
    assert not is_paced(0, 1_500, 1_000)
