"""Explain a wait: read what the gates depend on, and ask each of them."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.event import EVENT
from holdfast.core.gates import Closed, Place, Reserved, Verdict, World, look
from holdfast.core.job import Job, JobId, Millis, StateName
from holdfast.core.requests import ANY_QUEUE
from holdfast.store.engine import Tx
from holdfast.store.scripts.look import find_last
from holdfast.store.scripts.machines import list_machines
from holdfast.store.scripts.scopes import Reservation, find_reservation, overlap
from holdfast.store.statements import sql


class Why(Struct, frozen=True):
    """What every gate says about a job. A job that does not wait has none; `free_slots` is what could take it now."""

    job_id: JobId
    state: StateName
    gates: list[Verdict]
    free_slots: int

    @property
    def closed(self) -> list[Closed]:
        """The gates that hold it."""
        return [gate for gate in self.gates if isinstance(gate, Closed)]

    def __str__(self) -> str:
        if not self.gates:
            return f"job {self.job_id} does not wait: it is {self.state}"
        held = [f"{gate.reason} ({gate.now}); needs {gate.needs}" for gate in self.closed]
        if not held:
            held = ["nothing holds it; it is next when a slot is free" if not self.free_slots else "it is about to run"]
        return f"job {self.job_id} is {self.state}: " + "; ".join(held)


class Facts(Struct, frozen=True):
    """A row of `why_facts`."""

    paused_at: Millis | None
    pause_reason: str | None
    concurrency: int | None
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

    def serves(self, job: Job) -> bool:
        """Whether it would take a job of this task from this queue."""
        queues = msgspec.json.decode(self.queues)
        return job.task in msgspec.json.decode(self.tasks) and (job.queue in queues or ANY_QUEUE in queues)


def why(tx: Tx, job_id: JobId, now: Millis) -> Why:
    """What holds a job back; in a retry chain, the last link."""
    job = find_last(tx, job_id)
    facts = tx.one(sql.why_facts, Facts, id=job.id)
    assert facts is not None
    offers = [offer for offer in tx.all(sql.offers, OfferRow) if offer.serves(job)]
    conditions = tx.all(sql.open_conditions_of_job, OpenCondition, job_id=job.id)
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
        is_offered=bool(offers),
        busy_with=facts.busy_with,
        must_run_alone=bool(facts.is_suspect) and all(offer.running for offer in offers),
        kept_for=offers[0].runs_alone if offers and all(offer.runs_alone for offer in offers) else None,
    )
    free = sum(max(0, offer.slots - offer.running) for offer in offers if offer.runs_alone is None)
    return Why(job.id, job.state.name, look(job, world), free)


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
