"""A worker in virtual time: real exchanges and real sessions, and jobs that take as long as chance says."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.job import RunId
from holdfast.core.jobs.requests import Claimed, QueueSlots, Report
from holdfast.core.jobs.settle import Outcome, Outdated, Overdue, StoppedByCancel, Yielded
from holdfast.core.messages.runs import StopRequest
from holdfast.core.messages.sessions import NewSession, Offer
from holdfast.store.engine import Changes
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.sessions.recover import recover
from holdfast.store.topics import FOREIGN, STOPS, UNKNOWN
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec
from holdfast.workers.holdings import Holdings
from tests.simulation.ledger import Ledger
from tests.simulation.world import MINUTE, SECOND, World

REASONS: dict[str, Outcome] = {"cancel": StoppedByCancel(), "yield": Yielded("the machine needs rest")}
LATEST_RECOVERY = 30 * SECOND
TOLD_APART = 0.1


def _spec(task: str) -> TaskSpec:
    def nothing() -> None: ...

    return TaskSpec(task, "default", nothing, PayloadSchema(task, nothing, skip_first=False), False, ())


class Worker:
    """One place where jobs run; its processes live in it one after another, each with a session of its own."""

    def __init__(
        self, world: World, ledger: Ledger, name: str, node: str, slots: dict[str, int], tasks: Sequence[str]
    ) -> None:
        self.world = world
        self.ledger = ledger
        self.name = name
        self.node = node
        self.slots = slots
        self.specs = {task: _spec(task) for task in tasks}
        self.session: str | None = None
        self.outbox: list[Report] = []
        self.missed_an_answer = False
        self.begin()

    def begin(self) -> None:
        """A process begins."""
        self.session = self.world.fresh("s")
        self.holdings = Holdings(self.session, self.name, self.specs, self.slots)
        self.outbox, self.missed_an_answer = [], False
        lanes = tuple(QueueSlots(queue, slots) for queue, slots in self.slots.items())
        offer = Offer(self.session, self.name, tuple(self.specs), tuple(self.slots), sum(self.slots.values()), lanes)
        new = NewSession(self.session, "worker", self.node, "boot", 1, None)
        self.world.call(sessions.open_session, new, offer, self.world.now)
        self.world.sleepers[self.name] = self
        self.world.wake(self.name)

    def heeds(self, changes: Changes) -> bool:
        if self.session is None:
            return False
        named = self.holdings.names_a_queue_of(changes) or self.holdings.may_roam_for(changes)
        return named or UNKNOWN in changes.topics or FOREIGN in changes.topics or STOPS in changes.topics

    def act(self) -> bool:
        """One exchange. Now and then its answer gets lost on the way."""
        if self.session is None:
            return False
        reports, self.outbox = self.outbox, []
        if reports and self.world.random.random() < TOLD_APART:
            return self._tell(reports)
        holds = tuple(self.holdings.runs) if self.missed_an_answer else None
        request = self.holdings.request(reports, claims=True)
        foreseen = self.ledger.foresee(self, reports, request, holds)
        answer = self.world.call(exchange, reports, [], request, holds, self.world.now)
        self.ledger.note_exchange(self, foreseen, answer)
        if self.world.random.random() < 0.01:
            self.outbox, self.missed_an_answer = reports, True
            self.world.counts["answers lost"] += 1
            self.world.plan(SECOND, lambda: self.world.wake(self.name))
            return True
        self.missed_an_answer = False
        for settled in answer.settled:
            self.holdings.let_go(settled.run_id)
        self.holdings.hold(answer.claimed)
        for claimed in answer.claimed:
            self._run(claimed)
        for stop in answer.stops:
            self._stop(stop)
        return bool(reports or answer.claimed)

    def _tell(self, reports: list[Report]) -> bool:
        """Some workers tell what they have done by a call of its own, and ask for more a little later."""
        for settled in self.world.call(finish, reports, self.world.now):
            self.holdings.let_go(settled.run_id)
        self.world.wake(self.name)
        return True

    def _run(self, claimed: Claimed) -> None:
        took, outcome = self.ledger.destiny(claimed)
        if claimed.deadline is not None and self.world.now + took > claimed.deadline:
            took, outcome = max(0, claimed.deadline - self.world.now), Overdue()
        self.world.plan(took, lambda: self._end(claimed.run_id, outcome))

    def _end(self, run_id: RunId, outcome: Outcome) -> None:
        run = self.holdings.runs.get(run_id)
        if self.session is None or run is None or any(report.run_id == run_id for report in self.outbox):
            return
        self.outbox.append(Report(run_id, run.job_id, outcome, max(0, self.world.now - run.started_at)))
        self.world.wake(self.name)

    def _stop(self, stop: StopRequest) -> None:
        """Some take no notice and go on to their end."""
        outcome = REASONS.get(stop.stop_reason, Outdated())
        if self.world.random.random() < 0.9:
            self.world.plan(self.world.random.uniform(0, 3 * SECOND), lambda: self._end(stop.run_id, outcome))

    def yield_all(self, reason: str) -> None:
        """Whatever runs here makes room."""
        for run in list(self.holdings.runs.values()):
            self._end(run.run_id, Yielded(reason))

    def crash(self) -> None:
        """Its process dies; somebody notices, and another one begins."""
        if self.session is None:
            return
        dead, self.session = self.session, None
        self.ledger.note_death(dead)
        self.world.counts["crashes"] += 1
        random = self.world.random
        rebooted = random.random() < 0.2
        self.world.plan(random.uniform(0, LATEST_RECOVERY), lambda: self._bury(dead, rebooted))
        self.world.plan(random.uniform(SECOND, 20 * MINUTE), self.begin)

    def _bury(self, dead: str, rebooted: bool) -> None:
        while self.world.call(recover, dead, rebooted, self.world.now).more:
            pass
        self.ledger.note_burial(dead)

    def stop(self) -> None:
        """It stops in order: what it runs goes back, and another one begins later."""
        if self.session is None or self.missed_an_answer:
            return
        self.world.call(sessions.note_stop_request, self.session, self.world.now)
        ended = {report.run_id for report in self.outbox}
        back = [
            Report(run.run_id, run.job_id, Yielded("its worker stops"), 1)
            for run in self.holdings.runs.values()
            if run.run_id not in ended
        ]
        last = [*self.outbox, *back]
        self.world.call(exchange, last, [], self.holdings.request([], claims=False), (), self.world.now)
        assert self.world.call(sessions.close_session, self.session, "success", self.world.now)
        self.ledger.note_burial(self.session)
        self.session = None
        self.world.counts["orderly stops"] += 1
        self.world.plan(self.world.random.uniform(SECOND, 5 * MINUTE), self.begin)
