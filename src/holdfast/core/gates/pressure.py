"""When a machine needs rest, and what follows: which queues rest, how often jobs are taken, what is refused.

Each reading has a level of its own. It rises at one threshold and falls at another, so that it does not flicker. Most
levels take a while to change. The words about a level are of the moment when it began.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum

from msgspec import Struct

from holdfast.core.gates.queue import QueueClass
from holdfast.core.job import Millis
from holdfast.core.jobs import requests
from holdfast.core.machine import readings
from holdfast.core.machine.measures import MEASURES, Level, Measured, Thresholds
from holdfast.core.machine.readings import PowerSeen, SeenReadings

# A refusal ends after so long if its probe does not renew it: nobody looks at that machine any more. This is twice the
# longest time between two looks.
REFUSAL_MS: Millis = 120_000


class Holds(IntEnum):
    """Which queues start nothing."""

    NOTHING = 0
    HEAVY = 1
    ALL_BUT_LIGHT = 2


class Refuses(StrEnum):
    """Why no new jobs are taken."""

    WAL = "wal"
    DISK = "disk"


class Pressure(Struct, frozen=True, omit_defaults=True):
    """The pressure of one reading: its level, why in words, and since when."""

    reading: str
    level: Level
    says: str
    since: Millis
    is_simulated: bool = False


class Effect(Struct, frozen=True):
    """What follows from a level. `paces`: workers take jobs less often. `asks_to_yield`: runs are asked to stop."""

    holds: Holds = Holds.NOTHING
    paces: bool = False
    refuses: Refuses | None = None
    asks_to_yield: bool = False


class Effects(Struct, frozen=True, kw_only=True):
    """What follows from all levels of a machine together."""

    holds: Holds = Holds.NOTHING
    pull_interval_ms: Millis = 0
    refuses: Refuses | None = None


class MachineLimits(Struct, frozen=True):
    """What a machine under pressure asks of a worker: which queues rest, and how seldom it takes jobs.

    `pulls_at` is the moment from which on the worker takes jobs again.
    """

    holds: int = Holds.NOTHING
    pull_interval_ms: Millis = 0
    pulls_at: Millis | None = None


class PendingLevel(Struct, frozen=True):
    """A level that is about to change: since when, and whether it rises."""

    since: float
    rises: bool


class PendingLevels(Struct, frozen=True):
    """The levels that are about to change, by reading. None: nobody has looked yet, so each changes at once."""

    levels: dict[str, PendingLevel] | None = None


READINGS = ("cpu", "gpu", "memory", "battery", "power", "heat", "wal", "disk")
_HEAVY = Effect(Holds.HEAVY)
EFFECTS: dict[str, dict[Level, Effect]] = {
    "cpu": {Level.HIGH: Effect(Holds.HEAVY, paces=True)},
    "gpu": {Level.HIGH: Effect(Holds.HEAVY, paces=True)},
    "memory": {Level.HIGH: _HEAVY},
    "battery": {
        Level.HIGH: Effect(Holds.HEAVY, asks_to_yield=True),
        Level.CRITICAL: Effect(Holds.ALL_BUT_LIGHT, asks_to_yield=True),
    },
    "power": {Level.HIGH: Effect(Holds.HEAVY, asks_to_yield=True)},
    "heat": {Level.HIGH: _HEAVY},
    "wal": {Level.HIGH: Effect(refuses=Refuses.WAL)},
    "disk": {Level.HIGH: Effect(refuses=Refuses.DISK)},
}
# A moment of these says little. The share of the processors is of some seconds as it is.
SLOW_TO_RISE = frozenset({"gpu", "memory", "heat"})
SLOW_TO_FALL = frozenset({"cpu", "gpu", "memory", "battery", "heat"})


def press(
    seen: SeenReadings,
    before: Sequence[Pressure],
    pending: PendingLevels,
    thresholds: Thresholds,
    *,
    was_on_mains: bool,
    at: float,
    now: Millis,
) -> tuple[tuple[Pressure, ...], PendingLevels]:
    """The pressure after a look, and the levels that are about to change.

    `at` is of a clock that nobody sets.
    """
    known = {one.reading: one for one in before}
    levels: dict[str, PendingLevel] = {}
    found: list[Pressure | None] = []
    for reading, (part, measure) in MEASURES.items():
        old, told = known.get(reading), getattr(seen, part)
        measured = None if told is None else measure(told, thresholds)
        level, says = _target(old, measured)
        if level.rank == _rank_of(old):
            found.append(old)
            continue
        rises = level.rank > _rank_of(old)
        last = (pending.levels or {}).get(reading)
        since = last.since if last is not None and last.rises is rises else at
        wait = _wait(reading, rises, thresholds)
        is_at_once = pending.levels is None or readings.is_simulated(told) or (old is not None and old.is_simulated)
        if is_at_once or (at - since) * 1000 >= wait:
            found.append(None if level is Level.CALM else _pressure(reading, level, says, now, told))
        else:
            levels[reading] = PendingLevel(since, rises)
            found.append(old)
    found.append(_unplugged(seen.power, known.get("power"), thresholds, was_on_mains, now))
    pressing = sorted((one for one in found if one is not None), key=lambda one: READINGS.index(one.reading))
    return tuple(pressing), PendingLevels(levels)


def simulate_pressure(
    old: SeenReadings,
    new: SeenReadings,
    before: Sequence[Pressure],
    thresholds: Thresholds,
    *,
    was_on_mains: bool,
    now: Millis,
) -> tuple[Pressure, ...]:
    """The pressure when a simulation changes. A reading that it no longer simulates is calm until a look."""
    kept = tuple(one for one in before if getattr(new, _part_of(one.reading)) is None)
    let_go = {reading for reading in READINGS if getattr(old, _part_of(reading)) is not None}
    judged, _ = press(new, before, PendingLevels(), thresholds, was_on_mains=was_on_mains, at=0.0, now=now)
    told = [one for one in judged if getattr(new, _part_of(one.reading)) is not None]
    both = [*told, *(one for one in kept if one.reading not in let_go)]
    return tuple(sorted(both, key=lambda one: READINGS.index(one.reading)))


def effects_of(pressing: Iterable[Pressure], thresholds: Thresholds) -> Effects:
    """What follows from all of them together."""
    each = [effect_of(one) for one in pressing]
    refused = {effect.refuses for effect in each}
    return Effects(
        holds=max((effect.holds for effect in each), default=Holds.NOTHING),
        pull_interval_ms=thresholds.pull_interval_ms if any(effect.paces for effect in each) else 0,
        # The full disk is the worse of the two.
        refuses=Refuses.DISK if Refuses.DISK in refused else Refuses.WAL if Refuses.WAL in refused else None,
    )


def effect_of(pressure: Pressure) -> Effect:
    """What follows from one of them."""
    return EFFECTS.get(pressure.reading, {}).get(pressure.level, Effect())


def is_held(holds: int, queue: str, queue_class: QueueClass) -> bool:
    """Whether a machine that holds so much back starts nothing of a queue. The system's own queues are light."""
    if queue_class is QueueClass.LIGHT or requests.is_system_queue(queue):
        return False
    return holds >= (Holds.HEAVY if queue_class is QueueClass.HEAVY else Holds.ALL_BUT_LIGHT)


def is_spared(queue: str, queue_class: QueueClass) -> bool:
    """Whether no pressure concerns this queue."""
    return not is_held(Holds.ALL_BUT_LIGHT, queue, queue_class)


def bearing_on(pressing: Iterable[Pressure], queue: str, queue_class: QueueClass) -> list[Pressure]:
    """The pressure that keeps a queue from starting jobs. If none does, that which has it start jobs less often."""
    known = [(one, effect_of(one)) for one in pressing]
    holding = [one for one, effect in known if is_held(effect.holds, queue, queue_class)]
    return holding or [one for one, effect in known if effect.paces and not is_spared(queue, queue_class)]


def is_paced(pull_interval_ms: Millis, pulls_at: Millis | None, now: Millis) -> bool:
    """Whether it is too soon to take jobs. A moment beyond the interval is of a clock that was set since."""
    return pulls_at is not None and now < pulls_at <= now + pull_interval_ms


def rising(before: Iterable[Pressure], after: Iterable[Pressure]) -> list[Pressure]:
    """The pressure that is higher than before."""
    ranks = {one.reading: one.level.rank for one in before}
    return [one for one in after if one.level.rank > ranks.get(one.reading, 0)]


def changed(before: Iterable[Pressure], after: Iterable[Pressure]) -> list[tuple[str, Level]]:
    """The readings whose level has changed, with the new one."""
    old, new = ({one.reading: one.level for one in pressing} for pressing in (before, after))
    return [(reading, new.get(reading, Level.CALM)) for reading in READINGS if new.get(reading) != old.get(reading)]


def _target(old: Pressure | None, measured: Measured | None) -> tuple[Level, str]:
    if measured is None:
        return Level.CALM, ""
    rank = _rank_of(old)
    if measured.rises_to.rank > rank:
        return measured.rises_to, measured.says
    if measured.falls_to.rank < rank:
        return measured.falls_to, measured.says
    return Level.CALM if old is None else old.level, measured.says


def _wait(reading: str, rises: bool, thresholds: Thresholds) -> Millis:
    if rises:
        return thresholds.enter_ms if reading in SLOW_TO_RISE else 0
    return thresholds.leave_ms if reading in SLOW_TO_FALL else 0


def _pressure(reading: str, level: Level, says: str, now: Millis, told: object) -> Pressure:
    mark = " (simulated)" if readings.is_simulated(told) else ""
    return Pressure(reading, level, says + mark, now, readings.is_simulated(told))


def _unplugged(
    power: PowerSeen | None, old: Pressure | None, thresholds: Thresholds, was_on_mains: bool, now: Millis
) -> Pressure | None:
    """Heavy queues rest for a while after the machine lost its mains power, unless it comes back."""
    if power is None or power.supply[0] or not thresholds.unplugged_ms:
        return None
    if was_on_mains:
        return _pressure("power", Level.HIGH, "the power was unplugged a moment ago", now, power)
    return old if old is not None and 0 <= now - old.since < thresholds.unplugged_ms else None


def _rank_of(pressure: Pressure | None) -> int:
    return 0 if pressure is None else pressure.level.rank


def _part_of(reading: str) -> str:
    return "power" if reading == "power" else MEASURES[reading][0]
