"""What a machine is like at a moment, and what follows from it: whether it is idle, and whether it is charging.

Sources tell parts of a reading; the first that tells a part counts. What people read about a verdict stays true for as
long as the verdict does, because it is stored only when that changes.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.limits import check_int, shown

SIMULATED = "simulated"
NOBODY = "none"
NOT_LOOKED = "no job waits for it, so nobody looks"
NOT_YET = "nobody has looked yet"
# Between two looks, the wall clock and the time that passed may differ by so much; more is a sleep, or a clock set.
JUMP_MS = 5_000
# After so long without a look, nobody knows what the load was meanwhile.
GAP_S = 180.0
EVER: Millis = 100 * 365 * 86_400_000


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
    """How long nobody has used the keyboard, the mouse or a terminal."""

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


class Seen(Struct, frozen=True, kw_only=True):
    """What sources told, part by part; what none of them tells is None."""

    input: InputSeen | None = None
    load: LoadSeen | None = None
    power: PowerSeen | None = None

    def over(self, other: Seen) -> Seen:
        """This, and what only the other one tells."""
        return Seen(**{part: getattr(self, part) or getattr(other, part) for part in PARTS})


PARTS = Seen.__struct_fields__


class Reading(Struct, frozen=True):
    """What was seen at one moment, by both clocks. Unless `is_full`, only the cheap sources were asked."""

    seen: Seen
    at: float
    wall: Millis
    is_full: bool = True


class Rules(Struct, frozen=True):
    """From when on a machine is idle: so long without input, or so long below this share of its processors."""

    idle_after_ms: Millis = 300_000
    idle_load: float = 0.3


class Memory(Struct, frozen=True):
    """What has to be known of earlier readings."""

    at: float | None = None
    wall: Millis = 0
    low_since: float | None = None
    awake_since: float | None = None


class Judged(Struct, frozen=True, kw_only=True):
    """The two verdicts, a sentence about each, and who told."""

    is_idle: bool
    idle: str
    is_charging: bool
    charging: str
    source: str


class Simulation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody wants the machine to look like; what is None stays as it really is."""

    idle: bool | None = None
    charging: bool | None = None
    battery: int | None = None

    def __post_init__(self) -> None:
        for name in ("idle", "charging"):
            if not isinstance(value := getattr(self, name), bool | None):
                raise InvalidInput(f"{name} {shown(value)} is not valid: use True, False or None")
        if self.battery is not None:
            check_int("battery", self.battery, 0, 100)

    def __bool__(self) -> bool:
        return self.idle is not None or self._has_power

    @property
    def _has_power(self) -> bool:
        return self.charging is not None or self.battery is not None

    @property
    def seen(self) -> Seen:
        """What a source would tell on such a machine. A battery alone is one that is being used up."""
        told = None if self.idle is None else InputSeen(SIMULATED, EVER if self.idle else 0)
        return Seen(input=told, power=self._power if self._has_power else None)

    @property
    def _power(self) -> PowerSeen:
        status = BatteryStatus.CHARGING if self.charging else BatteryStatus.DISCHARGING
        has_battery = self.battery is not None or not self.charging
        return PowerSeen(SIMULATED, bool(self.charging), (Battery(self.battery, status),) if has_battery else ())


def judge(reading: Reading, memory: Memory, rules: Rules) -> tuple[Judged, Memory]:
    """What a reading means after what was seen before, and what to remember for the next one."""
    kept = _remember(reading, memory, rules)
    is_idle, idle, told_idle = _idle(reading, kept, rules)
    is_charging, charging, told_charging = _charging(reading.seen.power)
    sources = dict.fromkeys(source for source in (told_idle, told_charging) if source)
    judged = Judged(
        is_idle=is_idle, idle=idle, is_charging=is_charging, charging=charging, source=", ".join(sources) or NOBODY
    )
    return judged, kept


def simulated(before: Judged, old: Simulation, new: Simulation) -> Judged:
    """The verdicts as soon as the simulation changes. What it let go of is closed until somebody has looked."""
    judged, seen, seen_before = before, new.seen, old.seen
    if seen.input is not None:
        judged = replace(judged, is_idle=seen.input.idle_ms > 0, idle=_said_of_simulated(seen.input))
    elif seen_before.input is not None:
        judged = replace(judged, is_idle=False, idle=NOT_YET)
    if seen.power is not None:
        is_charging, charging, _ = _charging(seen.power)
        judged = replace(judged, is_charging=is_charging, charging=charging)
    elif seen_before.power is not None:
        judged = replace(judged, is_charging=False, charging=NOT_YET)
    is_whole = seen.input is not None and seen.power is not None
    others = [source for source in before.source.split(", ") if source not in (SIMULATED, NOBODY) and not is_whole]
    return replace(judged, source=", ".join([SIMULATED, *others] if new else others) or NOBODY)


def _remember(reading: Reading, memory: Memory, rules: Rules) -> Memory:
    """A sleep, a clock that was set and a long silence are no proof of anything: whatever was counted begins anew."""
    slept = lost = False
    if memory.at is not None:
        passed = reading.at - memory.at
        slept = abs(reading.wall - memory.wall - passed * 1000) > JUMP_MS
        lost = slept or not 0 <= passed <= GAP_S
    load = reading.seen.load
    low_since = None
    if load is not None and load.share < rules.idle_load:
        low_since = reading.at if lost or memory.low_since is None else memory.low_since
    return Memory(reading.at, reading.wall, low_since, reading.at if slept else memory.awake_since)


def _idle(reading: Reading, memory: Memory, rules: Rules) -> tuple[bool, str, str | None]:
    told, load, after = reading.seen.input, reading.seen.load, _length(rules.idle_after_ms)
    if told is not None and told.source == SIMULATED:
        return told.idle_ms > 0, _said_of_simulated(told), told.source
    if told is not None:
        # Who wakes a machine uses it, even if nothing was typed yet; and some count the sleep as time without input.
        awake = EVER if memory.awake_since is None else (reading.at - memory.awake_since) * 1000
        if min(told.idle_ms, awake) >= rules.idle_after_ms:
            return True, f"no input for {after} or more ({told.source})", told.source
        return False, f"there was input less than {after} ago ({told.source})", told.source
    if not reading.is_full:
        return False, NOT_LOOKED, None
    if load is None:
        return False, "nothing tells of input, and the load is not known yet", None
    low = f"{rules.idle_load * 100:g} % of the processors"
    if memory.low_since is None:
        return False, f"the load is not below {low}, and nothing tells of input", load.source
    if (reading.at - memory.low_since) * 1000 >= rules.idle_after_ms:
        return True, f"the load has been below {low} for {after} or more", load.source
    return False, f"the load is below {low}, but not for {after} yet", load.source


def _said_of_simulated(told: InputSeen) -> str:
    return "idle (simulated)" if told.idle_ms else "in use (simulated)"


def _charging(power: PowerSeen | None) -> tuple[bool, str, str | None]:
    if power is None:
        return True, "no battery found", None
    mark = " (simulated)" if power.source == SIMULATED else ""
    percents = [battery.percent for battery in power.batteries if battery.percent is not None]
    left = f", {sum(percents) / len(percents):.0f} %" if percents else ""
    is_charging, said = _supplied(power)
    return is_charging, said + left + mark, power.source


def _supplied(power: PowerSeen) -> tuple[bool, str]:
    states = {battery.status for battery in power.batteries}
    if power.on_ac:
        return True, "on AC"
    if not states:
        return True, "no battery"
    if BatteryStatus.CHARGING in states:
        return True, "charging"
    if BatteryStatus.DISCHARGING in states or power.on_ac is False:
        return False, "discharging"
    if BatteryStatus.UNKNOWN in states:
        return False, "on battery, and nothing tells of an adapter"
    return True, "on AC"


def _length(ms: Millis) -> str:
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= size and ms % size == 0:
            return f"{ms // size} {unit}"
    return f"{ms} ms"
