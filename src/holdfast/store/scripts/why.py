"""Explain a wait: read what the gates depend on, and ask each of them."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.gates import Closed, Reserved, Verdict, World, look
from holdfast.core.job import Job, JobId, Millis, StateName
from holdfast.core.requests import ANY_QUEUE
from holdfast.store.engine import Tx
from holdfast.store.scripts.look import find_last
from holdfast.store.scripts.reserve import find_reservation
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


class OfferRow(Struct, frozen=True):
    """A living worker."""

    session_id: str
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
    world = World(
        now=now,
        waits_for=tuple(row["key"].partition(":")[2] for row in tx.rows(sql.open_conditions_of_job, job_id=job.id)),
        paused_at=facts.paused_at,
        pause_reason=facts.pause_reason,
        reserved=None if facts.reservation is None else _reserved(tx, facts.reservation),
        concurrency=facts.concurrency,
        running=facts.running,
        is_offered=bool(offers),
        busy_with=facts.busy_with,
        must_run_alone=bool(facts.is_suspect) and all(offer.running for offer in offers),
        kept_for=offers[0].runs_alone if offers and all(offer.runs_alone for offer in offers) else None,
    )
    free = sum(max(0, offer.slots - offer.running) for offer in offers if offer.runs_alone is None)
    return Why(job.id, job.state.name, look(job, world), free)


def _reserved(tx: Tx, reservation_id: str) -> Reserved:
    held = find_reservation(tx, reservation_id)
    return Reserved(held.reserved_by, held.scope, held.expires_at)
