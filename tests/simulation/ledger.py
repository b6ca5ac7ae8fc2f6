"""What must be true of a simulated world: looked at before and after each claim, and after each thing that happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from holdfast.core.job import JobId, Millis, RunId
from holdfast.core.jobs.requests import Claimed, ClaimRequest, Report
from holdfast.core.jobs.settle import Broke, Completed, Outcome, Skipped, Snoozed, Yielded
from holdfast.core.messages.runs import Exchange
from holdfast.core.messages.why import Why
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.store.engine import Tx
from holdfast.store.scripts.claiming.choose import choose
from holdfast.store.scripts.claiming.why import why
from holdfast.store.scripts.maintenance.doctor import broken_invariants
from holdfast.store.scripts.runs.exchange import give_back
from holdfast.store.scripts.runs.finish import finish
from holdfast.store.statements import Statement
from tests.model.driver import PATIENCE_S
from tests.model.observe import statement
from tests.simulation.fairness import Shares
from tests.simulation.rates import Paces, Windows
from tests.simulation.world import SECOND, World

if TYPE_CHECKING:
    from tests.simulation.keeper import Keeper
    from tests.simulation.worker import Worker

JOB = statement("SELECT * FROM jobs WHERE id = :id")
REHEARSED = 0.2
LOOKED_AT = 2  # jobs whose gates are asked, in each place

STARTED = statement(
    """SELECT j.id, j.queue, j.tenant, j.is_suspect, j.deadline, j.ttl_ms, j.queued_at, j.wait_for_idle,
    j.require_charging, j.session_id, q.paused_at, q.concurrency, q.rate_limit, q.rate_window_ms,
    coalesce(q.burden, 'normal') AS burden, b.opened_at, b.half_opens_at, b.probe,
    (SELECT count(*) FROM jobs AS r WHERE r.state = 'RUNNING' AND r.queue = j.queue) AS running,
    (SELECT count(*) FROM direct_reservations WHERE status = 'ACTIVE' AND scope IN ('*', j.queue)) AS reserved,
    m.is_idle, m.is_charging, m.holds, m.pull_interval_ms
    FROM jobs AS j LEFT JOIN queues AS q ON q.name = j.queue LEFT JOIN queue_breakers AS b ON b.queue = j.queue
    LEFT JOIN machines AS m ON m.node = :node WHERE j.id = :id"""
)
WAITING = statement("SELECT id FROM jobs WHERE state IN ('QUEUED', 'SCHEDULED') ORDER BY number")
QUEUED = statement("SELECT id FROM jobs WHERE state = 'QUEUED' ORDER BY queue, tenant, priority DESC, position")
KNOWN = statement(
    """SELECT count(*) AS jobs FROM jobs
    WHERE schedule_id IS NULL AND retry_of IS NULL AND queue <> 'holdfast.maintenance'"""
)


AROUND = {
    "queue": statement("SELECT * FROM queues WHERE name = :queue"),
    "starts": statement("SELECT * FROM queue_starts WHERE queue = :queue"),
    "breaker": statement("SELECT * FROM queue_breakers WHERE queue = :queue"),
    "machines": statement("SELECT * FROM machines"),
    "sessions": statement("SELECT * FROM sessions WHERE status = 'running'"),
    "running": statement("SELECT id, queue, session_id, is_suspect, cpu, gpu, io FROM jobs WHERE state = 'RUNNING'"),
}


class Undo(Exception):
    """Ends a script whose writes are not wanted; carries what it found."""

    def __init__(self, found: Any) -> None:
        super().__init__(found)
        self.found = found


class Foreseen(Struct, frozen=True):
    """What a claim is going to take, and what the gates of some of these said before."""

    ids: list[JobId]
    gates: list[Why]


class Ledger:
    """What was acknowledged, what was started, and whether all that may be."""

    def __init__(self, world: World, *, looks_closely: bool) -> None:
        self.world = world
        self.looks_closely = looks_closely
        self.accepted = 0
        self.forgotten = 0
        self.shares = Shares("shared")
        self.windows = Windows()
        self.paces = Paces()
        self.broken: set[str] = set()
        self.workers: list[Worker] = []
        self.keeper: Keeper | None = None
        self.unburied: set[str] = set()

    def rehearse(self, script: Callable[..., Any], *args: Any) -> Any:
        """What a writing script would answer; nothing of it remains."""
        try:
            self.world.engine.submit(_undone, script, args).result(PATIENCE_S)
        except Undo as undo:
            return undo.found
        raise AssertionError("it was not undone")

    def rows(self, query: Statement, **params: object) -> list[dict[str, Any]]:
        """Read with a query of the test's own."""
        return self.world.engine.query(lambda tx: tx.rows(query, **params))

    def told_of(self, job_id: JobId) -> str:
        """All that matters to a job, for whoever has to find out what went wrong."""
        [job] = self.rows(JOB, id=job_id)
        others = {
            name: self.rows(query, **({"queue": job["queue"]} if ":queue" in query.sqlite else {}))
            for name, query in AROUND.items()
        }
        told = {name: value for name, value in job.items() if value not in (None, 0)}
        return f"it is {told} at {self.world.now}; around it: {others}"

    # At each claim

    def foresee(
        self, worker: Worker, reports: list[Report], request: ClaimRequest, holds: Sequence[RunId] | None
    ) -> Foreseen | None:
        """Ask what would be taken, and the gates of some of it; seldom where reports have to be written before."""
        now, told = self.world.now, (reports, request, holds, self.world.now)
        if not reports and holds is None:
            ids = self.world.engine.query(_would_claim, *told)
            some = self.world.random.sample(ids, min(LOOKED_AT, len(ids)))
            return Foreseen(ids, self.world.engine.query(_all_gates, some, now))
        if self.world.random.random() > REHEARSED:
            return None
        ids = self.rehearse(_would_claim, *told)
        some = self.world.random.sample(ids, min(LOOKED_AT, len(ids)))
        return Foreseen(ids, self.rehearse(_would_say, *told, some))

    def note_exchange(self, worker: Worker, foreseen: Foreseen | None, answer: Exchange) -> None:
        """The same rows give the same answer, no gate held what was started, and nothing held it that we know of."""
        if foreseen is not None:
            assert [run.job_id for run in answer.claimed] == foreseen.ids, "the same rows gave another order"
            for said in foreseen.gates:
                assert not said.closed, f"it is started, but: {said}"
        rows = [self.rows(STARTED, id=run.job_id, node=worker.node)[0] for run in answer.claimed]
        for row in rows:
            self._check_start(row)
            self.windows.note(row, self.world)
        self.paces.note(rows, self.world)
        self.shares.note_starts(rows, self.world)
        self.world.counts["started"] += len(answer.claimed)

    def _check_start(self, row: dict[str, Any]) -> None:
        now = self.world.now
        assert row["paused_at"] is None, f"queue paused: {row}"
        assert not row["reserved"], f"queue reserved: {row}"
        assert row["concurrency"] is None or row["running"] <= row["concurrency"], f"more than may run: {row}"
        assert row["deadline"] is None or row["deadline"] > now, f"past its deadline: {row}"
        assert row["ttl_ms"] is None or row["queued_at"] + row["ttl_ms"] > now, f"past its time to live: {row}"
        assert row["opened_at"] is None or row["probe"] == row["id"], f"the breaker is open, and it is no probe: {row}"
        held = {1: ("heavy",), 2: ("heavy", "normal")}.get(row["holds"], ())
        assert row["burden"] not in held, f"the machine holds it back: {row}"
        assert not row["wait_for_idle"] or row["is_idle"], f"the machine is not idle: {row}"
        assert not row["require_charging"] or row["is_charging"], f"the machine is not charging: {row}"

    def note_death(self, session: str) -> None:
        """A process is gone, and nobody knows yet."""
        self.unburied.add(session)

    def note_burial(self, session: str) -> None:
        """Now they know."""
        self.unburied.discard(session)
        self.world.counts["sessions over"] += 1

    def destiny(self, claimed: Claimed) -> tuple[Millis, Outcome]:
        """How long a run takes, and what comes of it."""
        random = self.world.random
        took = round(random.expovariate(1 / (90 * SECOND)))
        if claimed.queue in self.broken:
            return took // 20, NO_DISK
        luck = random.random()
        for bound, outcome in OUTCOMES:
            if luck < bound:
                return took, outcome
        return took, Completed("1")

    # After each thing that happened

    def look(self) -> None:
        """Everything that must be true now."""
        broken = self.world.engine.query(broken_invariants)
        assert not broken, f"broken: {broken}"
        self._look_at_the_idle()
        self._look_at_gates()
        for clock in self.world.clocks.values():
            clock.look()
        [known] = self.rows(KNOWN)
        assert known["jobs"] == self.accepted - self.forgotten, "acknowledged jobs are missing, or there are others"
        self.shares.look(self.world)

    def _look_at_the_idle(self) -> None:
        """Nobody who sleeps would get a job if he asked."""
        asking = [
            (worker.name, worker.holdings.request([], claims=True))
            for worker in self.workers
            if worker.session is not None and not worker.missed_an_answer
        ]
        if self.keeper is not None and self.keeper.request is not None:
            asking.append(("the keeper", self.keeper.request))
        if asking and not self.looks_closely:
            asking = [self.world.random.choice(asking)]
        for name, request in asking:
            jobs = self.world.engine.query(choose, request, self.world.now).jobs
            if jobs:
                said = self.world.engine.query(why, jobs[0].id, self.world.now)
                raise AssertionError(f"{name} sleeps, but would get {said}; {self.told_of(jobs[0].id)}")

    def _look_at_gates(self) -> None:
        """A waiting job has a gate that holds it."""
        if self.unburied or any(worker.missed_an_answer for worker in self.workers):
            return  # Somebody asks again in a moment, or is believed to do so.
        waiting = [row["id"] for row in self.rows(QUEUED)]
        others = [row["id"] for row in self.rows(WAITING)]
        some = LOOKED_AT if self.looks_closely else 1
        asked = self.world.random.sample(waiting, min(some, len(waiting)))
        asked += self.world.random.sample(others, min(1, len(others)))
        for job_id in asked:
            said = self.world.engine.query(why, job_id, self.world.now)
            assert said.closed, f"it waits, but nothing holds it: {said}; {self.told_of(job_id)}"


def _undone(tx: Tx, script: Callable[..., Any], args: tuple[Any, ...]) -> None:
    raise Undo(script(tx, *args))


def _up_to_the_claim(
    tx: Tx, reports: list[Report], request: ClaimRequest, holds: Sequence[RunId] | None, now: Millis
) -> None:
    if reports:
        finish(tx, reports, now)
    if holds is not None:
        give_back(tx, request.session_id, holds, now)


def _would_claim(
    tx: Tx, reports: list[Report], request: ClaimRequest, holds: Sequence[RunId] | None, now: Millis
) -> list[JobId]:
    _up_to_the_claim(tx, reports, request, holds, now)
    return [job.id for job in choose(tx, request, now).jobs]


def _would_say(
    tx: Tx,
    reports: list[Report],
    request: ClaimRequest,
    holds: Sequence[RunId] | None,
    now: Millis,
    ids: Sequence[JobId],
) -> list[Why]:
    _up_to_the_claim(tx, reports, request, holds, now)
    return _all_gates(tx, ids, now)


def _all_gates(tx: Tx, ids: Sequence[JobId], now: Millis) -> list[Why]:
    return [why(tx, job_id, now) for job_id in ids]


def _broke(kind: FailureKind, text: str) -> Broke:
    return Broke(Failure(kind, "ERR_TEST", text))


NO_DISK = _broke(FailureKind.INFRA, "the disk is full")
OUTCOMES: tuple[tuple[float, Outcome], ...] = (
    (0.05, _broke(FailureKind.TRANSIENT, "it broke")),
    (0.06, _broke(FailureKind.PERMANENT, "it never works")),
    (0.08, NO_DISK),
    (0.10, Snoozed(30 * SECOND)),
    (0.11, Skipped("nothing to do")),
    (0.13, Yielded("room for others")),
)
