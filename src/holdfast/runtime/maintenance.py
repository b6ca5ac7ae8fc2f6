"""Does the chores of the database: plans what is due, and does the jobs of their queue one after the other.

Any number of processes may run this on one database. The store lets one chore run at a time.
"""

from __future__ import annotations

import asyncio
import logging

import msgspec

from holdfast.core.errors import HoldfastError
from holdfast.core.job import Millis, SessionId
from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.jobs.settle import Broke, Completed, Outcome, Snoozed, StoppedByCancel, Yielded
from holdfast.core.machine.maintenance import MAINTENANCE, KeepTimes, chore_of
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.runtime.chores import Chores, TryLater, place_of
from holdfast.runtime.clock import Clock
from holdfast.runtime.clocks.clock_trust import HELD_S, ClockTrust
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts.maintenance.maintenance import (
    BY_HAND,
    asked_of_chore,
    claim_chore,
    outlook,
    own_tasks,
    plan_chores,
    settle_chore,
)
from holdfast.store.topics import UNKNOWN

LONGEST_S = 60.0
BREATH_S = 0.02
LOOK_S = 1.0
LATER_MS: Millis = 600_000

log = logging.getLogger("holdfast.maintenance")


class _GiveUp(Exception):
    """The chore ends here, as `outcome`. None: another process has ended it."""

    def __init__(self, outcome: Outcome | None) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class Maintenance(Loop):
    """Does one chore at a time, for the session `own`. Woken when a job comes into the queue."""

    def __init__(self, engine: Engine, clock: Clock, own: SessionId, keep: KeepTimes, trust: ClockTrust) -> None:
        super().__init__(clock)
        self._trust = trust
        self.own = own
        self._engine = engine
        self._keep = keep
        self._chores = Chores(engine, clock, keep, lambda: self._stopping)
        self._unsettled: tuple[Report, str] | None = None
        self._home = asyncio.get_running_loop()
        self._look_is_coming = False
        self._tasks: tuple[str, ...] = ()

    async def tick(self) -> float | None:
        if self._trust.holds():
            # The clock decides what is old enough to be deleted.
            return HELD_S
        found = await self._engine.read(outlook, self._own_tasks(), self.clock.now())
        if found.due_at is not None and found.due_at <= self.clock.now():
            await self._engine.write(plan_chores, self._own_tasks(), self._keep, self.clock.now())
            return 0
        if await self.run_ready():
            return 0
        # The wall clock may be set while we sleep, so no sleep is long.
        wait = LONGEST_S if found.due_at is None else (found.due_at - self.clock.now()) / 1000
        return max(0.0, min(wait, LONGEST_S))

    async def run_ready(self) -> int:
        """Do the ready chores, one after the other. Return how many there were."""
        done = 0
        while not self._stopping:
            await self._settle()
            found = await self._engine.read(outlook, (), self.clock.now())
            if not found.is_ready:
                break
            claimed = await self._engine.write(claim_chore, self.own, self._own_tasks(), self.clock.now())
            if claimed is None:
                break
            await self._do(claimed)
            done += 1
        return done

    def heed(self, changes: Changes) -> None:
        """Look soon whether there is something to do. Called from any thread."""
        if MAINTENANCE in changes.queues:
            self._home.call_soon_threadsafe(self.wake)
        elif UNKNOWN in changes.topics and not self._look_is_coming:
            # Another process writes, perhaps all the time. Its chores can wait a moment.
            self._look_is_coming = True
            self._home.call_soon_threadsafe(self._home.call_later, LOOK_S, self._look)

    def _look(self) -> None:
        self._look_is_coming = False
        self.wake()

    def _own_tasks(self) -> tuple[str, ...]:
        # The folder of the files may have to be asked for, so that is not done in `__init__`.
        self._tasks = self._tasks or own_tasks(self._engine.dialect, place_of(self._engine))
        return self._tasks

    async def _do(self, claimed: Claimed) -> None:
        began = self.clock.monotonic()
        outcome = await self._outcome(claimed)
        if outcome is None:
            return
        took = round((self.clock.monotonic() - began) * 1000)
        self._unsettled = (Report(claimed.run_id, claimed.job_id, outcome, max(0, took)), claimed.task)
        await self._settle()

    async def _outcome(self, claimed: Claimed) -> Outcome | None:
        chore = chore_of(claimed.task)
        assert chore is not None

        async def breathe() -> None:
            await self._heed_others(claimed)

        try:
            did = await self._chores.do(chore, breathe, by_hand=claimed.payload == BY_HAND)
            return Completed(msgspec.json.encode(did).decode())
        except _GiveUp as end:
            return end.outcome
        except TryLater as error:
            log.info("%s is tried again later: %s", claimed.task, error)
            return Snoozed(LATER_MS)
        except Exception as error:
            code = error.code if isinstance(error, HoldfastError) else type(error).__name__
            extra = {"event": "maintenance_failed", "job_id": claimed.job_id, "task": claimed.task, "code": code}
            log.warning(
                "%s failed: %s", claimed.task, error, extra=extra, exc_info=not isinstance(error, HoldfastError)
            )
            return Broke(Failure(FailureKind.TRANSIENT, code, str(error) or code))

    async def _heed_others(self, claimed: Claimed) -> None:
        """Between two steps: let other work go first, and check whether the chore is still wanted."""
        if self._stopping:
            raise _GiveUp(Yielded("the program stops"))
        await asyncio.sleep(BREATH_S)
        match await self._engine.read(asked_of_chore, claimed.run_id, self.clock.now()):
            case "gone":
                raise _GiveUp(None)
            case "cancel":
                raise _GiveUp(StoppedByCancel())
            case "yield":
                raise _GiveUp(Yielded("it makes room"))

    async def _settle(self) -> None:
        """Store how the last chore ended. If that fails, it is stored before the next one begins."""
        if self._unsettled is not None:
            report, task = self._unsettled
            settled = await self._engine.write(settle_chore, report, task, self.clock.now())
            self._unsettled = None
            if settled.refused is not None:
                log.warning("%s", settled.refused)
