"""The process that keeps the database in order: real chores, planned and done as jobs, at random moments."""

from __future__ import annotations

import asyncio

from holdfast.core.jobs.requests import Claimed, ClaimRequest, QueueSlots, Report
from holdfast.core.jobs.settle import Completed, Outcome, StoppedByCancel, Yielded
from holdfast.core.machine.maintenance import MAINTENANCE, Chore, KeepTimes, chore_of, chores_of
from holdfast.core.messages.sessions import NewSession
from holdfast.runtime.chores import Chores
from holdfast.runtime.clock import ManualClock
from holdfast.store.engine import Changes
from holdfast.store.scripts.maintenance.maintenance import (
    BY_HAND,
    asked_of_chore,
    claim_chore,
    maintain,
    own_tasks,
    plan_chores,
    settle_chore,
)
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.statements import Dialect
from holdfast.store.topics import FOREIGN, UNKNOWN
from tests.model.observe import statement
from tests.simulation.ledger import Ledger
from tests.simulation.world import HOUR, MINUTE, SECOND, World

NAME = "keeper"
KEPT = HOUR
OLD = statement(
    """SELECT count(*) AS jobs FROM jobs
    WHERE schedule_id IS NULL AND retry_of IS NULL AND queue <> 'holdfast.maintenance'"""
)
ASKED: dict[str | None, Outcome] = {"cancel": StoppedByCancel(), "yield": Yielded("it makes room")}


class _Clock(ManualClock):
    """The time of the world."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def now(self) -> int:
        return self._world.now


class Keeper:
    """It does one chore at a time; each takes a while, and now and then its process dies over it."""

    def __init__(self, world: World, ledger: Ledger, node: str) -> None:
        self.world = world
        self.ledger = ledger
        self.node = node
        self.tasks = own_tasks(world.engine.dialect, "here")
        self.session: str | None = None
        self.chore: Claimed | None = None
        self.begin()

    def begin(self) -> None:
        """A process begins."""
        self.session = self.world.fresh("s")
        self.chore = None
        new = NewSession(self.session, "daemon", self.node, "boot", 1, None)
        self.world.call(sessions.open_session, new, None, self.world.now)
        self.world.sleepers[NAME] = self
        self.world.wake(NAME)

    def heeds(self, changes: Changes) -> bool:
        return MAINTENANCE in changes.queues or UNKNOWN in changes.topics or FOREIGN in changes.topics

    def act(self) -> bool:
        """Take the next chore, if there is one."""
        if self.session is None or self.chore is not None:
            return False
        self.chore = self.world.call(claim_chore, self.session, self.tasks, self.world.now)
        if self.chore is None:
            return False
        self.world.counts["chores"] += 1
        run = self.chore
        self.world.plan(self.world.random.expovariate(1 / (5 * SECOND)), lambda: self._do(run))
        return True

    @property
    def request(self) -> ClaimRequest | None:
        """What it would ask for now; None: nothing."""
        if self.session is None or self.chore is not None:
            return None
        queues = (QueueSlots(MAINTENANCE, 1),)
        return ClaimRequest(session_id=self.session, slots=1, queues=queues, tasks=self.tasks)

    def plan(self) -> None:
        """What is due becomes a job, or somebody wants something done at once."""
        world = self.world
        if world.random.random() < 0.5:
            world.call(plan_chores, self.tasks, KeepTimes(KEPT), world.now)
            return
        known = [
            chore for chore in chores_of(is_file=world.engine.dialect is Dialect.SQLITE) if chore is not Chore.FILES
        ]
        world.call(maintain, world.random.choice(known), world.now)

    def crash(self) -> None:
        """Its process dies, perhaps over a chore; somebody notices, and another one begins."""
        if self.session is None:
            return
        dead, self.session = self.session, None
        self.ledger.note_death(dead)
        self.world.plan(self.world.random.uniform(0, 30 * SECOND), lambda: self._bury(dead))

    def _bury(self, dead: str) -> None:
        while self.world.call(recover, dead, False, self.world.now).more:
            pass
        self.ledger.note_burial(dead)
        self.world.plan(self.world.random.uniform(0, MINUTE), self.begin)

    def _do(self, run: Claimed) -> None:
        if self.chore is not run or self.session is None:
            return
        asked = self.world.engine.query(asked_of_chore, run.run_id, self.world.now)
        outcome = ASKED[asked] if asked in ASKED else self._chore(run)
        self.chore = None
        self.world.call(settle_chore, Report(run.run_id, run.job_id, outcome, 1), run.task, self.world.now)
        self.world.wake(NAME)

    def _chore(self, run: Claimed) -> Outcome:
        """All of it at one moment: what others do meanwhile they do before or after."""

        async def breathe() -> None: ...

        chore = chore_of(run.task)
        assert chore is not None
        [before] = self.ledger.rows(OLD)
        chores = Chores(self.world.engine, _Clock(self.world), KeepTimes(KEPT), lambda: False)
        did = asyncio.run(chores.do(chore, breathe, by_hand=run.payload == BY_HAND))
        [after] = self.ledger.rows(OLD)
        self.ledger.forgotten += before["jobs"] - after["jobs"]
        self.world.counts[f"chore {chore}"] += 1
        self.world.counts["removed by chores"] += did.get("removed", 0)
        return Completed("{}")
