"""When a machine is idle, and when it is charging."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import InvalidInput
from holdfast.core.machine.machine import (
    NOT_LOOKED,
    NOT_YET,
    JudgedMachine,
    MachineMemory,
    Reading,
    Rules,
    judge,
    simulated,
)
from holdfast.core.machine.readings import (
    Battery,
    BatteryStatus,
    InputSeen,
    LoadSeen,
    PowerSeen,
    SeenReadings,
    Simulation,
)

RULES = Rules(idle_after_ms=300_000, idle_load=0.3)
FULL, CHARGING, DISCHARGING = BatteryStatus.FULL, BatteryStatus.CHARGING, BatteryStatus.DISCHARGING
NOT_CHARGING, UNKNOWN = BatteryStatus.NOT_CHARGING, BatteryStatus.UNKNOWN
LOW, HIGH = SeenReadings(load=LoadSeen("load", 0.1)), SeenReadings(load=LoadSeen("load", 0.9))

statuses = st.sampled_from(list(BatteryStatus))
batteries = st.lists(st.builds(Battery, st.none() | st.floats(0, 100), statuses), max_size=3).map(tuple)
powers = st.none() | st.builds(PowerSeen, st.just("sysfs"), st.none() | st.booleans(), batteries)
inputs = st.none() | st.builds(InputSeen, st.just("logind"), st.integers(0, 10**7))
loads = st.none() | st.builds(LoadSeen, st.just("load"), st.floats(0, 1))
seen = st.builds(SeenReadings, input=inputs, load=loads, power=powers)


class Walk:
    """Readings one after another, each some seconds after the one before by both clocks."""

    def __init__(self) -> None:
        self.at, self.wall, self.memory = 1_000.0, 1_700_000_000_000, MachineMemory()

    def look(
        self, seen: SeenReadings, after: float = 10, *, wall: float | None = None, is_full: bool = True
    ) -> JudgedMachine:
        self.at += after
        self.wall += round((after if wall is None else wall) * 1000)
        judged, self.memory = judge(Reading(seen, self.at, self.wall, is_full), self.memory, RULES)
        return judged


def after_input(ms: int) -> SeenReadings:
    return SeenReadings(input=InputSeen("logind", ms))


@pytest.mark.parametrize(("ms", "is_idle"), [(0, False), (299_999, False), (300_000, True), (10**9, True)])
def test_a_machine_is_idle_five_minutes_after_the_last_input(ms: int, is_idle: bool) -> None:
    judged = Walk().look(after_input(ms))
    assert judged.is_idle == is_idle
    assert "5 min" in judged.idle
    assert "logind" in judged.idle


def test_input_counts_whatever_the_load_is() -> None:
    both = SeenReadings(input=InputSeen("X11", 400_000), load=HIGH.load)
    assert Walk().look(both).is_idle


def test_a_low_load_must_last_for_five_minutes() -> None:
    walk = Walk()
    assert [walk.look(LOW).is_idle for _ in range(31)] == [False] * 30 + [True]


def test_one_busy_moment_begins_the_five_minutes_anew() -> None:
    walk = Walk()
    for _ in range(29):
        walk.look(LOW)
    assert not walk.look(HIGH).is_idle
    assert [walk.look(LOW).is_idle for _ in range(31)] == [False] * 30 + [True]


@given(st.integers(10, 86_400), st.sampled_from(["suspend", "set forward", "set back", "stopped"]))
def test_no_jump_of_a_clock_makes_a_machine_idle_by_its_load(jump: int, kind: str) -> None:
    walk = Walk()
    walk.look(LOW)
    passed = jump + 200 if kind == "stopped" else 10
    wall = {"suspend": 10 + jump, "set forward": 10 + jump, "set back": 10 - jump, "stopped": passed}[kind]
    assert not walk.look(LOW, passed, wall=wall).is_idle
    assert [walk.look(LOW).is_idle for _ in range(30)] == [False] * 29 + [True]


@given(st.integers(60, 86_400))
def test_who_wakes_a_machine_uses_it_though_the_sleep_is_counted_as_time_without_input(asleep: int) -> None:
    walk = Walk()
    assert not walk.look(after_input(0)).is_idle
    assert not walk.look(after_input(asleep * 1000), 10, wall=asleep).is_idle
    later = [walk.look(after_input(10**8)).is_idle for _ in range(30)]
    assert later == [False] * 29 + [True]


def test_unless_every_source_was_asked_nobody_calls_a_machine_idle() -> None:
    walk = Walk()
    verdicts = [walk.look(LOW, 60, is_full=False) for _ in range(10)]
    assert {(judged.is_idle, judged.idle) for judged in verdicts} == {(False, NOT_LOOKED)}
    assert walk.look(LOW).is_idle, "the load was watched meanwhile"


@pytest.mark.parametrize(
    ("power", "is_charging", "said"),
    [
        (None, True, "no battery found"),
        (PowerSeen("sysfs"), True, "no battery"),
        (PowerSeen("sysfs", False), True, "no battery"),
        (PowerSeen("sysfs", True, (Battery(50, DISCHARGING),)), True, "on AC, 50 %"),
        (PowerSeen("sysfs", True, (Battery(100, FULL), Battery(50, NOT_CHARGING))), True, "on AC, 75 %"),
        (PowerSeen("sysfs", False, (Battery(43, DISCHARGING),)), False, "discharging, 43 %"),
        (PowerSeen("sysfs", False, (Battery(100, FULL),)), False, "discharging, 100 %"),
        (PowerSeen("sysfs", False, (Battery(None, CHARGING),)), True, "charging"),
        (PowerSeen("sysfs", None, (Battery(10, CHARGING),)), True, "charging, 10 %"),
        (PowerSeen("sysfs", None, (Battery(80, NOT_CHARGING),)), True, "on AC, 80 %"),
        (PowerSeen("sysfs", None, (Battery(None, UNKNOWN),)), False, "on battery, and nothing tells of an adapter"),
        (PowerSeen("sysfs", None, (Battery(9, UNKNOWN), Battery(1, DISCHARGING))), False, "discharging, 5 %"),
    ],
)
def test_charging_is_on_ac_or_without_a_battery(power: PowerSeen | None, is_charging: bool, said: str) -> None:
    judged = Walk().look(SeenReadings(power=power))
    assert (judged.is_charging, judged.charging) == (is_charging, said)


@given(st.lists(st.tuples(seen, st.floats(0, 1_000), st.floats(-1_000, 1_000), st.booleans()), max_size=20))
def test_whatever_is_seen_there_are_two_verdicts_with_words_and_idle_needs_proof(
    looks: list[tuple[SeenReadings, float, float, bool]],
) -> None:
    walk = Walk()
    for what, after, drift, is_full in looks:
        judged = walk.look(what, after, wall=after + drift, is_full=is_full)
        assert judged.idle
        assert judged.charging
        told = what.input is not None and what.input.idle_ms >= RULES.idle_after_ms
        low = what.load is not None and what.load.share < RULES.idle_load
        assert not judged.is_idle or told or (low and is_full)
        on_battery = what.power is not None and what.power.batteries and not what.power.on_ac
        assert judged.is_charging or on_battery


simulations = st.builds(
    Simulation,
    idle=st.none() | st.booleans(),
    charging=st.none() | st.booleans(),
    battery=st.none() | st.integers(0, 100),
)


@given(seen, simulations, simulations)
def test_a_simulation_changes_what_it_names_at_once_and_as_a_look_would(
    what: SeenReadings, old: Simulation, new: Simulation
) -> None:
    before = Walk().look(old.seen.over(what))
    at_once, looked = simulated(before, old, new), Walk().look(new.seen.over(what))
    if new.seen.input is not None:
        assert (at_once.is_idle, at_once.idle) == (looked.is_idle, looked.idle) == (new.idle, looked.idle)
        assert "simulated" in at_once.idle
    if new.seen.power is not None:
        assert (at_once.is_charging, at_once.charging) == (looked.is_charging, looked.charging)
        assert at_once.is_charging == bool(new.charging)
    assert ("simulated" in at_once.source) == bool(new)


def test_what_is_no_longer_simulated_is_closed_until_somebody_has_looked() -> None:
    both = Simulation(idle=True, charging=True)
    ended = simulated(Walk().look(both.seen), both, Simulation())
    assert (ended.is_idle, ended.idle) == (False, NOT_YET)
    assert (ended.is_charging, ended.charging) == (False, NOT_YET)
    assert ended.source == "none"


@pytest.mark.parametrize("wrong", [{"battery": 101}, {"battery": True}, {"idle": "on"}, {"charging": 1}])
def test_a_simulation_of_nonsense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Simulation(**wrong)  # type: ignore[arg-type]
