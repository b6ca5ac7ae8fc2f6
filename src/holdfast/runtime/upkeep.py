"""The loops that keep a database going: due jobs are promoted, dead sessions settled, and chores done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from holdfast.core.job import Millis, SessionId
from holdfast.runtime.alarm import Alarm
from holdfast.runtime.clock import Clock
from holdfast.runtime.clock_steps import ClockSteps
from holdfast.runtime.clock_trust import ClockTrust
from holdfast.runtime.clock_watch import ClockWatch
from holdfast.runtime.cron import CronLoop
from holdfast.runtime.file_answers import FileAnswers
from holdfast.runtime.judge import LEASE_S, Judge
from holdfast.runtime.loop import Loop
from holdfast.runtime.maintenance import Maintenance
from holdfast.runtime.node import boot_id
from holdfast.runtime.probe import Probe, Probing
from holdfast.runtime.promoter import Promoter
from holdfast.runtime.recovery import Recovery
from holdfast.runtime.session import lock_folder
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts.maintenance.clockwork import EVENTS_AT_ONCE, tick
from holdfast.store.scripts.maintenance.retention import KEEP_MS
from holdfast.store.topics import DUE, FILES, UNKNOWN


class Upkeep:
    """The loops that any number of processes may run on one database at the same time. Lives on one event loop.

    `own_locks` is the folder of the locks of a daemon's workers. A worker of these that hangs is ended.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        own: SessionId,
        keep_ms: Millis = KEEP_MS,
        *,
        lease: float = LEASE_S,
        own_locks: Path | None = None,
        probing: Probing | None = None,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._home = asyncio.get_running_loop()
        self._steps = ClockSteps(engine, clock)
        self._trust = ClockTrust(clock)
        self._promoter = Promoter(engine, clock, self._steps, self._trust)
        self._cron = CronLoop(engine, clock, self._trust)
        # A SQLite file and its lock files are on one machine. Clients of a PostgreSQL server may be on several.
        locks = None if engine.is_shared else lock_folder(engine)
        # The id of the machine is asked for later: nothing is made beside a file that cannot be opened.
        judge = Judge(boot_id(), lambda: engine.node, locks=locks, lease=lease)
        self._maintenance = Maintenance(engine, clock, own, keep_ms, self._trust)
        self._recovery = Recovery(engine, clock, judge, own, own_locks)
        probing = probing or Probing()
        self._probe = Probe(engine, clock, probing)
        self._simulated = probing.simulated
        self._loops: list[Loop] = [
            self._promoter,
            self._cron,
            self._recovery,
            self._maintenance,
            self._probe,
            ClockWatch(clock, self._steps, self._heed_the_clock),
            Alarm(engine, clock),
        ]
        self._file_answers: FileAnswers | None = None
        if engine.is_shared:
            # On one file system every process finds every file.
            self._file_answers = FileAnswers(engine, clock)
            self._loops.append(self._file_answers)
        self._leave: list[Callable[[], None]] = []

    def rename(self, own: SessionId) -> None:
        """The process has another session now."""
        self._recovery.own = self._maintenance.own = own

    async def settle_the_dead(self) -> None:
        """Settle dead sessions now, once."""
        await self._recovery.tick()

    async def look_around(self) -> bool:
        """Look at the machine now, if a job waits for that. Return whether something changed."""
        before = self._probe.stored
        await self._probe.tick()
        return self._probe.stored != before

    async def do_chores(self) -> int:
        """Do the chores that were asked for now. Return how many there were."""
        return 0 if self._trust.holds() else await self._maintenance.run_ready()

    def leave(self) -> None:
        """Release what was taken without `start`."""
        self._probe.leave()

    async def promote(self) -> int:
        """Do what is due now. Return how many jobs changed."""
        moved = await self._cron.fire_due()
        while not self._trust.holds():
            now = self._clock.now()
            if await self._steps.settle():
                continue
            ticked = await self._engine.write(tick, now, events=EVENTS_AT_ONCE)
            moved += ticked.promoted + ticked.expired
            if not ticked.more:
                break
        return moved

    async def start(self) -> None:
        """Settle what a dead predecessor left, then start every loop."""
        await self.settle_the_dead()
        await self._steps.settle()
        # Before any job starts: the battery may be nearly empty.
        self._probe.watch()
        await self.look_around()
        self._leave = [
            await asyncio.to_thread(self._engine.listen, self._heed),
            self._clock.on_change(self._wake_from_outside),
        ]
        if self._simulated is not None:
            self._leave.append(self._simulated.on_change(self._probe.look_now))
        for loop in self._loops:
            loop.start()

    async def stop(self) -> None:
        """Stop every loop after its current tick."""
        for leave in self._leave:
            leave()
        for loop in self._loops:
            await loop.stop()

    def _heed(self, changes: Changes) -> None:
        self._maintenance.heed(changes)
        if DUE in changes.topics or UNKNOWN in changes.topics:
            self._home.call_soon_threadsafe(self._look_at_the_clock)
        if changes.ready or changes.new or UNKNOWN in changes.topics:
            self._probe.nudge()
        if self._file_answers is not None and (FILES in changes.topics or UNKNOWN in changes.topics):
            self._home.call_soon_threadsafe(self._file_answers.wake)

    def _look_at_the_clock(self) -> None:
        self._promoter.wake()
        self._cron.wake()

    def _heed_the_clock(self) -> None:
        self._look_at_the_clock()
        self._probe.look_anew()

    def _wake_from_outside(self) -> None:
        self._home.call_soon_threadsafe(self._wake_all)

    def _wake_all(self) -> None:
        for loop in self._loops:
            loop.wake()
