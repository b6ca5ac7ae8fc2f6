"""A machine in virtual time: a battery that drains and charges, a person who comes and goes, loads that rise and fall.

What it is like is looked at as a probe does, and the real decisions follow from it.
"""

from __future__ import annotations

from holdfast.core.gates.pressure import REFUSAL_MS, PendingLevels, changed, press
from holdfast.core.machine.machine import JudgedMachine
from holdfast.core.machine.measures import Thresholds
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
    WalSeen,
)
from holdfast.core.messages.machines import Machine
from holdfast.store.scripts.machines.machines import list_machines
from holdfast.store.scripts.maintenance.probed_machines import note_machine
from tests.simulation.world import MINUTE, SECOND, World

MIB = 1 << 20
LOOKS = (0, 10, 20, 45, 90)  # seconds after something changed: later, nothing is pending any more
CALM = {"cpu": 0.2, "memory": 0.5, "gpu": 0.1, "heat": 50.0, "disk": 0.4, "wal": 4 * MIB}
BAD = {"cpu": 0.95, "memory": 0.05, "gpu": 0.9, "heat": 95.0, "disk": 0.02, "wal": 300 * MIB}


class Hardware:
    """One machine and its probe."""

    def __init__(self, world: World, node: str, *, has_battery: bool) -> None:
        self.world = world
        self.node = node
        self.has_battery = has_battery
        self.percent = 80.0
        self.is_plugged = True
        self.is_idle = False
        self.readings: dict[str, float] = dict(CALM)
        self._thresholds = Thresholds()
        self._waiting = PendingLevels()
        self.look()

    def change(self) -> None:
        """Something about it is different from now on, and looked at until all has followed from it."""
        random = self.world.random
        match random.choice(("person", "power", "power", *BAD)):
            case "person":
                self.is_idle = not self.is_idle
            case "power" if self.has_battery:
                self.is_plugged = not self.is_plugged
            case "power":
                pass
            case reading:
                self._suffer(reading)
        self.watch()

    def _suffer(self, reading: str) -> None:
        """For a while, something is as bad as it gets."""

        def recover() -> None:
            self.readings[reading] = CALM[reading]
            self.watch()

        self.readings[reading] = BAD[reading]
        self.world.plan(self.world.random.uniform(MINUTE, 20 * MINUTE), recover)

    def drift(self) -> None:
        """Time passes for the battery."""
        if self.has_battery:
            step = self.world.random.uniform(3, 15)
            self.percent = min(100.0, self.percent + step) if self.is_plugged else max(1.0, self.percent - step)
            self.watch()

    def calm_down(self) -> None:
        """Nobody is there, and all is well."""
        self.is_idle = self.is_plugged = True
        self.percent, self.readings = 100.0, dict(CALM)
        self.watch()

    def watch(self) -> None:
        """Look now, and a few times more."""
        for delay in LOOKS:
            self.world.plan(delay * SECOND, self.look)

    def look(self) -> None:
        """What the probe does: judge what is seen, and write down what has changed."""
        now, known = self.world.now, self.stored
        pressing, self._waiting = press(
            self._seen(),
            () if known is None else known.pressure,
            self._waiting,
            self._thresholds,
            was_on_mains=known is not None and known.is_charging,
            at=self.world.elapsed / 1000,
            now=now,
        )
        judged = JudgedMachine(
            is_idle=self.is_idle, idle="as told", is_charging=self.is_plugged, charging="as told", source="test"
        )
        is_renewed = known is not None and known.refuses_until is not None
        if (
            known is None
            or is_renewed
            or (known.is_idle, known.is_charging) != (self.is_idle, self.is_plugged)
            or changed(known.pressure, pressing)
        ):
            self.world.call(note_machine, self.node, judged, None, now, pressing, self._thresholds)
        self._check()
        if self.readings["disk"] == BAD["disk"] or self.readings["wal"] == BAD["wal"]:
            self.world.plan(REFUSAL_MS * 2 / 3, self._look_again)

    def _look_again(self) -> None:
        """A refusal is renewed for as long as it holds."""
        known = self.stored
        left = None if known is None or known.refuses_until is None else known.refuses_until - self.world.now
        if left is not None and left < REFUSAL_MS / 2:
            self.look()

    @property
    def stored(self) -> Machine | None:
        """What is known of it."""
        machines = self.world.engine.query(list_machines)
        return next((machine for machine in machines if machine.node == self.node), None)

    def _check(self) -> None:
        """What must follow at once, by the table of what follows from what."""
        known = self.stored
        assert known is not None
        on_battery = self.has_battery and not self.is_plugged
        if on_battery and self.percent < 10:
            assert known.holds == 2, f"the battery is all but empty: {known}"
        if on_battery and self.percent < 30:
            assert known.holds >= 1, f"the battery is low: {known}"
        if self.readings["disk"] == BAD["disk"]:
            assert known.refuses == "disk", f"the disk is full: {known}"
        elif self.readings["wal"] == BAD["wal"]:
            assert known.refuses == "wal", f"the log is too large: {known}"
        else:
            assert known.refuses is None, f"there is room: {known}"
        if self.readings == CALM and not on_battery and not known.pressure:
            assert (known.holds, known.pull_interval_ms) == (0, 0), f"all is well: {known}"

    def _seen(self) -> SeenReadings:
        status = BatteryStatus.CHARGING if self.is_plugged else BatteryStatus.DISCHARGING
        batteries = (Battery(self.percent, status),) if self.has_battery else ()
        return SeenReadings(
            power=PowerSeen("test", self.is_plugged, batteries),
            cpu=CpuSeen("test", self.readings["cpu"]),
            memory=MemorySeen("test", self.readings["memory"]),
            heat=HeatSeen("test", self.readings["heat"], False),
            gpu=GpuSeen("test", self.readings["gpu"]),
            disk=DiskSeen("test", self.readings["disk"]),
            wal=WalSeen("test", int(self.readings["wal"])),
        )
