"""Looks at the machine: whether it is under pressure and, if jobs wait for that, whether it is idle or charging."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.gates import pressure
from holdfast.core.gates.pressure import REFUSAL_MS, PendingLevels, Pressure
from holdfast.core.job import Millis
from holdfast.core.machine import readings
from holdfast.core.machine.machine import JudgedMachine, MachineMemory, Reading, Rules, judge
from holdfast.core.machine.measures import Thresholds
from holdfast.core.machine.readings import SeenReadings, Simulation
from holdfast.core.messages.machines import Machine
from holdfast.core.rules import limits
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.runtime.machine.gauges import CpuBusy, DisksLeft, Heat, MemoryLeft, NvidiaSmi, WalSize
from holdfast.runtime.machine.idleness import HidIdleTime, Logind, XPrintIdle
from holdfast.runtime.machine.load import CpuLoad
from holdfast.runtime.machine.power import PsutilPower, SysfsPower
from holdfast.runtime.machine.simulated import SimulatedMachine
from holdfast.store.engine import Changes, Engine
from holdfast.store.locks import LifeLock
from holdfast.store.scripts.machines.machines import probed
from holdfast.store.scripts.maintenance import probed_machines
from holdfast.store.topics import UNKNOWN

EVERY_S = 10.0
# How often to look if no job waits, and for how long to go on after the last one.
SELDOM_S = 60.0
LINGER_S = 60.0
# There may be thousands of commits. Whether one brought a job that waits is asked once a second at most.
BREATH_S = 1.0
PATIENCE_S = 5.0  # for a database that cannot be written
# A sentence that changes often, such as the charge of a battery, is not written more often.
REFRESH_MS: Millis = 300_000

# `HOLDFAST_PRESSURE=off` in the environment of a program turns pressure off.
SWITCH = "HOLDFAST_PRESSURE"

log = logging.getLogger("holdfast.probe")


class ReadingSource(Protocol):
    """Tells one part of a reading, or None. It is asked if no source before it told; seldom, unless it `is_cheap`."""

    @property
    def tells(self) -> str:
        """The part of `SeenReadings` that it can tell."""

    @property
    def is_cheap(self) -> bool:
        """Whether a look only reads a few files, and starts no program."""

    def look(self) -> Any:
        """What it sees now."""


class Probing(Struct, frozen=True, kw_only=True):
    """How a process looks at its machine. `is_eager`: from its start on, and not only once a job waits.

    `gauges` are the sources of pressure, with these thresholds. Without any, there is only simulated pressure.
    """

    rules: Rules = Rules()
    thresholds: Thresholds = Thresholds()
    gauges: tuple[ReadingSource, ...] | None = None
    every: float = EVERY_S
    sources: tuple[ReadingSource, ...] | None = None
    simulated: SimulatedMachine | None = None
    is_eager: bool = False


class Probe(Loop):
    """One process for each machine and database looks, and stores what changes. The others wait to replace it."""

    def __init__(self, engine: Engine, clock: Clock, probing: Probing) -> None:
        super().__init__(clock)
        self._engine = engine
        self._probing = probing
        self._sources = system_sources() if probing.sources is None else probing.sources
        self._gauges = system_gauges(engine) if probing.gauges is None else probing.gauges
        self._is_on_watch = probing.is_eager
        self._home = asyncio.get_running_loop()
        self._thread = threading.current_thread()
        self._forget_simulated: Callable[[], None] = lambda: None
        self._place: LifeLock | None = None
        self._memory = MachineMemory()
        self._pending = PendingLevels()
        self._looked_at: float | None = None
        self._watched_at: float | None = None
        self._was_full = False
        self._went_by: Simulation = Simulation()
        self._is_nudged = False
        self._ticked_at = -BREATH_S
        self._to_tell: list[Future[None]] = []
        self.stored = 0

    async def tick(self) -> float | None:
        self._is_nudged, self._ticked_at = False, self._home.time()
        told, self._to_tell = self._to_tell, []
        try:
            return await self._tick()
        finally:
            for done in told:
                done.set_result(None)

    async def _tick(self) -> float | None:
        if not self._has_place():
            return self._probing.every
        while True:
            known = await self._engine.read(probed, self._engine.node)
            stored = None if known.machine is None else known.machine.simulation
            is_full = self._is_full(known.is_watched)
            simulation = self._simulation(stored)
            wait = self._wait(is_full, simulation, is_known=known.machine is not None)
            if wait > 0:
                return wait
            judged, pressing = await self._look(simulation, is_full, known.machine)
            if not self._is_news(known.machine, judged, pressing):
                break
            found = (self._engine.node, judged, stored, self.clock.now(), pressing, self._probing.thresholds)
            if await self._engine.write(probed_machines.note_machine, *found):
                self.stored += 1
                break
        return self._wait(is_full, simulation, is_known=True)

    def watch(self) -> None:
        """Look for pressure from now on. A program that only runs what is ready, and ends, need not."""
        self._is_on_watch = True

    def start(self) -> None:
        super().start()
        if self._probing.simulated is not None:
            self._forget_simulated = self._probing.simulated.on_change(self.look_now)

    async def stop(self) -> None:
        self._forget_simulated()
        self._forget_simulated = lambda: None
        await super().stop()
        for done in self._to_tell:
            done.set_result(None)
        self.leave()

    def leave(self) -> None:
        """Let another process look."""
        if self._place is not None:
            self._place.release()
            self._place = None

    def look_anew(self) -> None:
        """Forget what was seen before: the machine has slept, or its clock was set."""
        self._looked_at, self._pending = None, PendingLevels()
        self.wake()

    def nudge(self) -> None:
        """Look soon: a job may wait for the machine now, or the simulation may have changed. Called from any thread."""
        if not self._is_nudged:
            self._is_nudged = True
            with suppress(RuntimeError):  # The event loop has come to its end.
                self._home.call_soon_threadsafe(self._heed_nudge)

    def heed(self, changes: Changes) -> None:
        if changes.ready or changes.new or UNKNOWN in changes.topics:
            self.nudge()

    def look_now(self) -> None:
        """Look at a changed simulation, and return when that is done. Called from any thread."""
        done: Future[None] = Future()
        with suppress(RuntimeError):  # The event loop has come to its end.
            self._home.call_soon_threadsafe(self._heed_at_once, done)
            if threading.current_thread() is not self._thread:
                with suppress(TimeoutError):
                    done.result(PATIENCE_S)

    def _heed_at_once(self, done: Future[None]) -> None:
        # A look that is under way may have begun before the change.
        self._to_tell.append(done)
        self.wake()

    def _heed_nudge(self) -> None:
        self._home.call_later(max(0.0, self._ticked_at + BREATH_S - self._home.time()), self.wake)

    def _has_place(self) -> bool:
        """Whether this process is the one that looks. Two would disagree, as one has watched the load for longer."""
        if self._place is None:
            with suppress(BlockingIOError):
                self._place = LifeLock(place_of(self._engine, self._engine.node))
        return self._place is not None

    def _is_full(self, is_watched: bool) -> bool:
        now = self.clock.monotonic()
        if is_watched:
            self._watched_at = now
        return self._watched_at is not None and now - self._watched_at < LINGER_S

    def _simulation(self, stored: Simulation | None) -> Simulation:
        own = self._probing.simulated
        values = msgspec.structs.asdict(stored or Simulation())
        if own is not None:
            values |= {
                name: value for name, value in msgspec.structs.asdict(own.simulation).items() if value is not None
            }
        return Simulation(**values)

    def _wait(self, is_full: bool, simulation: Simulation, *, is_known: bool) -> float:
        """How long to wait with the next look. 0 if the simulation or the kind of look has changed."""
        now = self.clock.monotonic()
        if self._looked_at is None:
            if is_full or is_known or simulation or self._probing.is_eager or (self._is_on_watch and self._gauges):
                return 0.0
            # A short program without such a job need not look at all.
            self._looked_at, self._went_by = now, simulation
            return self._every(is_full)
        if is_full != self._was_full or simulation != self._went_by:
            return 0.0
        return max(0.0, self._looked_at + self._every(is_full) - now)

    def _every(self, is_full: bool) -> float:
        return self._probing.every if is_full or (self._is_on_watch and self._gauges) else SELDOM_S

    async def _look(
        self, simulation: Simulation, is_full: bool, known: Machine | None
    ) -> tuple[JudgedMachine, tuple[Pressure, ...]]:
        self._was_full, self._went_by = is_full, simulation
        gauges = self._gauges if self._is_on_watch else ()
        seen = await asyncio.to_thread(gather, (*self._sources, *gauges), simulation.seen, is_full)
        self._looked_at, now = self.clock.monotonic(), self.clock.now()
        judged, self._memory = judge(Reading(seen, self._looked_at, now, is_full), self._memory, self._probing.rules)
        pressing, self._pending = pressure.press(
            seen if gauges else _simulated(seen),
            () if known is None else known.pressure,
            self._pending,
            self._probing.thresholds,
            was_on_mains=known is not None and known.is_charging,
            at=self._looked_at,
            now=now,
        )
        return judged, pressing

    def _is_news(self, known: Machine | None, judged: JudgedMachine, pressing: Sequence[Pressure]) -> bool:
        if known is None or known.thresholds != self._probing.thresholds or pressure.changed(known.pressure, pressing):
            return True
        left = None if known.refuses_until is None else known.refuses_until - self.clock.now()
        if left is not None and not REFUSAL_MS / 2 < left <= REFUSAL_MS:
            return True
        verdicts = ("is_idle", "idle", "is_charging", "source")
        if any(getattr(known, name) != getattr(judged, name) for name in verdicts):
            return True
        return known.charging != judged.charging and abs(self.clock.now() - known.updated_at) >= REFRESH_MS


def place_of(engine: Engine, node: str) -> Path:
    """The lock of the process that looks at this machine for this database. Databases may share the folder."""
    return engine.locks / "probes" / hashlib.blake2b(f"{node}\0{engine.identity}".encode(), digest_size=8).hexdigest()


def system_sources() -> tuple[ReadingSource, ...]:
    """The sources of this system, the best first."""
    if sys.platform == "darwin":
        return (HidIdleTime(), CpuLoad(), PsutilPower())
    return (Logind(), XPrintIdle(), CpuLoad(), SysfsPower(), PsutilPower())


def is_pressure_off() -> bool:
    """Whether the environment turns pressure off. InvalidInput if it says neither on nor off."""
    said = os.environ.get(SWITCH) or "on"
    if said not in ("on", "off"):
        raise InvalidInput(f"{SWITCH}={limits.shown(said)} is not valid: use off, or on as it is by default")
    return said == "off"


def system_gauges(engine: Engine) -> tuple[ReadingSource, ...]:
    """The sources of pressure on this machine. None if it is turned off."""
    try:
        if is_pressure_off():
            return ()
    except InvalidInput as error:
        # A user's program is not stopped because of that.
        log.warning("%s; it counts as on", error)
    path = engine.path
    folders = (engine.files,) if path is None else (Path(path).parent, engine.files)
    general: tuple[ReadingSource, ...] = (CpuBusy(), MemoryLeft(), Heat(), NvidiaSmi(), DisksLeft(folders))
    return general if path is None else (*general, WalSize(path))


def gather(sources: Sequence[ReadingSource], before: SeenReadings, is_full: bool) -> SeenReadings:
    """What is known already, and what the sources add. The load matters only if no source tells of input."""
    parts = {part: getattr(before, part) for part in SeenReadings.__struct_fields__}
    for source in sources:
        is_needed = parts[source.tells] is None and not (source.tells == "load" and parts["input"] is not None)
        if is_needed and (is_full or source.is_cheap):
            parts[source.tells] = _asked(source)
    return SeenReadings(**parts)


def _simulated(seen: SeenReadings) -> SeenReadings:
    parts = {part: getattr(seen, part) for part in SeenReadings.__struct_fields__}
    return SeenReadings(**{part: told for part, told in parts.items() if readings.is_simulated(told)})


def _asked(source: ReadingSource) -> Any:
    try:
        return source.look()
    except Exception:
        log.exception("%s cannot tell", type(source).__name__)
        return None
