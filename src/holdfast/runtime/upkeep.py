"""The parts that keep a database going: due jobs are promoted, dead sessions settled, and chores done."""

from __future__ import annotations

from pathlib import Path

from holdfast.core.job import SessionId
from holdfast.core.machine.maintenance import KeepTimes
from holdfast.runtime.clock import Clock
from holdfast.runtime.clocks.clock_steps import ClockSteps
from holdfast.runtime.clocks.clock_trust import ClockTrust
from holdfast.runtime.clocks.clock_watch import ClockWatch
from holdfast.runtime.cron import CronLoop
from holdfast.runtime.file_answers import FileAnswers
from holdfast.runtime.machine.alarm import Alarm
from holdfast.runtime.machine.probe import Probe, Probing
from holdfast.runtime.maintenance import Maintenance
from holdfast.runtime.node import boot_id
from holdfast.runtime.parts import Part
from holdfast.runtime.promoter import Promoter
from holdfast.runtime.sessions.judge import LEASE_S, Judge
from holdfast.runtime.sessions.recovery import Recovery
from holdfast.runtime.sessions.session import lock_folder
from holdfast.store.engine import Engine
from holdfast.store.scripts.maintenance import clockwork, retention
from holdfast.store.scripts.maintenance.clockwork import EVENTS_AT_ONCE

USUAL_TIMES = KeepTimes(retention.KEEP_MS)


class Upkeep:
    """The parts that any number of processes may run on one database at the same time. Lives on one event loop.

    `own_locks` is the folder of the locks of a daemon's workers. A worker of these that hangs is ended.
    """

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        own: SessionId,
        keep: KeepTimes = USUAL_TIMES,
        *,
        lease: float = LEASE_S,
        own_locks: Path | None = None,
        probing: Probing | None = None,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._steps = ClockSteps(engine, clock)
        self._trust = ClockTrust(clock)
        self._promoter = Promoter(engine, clock, self._steps, self._trust)
        self._cron = CronLoop(engine, clock, self._trust)
        # A SQLite file and its lock files are on one machine. Clients of a PostgreSQL server may be on several.
        locks = None if engine.is_shared else lock_folder(engine)
        # The id of the machine is asked for later: nothing is made beside a file that cannot be opened.
        judge = Judge(boot_id(), lambda: engine.node, locks=locks, lease=lease)
        self._maintenance = Maintenance(engine, clock, own, keep, self._trust)
        self._recovery = Recovery(engine, clock, judge, own, own_locks)
        self._probe = Probe(engine, clock, probing or Probing())
        self.parts: list[Part] = [
            self._promoter,
            self._cron,
            self._recovery,
            self._maintenance,
            self._probe,
            ClockWatch(clock, self._steps, self._heed_the_clock),
            Alarm(engine, clock),
            # On one file system every process finds every file.
            *([FileAnswers(engine, clock)] if engine.is_shared else []),
        ]

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
            ticked = await self._engine.write(clockwork.tick, now, events=EVENTS_AT_ONCE)
            moved += ticked.promoted + ticked.expired
            if not ticked.more:
                break
        return moved

    async def prepare(self) -> None:
        """Before the parts start: settle what a dead predecessor left, and look at the machine."""
        await self.settle_the_dead()
        await self._steps.settle()
        # Before any job starts: the battery may be nearly empty.
        self._probe.watch()
        await self.look_around()

    def _heed_the_clock(self) -> None:
        self._promoter.wake()
        self._cron.wake()
        self._probe.look_anew()
