"""Explain a wait: read what the gates depend on, and ask each of them."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.event import EVENT
from holdfast.core.gates import Closed, Place, Reserved, Verdict, World, look
from holdfast.core.job import Job, JobId, Millis, StateName
from holdfast.core.rate import Rate
from holdfast.core.requests import ANY_QUEUE
from holdfast.store.engine import Tx
from holdfast.store.scripts.look import find_last
from holdfast.store.scripts.machines import list_machines
from holdfast.store.scripts.scopes import Reservation, find_reservation, overlap
from holdfast.store.scripts.starts import Allowance, allowance
from holdfast.store.statements import sql


class Why(Struct, frozen=True):
    """What every gate says about a job. A job that does not wait has none.

    `slots` are those that could take it, `free_slots` those of them that are free.
    """

    job_id: JobId
    state: StateName
    gates: list[Verdict]
    free_slots: int
    slots: int = 0

    @property
    def closed(self) -> list[Closed]:
        """The gates that hold it."""
        return [gate for gate in self.gates if isinstance(gate, Closed)]

    @property
    def slots_say(self) -> str:
        """How it stands with the slots that could take it, in words."""
        if self.free_slots:
            return (
                f"{self.free_slots} of {self.slots} that could take it {'is' if self.free_slots == 1 else 'are'} free"
            )
        match self.slots:
            case 0:
                return "none could take it now"
            case 1:
                return "the only slot that could take it is busy"
            case many:
                return f"all {many} slots that could take it are busy"

    def __str__(self) -> str:
        if not self.gates:
            return f"job {self.job_id} does not wait: it is {self.state}"
        held = [f"{gate.reason} ({gate.now}); needs {gate.needs}" for gate in self.closed]
        if not held:
            held = ["it is about to run" if self.free_slots else f"no gate holds it, but {self.slots_say}"]
        return f"job {self.job_id} is {self.state}: " + "; ".join(held)


class Facts(Struct, frozen=True):
    """A row of `why_facts`."""

    paused_at: Millis | None
    pause_reason: str | None
    concurrency: int | None
    rate_limit: int | None
    rate_window_ms: Millis | None
    running: int
    busy_with: JobId | None
    is_suspect: int
    reservation: str | None
    ran_out: str | None


class OpenCondition(Struct, frozen=True):
    """A condition of a job that has not come true."""

    key: str
    value: str

    @property
    def is_of_event(self) -> bool:
        """Whether an event makes it true."""
        return self.key == EVENT or self.key.startswith(f"{EVENT}.")


class OfferRow(Struct, frozen=True):
    """A living worker."""

    session_id: str
    node: str
    tasks: str
    queues: str
    slots: int
    running: int
    runs_alone: JobId | None

    def offers(self, task: str) -> bool:
        """Whether it would take a job of this task from some queue."""
        return task in msgspec.json.decode(self.tasks)

    def serves(self, job: Job) -> bool:
        """Whether it would take a job of this task from this queue."""
        queues = msgspec.json.decode(self.queues)
        return self.offers(job.task) and (job.queue in queues or ANY_QUEUE in queues)

    def lane(self, tx: Tx, queue: str) -> Lane:
        """The slots that a job of this queue would take one of."""
        queues = msgspec.json.decode(self.queues)
        if not isinstance(queues, dict):
            return Lane(self.slots, self.running)
        # Every queue that is not named shares the slots of `*`.
        name = queue if queue in queues else ANY_QUEUE
        by_queue = tx.all(sql.running_by_queue, RunningInQueue, session_id=self.session_id)
        busy = sum(row.running for row in by_queue if (row.queue if row.queue in queues else ANY_QUEUE) == name)
        return Lane(queues[name], busy)


class Lane(Struct, frozen=True):
    """Slots of a worker that jobs of one queue, or of some, share."""

    slots: int
    busy: int


class RunningInQueue(Struct, frozen=True):
    """A row of `running_by_queue`."""

    queue: str
    running: int


def why(tx: Tx, job_id: JobId, now: Millis) -> Why:
    """What holds a job back; in a retry chain, the last link."""
    job = find_last(tx, job_id)
    facts = tx.one(sql.why_facts, Facts, id=job.id)
    assert facts is not None
    everybody = [offer for offer in tx.all(sql.offers, OfferRow) if offer.offers(job.task)]
    offers = [offer for offer in everybody if offer.serves(job)]
    conditions = tx.all(sql.open_conditions_of_job, OpenCondition, job_id=job.id)
    allowed = _allowance(tx, job, facts, now)
    world = World(
        now=now,
        waits_for=tuple(row.key.partition(":")[2] for row in conditions if not row.is_of_event),
        event_attributes=_event_attributes(conditions),
        places=_places(tx, job, offers),
        paused_at=facts.paused_at,
        pause_reason=facts.pause_reason,
        reserved=_reserved(tx, facts.reservation),
        ran_out=None if facts.reservation is not None else _reserved(tx, facts.ran_out),
        concurrency=facts.concurrency,
        running=facts.running,
        rate=None if allowed is None else allowed.rate,
        started=0 if allowed is None else allowed.starts.in_window,
        rate_opens_at=None if allowed is None else allowed.opens_at,
        is_offered=bool(offers),
        offered_on=() if offers else _queues_of(everybody),
        busy_with=facts.busy_with,
        must_run_alone=bool(facts.is_suspect) and all(offer.running for offer in offers),
        kept_for=offers[0].runs_alone if offers and all(offer.runs_alone for offer in offers) else None,
    )
    lanes = [offer.lane(tx, job.queue) for offer in offers if offer.runs_alone is None]
    free = sum(max(0, lane.slots - lane.busy) for lane in lanes)
    return Why(job.id, job.state.name, look(job, world), free, sum(lane.slots for lane in lanes))


def _queues_of(offers: list[OfferRow]) -> tuple[str, ...]:
    """The queues that these serve."""
    return tuple(sorted({queue for offer in offers for queue in msgspec.json.decode(offer.queues)}))


def _allowance(tx: Tx, job: Job, facts: Facts, now: Millis) -> Allowance | None:
    if facts.rate_limit is None or facts.rate_window_ms is None:
        return None
    return allowance(tx, job.queue, Rate(facts.rate_limit, facts.rate_window_ms), now)


def _event_attributes(conditions: list[OpenCondition]) -> dict[str, str] | None:
    rows = [row for row in conditions if row.is_of_event]
    return {row.key.removeprefix(f"{EVENT}."): row.value for row in rows if row.key != EVENT} if rows else None


def _places(tx: Tx, job: Job, offers: list[OfferRow]) -> tuple[Place, ...]:
    """The machines whose workers would take it; all of them, if there is no such worker."""
    if not (job.wait_for_idle or job.require_charging):
        return ()
    machines, nodes = list_machines(tx), {offer.node for offer in offers}
    return tuple(
        Place(machine.node, machine.is_idle, machine.is_charging, machine.idle, machine.charging)
        for machine in machines
        if not nodes or machine.node in nodes
    )


def _reserved(tx: Tx, reservation_id: str | None) -> Reserved | None:
    if reservation_id is None:
        return None
    held = find_reservation(tx, reservation_id)
    behind = sum(overlap(held.scope, other.scope) for other in tx.all(sql.waiting_reservations, Reservation))
    return Reserved(held.reserved_by, held.scope, held.expires_at, held.granted_at is not None, behind)
