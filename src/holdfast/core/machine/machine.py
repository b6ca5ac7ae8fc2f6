"""Whether a machine is idle, and whether it is charging, by what was seen of it.

Sources tell parts of a reading, and the first that tells a part counts. The words about a verdict are stored only when
the verdict changes, so they must stay true for as long as the verdict does.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.job import Millis
from holdfast.core.machine.readings import EVER, SIMULATED, InputSeen, PowerSeen, SeenReadings, Simulation

NOBODY = "none"
NOT_LOOKED = "no job waits for it, so nobody looks"
NOT_YET = "nobody has looked yet"
# If the wall clock and the time that passed differ by more between two looks, the machine slept or its clock was set.
JUMP_MS = 5_000
# After so long without a look, the load meanwhile is not known.
GAP_S = 180.0


class Reading(Struct, frozen=True):
    """What was seen at one moment, by both clocks. Unless `is_full`, only the cheap sources were asked."""

    seen: SeenReadings
    at: float
    wall: Millis
    is_full: bool = True


class Rules(Struct, frozen=True):
    """When a machine is idle: after so long without input, or so long below this share of its processors."""

    idle_after_ms: Millis = 300_000
    idle_load: float = 0.3


class MachineMemory(Struct, frozen=True):
    """What is remembered of earlier readings."""

    at: float | None = None
    wall: Millis = 0
    low_since: float | None = None
    awake_since: float | None = None


class JudgedMachine(Struct, frozen=True, kw_only=True):
    """The two verdicts, a sentence about each, and the source."""

    is_idle: bool
    idle: str
    is_charging: bool
    charging: str
    source: str


def judge(reading: Reading, memory: MachineMemory, rules: Rules) -> tuple[JudgedMachine, MachineMemory]:
    """Judge a reading, given what was seen before. Return also what to remember for the next one."""
    kept = _remember(reading, memory, rules)
    is_idle, idle, told_idle = _idle(reading, kept, rules)
    is_charging, charging, told_charging = _charging(reading.seen.power)
    sources = dict.fromkeys(source for source in (told_idle, told_charging) if source)
    judged = JudgedMachine(
        is_idle=is_idle, idle=idle, is_charging=is_charging, charging=charging, source=", ".join(sources) or NOBODY
    )
    return judged, kept


def simulated(before: JudgedMachine, old: Simulation, new: Simulation) -> JudgedMachine:
    """The verdicts right after a change of the simulation. What is no longer simulated is False until the next look."""
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


def _remember(reading: Reading, memory: MachineMemory, rules: Rules) -> MachineMemory:
    """What to remember after a reading. After a sleep, a step of the clock or a long pause, counting begins anew."""
    slept = lost = False
    if memory.at is not None:
        passed = reading.at - memory.at
        slept = abs(reading.wall - memory.wall - passed * 1000) > JUMP_MS
        lost = slept or not 0 <= passed <= GAP_S
    load = reading.seen.load
    low_since = None
    if load is not None and load.share < rules.idle_load:
        low_since = reading.at if lost or memory.low_since is None else memory.low_since
    return MachineMemory(reading.at, reading.wall, low_since, reading.at if slept else memory.awake_since)


def _idle(reading: Reading, memory: MachineMemory, rules: Rules) -> tuple[bool, str, str | None]:
    told, load, after = reading.seen.input, reading.seen.load, _length(rules.idle_after_ms)
    if told is not None and told.source == SIMULATED:
        return told.idle_ms > 0, _said_of_simulated(told), told.source
    if told is not None:
        # To wake a machine is to use it, even without input. And some sources count the sleep as time without input.
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
    left = "" if power.percent is None else f", {power.percent:.0f} %"
    is_charging, said = power.supply
    return is_charging, said + left + mark, power.source


def _length(ms: Millis) -> str:
    for size, unit in ((3_600_000, "h"), (60_000, "min"), (1_000, "s")):
        if ms >= size and ms % size == 0:
            return f"{ms // size} {unit}"
    return f"{ms} ms"
