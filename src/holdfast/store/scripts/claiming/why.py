"""Explain why a job waits: read what its gates look at, and ask each of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec import Struct, structs

from holdfast.core.gates import queue_gates
from holdfast.core.gates.gate_facts import GateFacts, MachineFacts, MachineTokens, ReservationFacts, Tie
from holdfast.core.gates.gates import Closed, look
from holdfast.core.gates.pressure import MachineLimits, bearing_on
from holdfast.core.gates.queue_gates import HoldReason, QueueFacts
from holdfast.core.job import JobId, Millis
from holdfast.core.jobs.stored_job import Job
from holdfast.core.machine.machine import NOT_YET
from holdfast.core.messages.machines import Machine
from holdfast.core.messages.reservations import Reservation, overlap
from holdfast.core.messages.why import Why
from holdfast.core.values.event import EVENT
from holdfast.store.engine import Tx
from holdfast.store.scripts.claiming import capacity, next_turns, rate_starts, token_choice
from holdfast.store.scripts.claiming.free_slots import may_start, queue_facts
from holdfast.store.scripts.claiming.rate_starts import Allowance
from holdfast.store.scripts.machines.machines import list_machines
from holdfast.store.scripts.machines.pressure import class_of
from holdfast.store.scripts.queues import breakers
from holdfast.store.scripts.queues.reservations import find_reservation
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.scripts.tasks.offers import OfferRow, claimers_of
from holdfast.store.statements import sql


class JobFactsRow(Struct, frozen=True):
    """A row of `why_facts`."""

    pause_reason: str | None
    busy_with: JobId | None
    is_suspect: int
    node: int
    ran_out: str | None


class TieRow(Struct, frozen=True):
    """A row of `tie_of_node`."""

    id: str
    name: str
    is_alive: int
    seen_at: Millis


class OpenCondition(Struct, frozen=True):
    """A condition of a job that has not come true."""

    key: str
    value: str

    @property
    def is_of_event(self) -> bool:
        """Whether an event makes it true."""
        return self.key == EVENT or self.key.startswith(f"{EVENT}.")


def why(tx: Tx, job_id: JobId, now: Millis) -> Why:
    """What holds a job back. In a retry chain that is the last link."""
    job = read_jobs.find_last(tx, job_id)
    row = tx.one(sql.why_facts, JobFactsRow, id=job.id)
    assert row is not None
    everybody = [offer for offer in claimers_of(tx, job) if offer.offers(job.task)]
    serving = [offer for offer in everybody if offer.serves(job.queue, job.task)]
    tie = _tie(tx, row.node, serving)
    # If nobody on its own machine takes it, the gate of the machine says so. The others look at all machines then.
    offers = [offer for offer in serving if tie is None or offer.node == tie.node_id] or serving
    machines = {machine.node_id: machine for machine in list_machines(tx)}
    queue, allowed = _queue(tx, job, now)
    found = _machines(machines, job, queue, offers, now)
    suiting = {machine.node for machine in found if machine.suits(job)}
    # Workers on machines that suit it. If none does, a gate of the machine says so.
    able = [offer for offer in offers if offer.node_name in suiting] or offers
    conditions = tx.all(sql.open_conditions_of_job, OpenCondition, job_id=job.id)
    reservation = queue.state.reservation
    facts = GateFacts(
        now=now,
        queue=queue,
        pause_reason=row.pause_reason,
        reserved=_reserved(tx, reservation),
        ran_out=None if reservation is not None else _reserved(tx, row.ran_out),
        breaker=None if queue.state.opened_at is None else breakers.find_breaker(tx, job.queue),
        rate_opens_at=None if allowed is None else allowed.opens_at,
        waits_for=tuple(row.key.partition(":")[2] for row in conditions if not row.is_of_event),
        event_attributes=_event_attributes(conditions),
        machines=found,
        pulls_at=_pulls_at(machines, queue, able, now),
        tie=tie,
        is_offered=bool(offers),
        offered_on=() if offers else _queues_of(everybody),
        busy_with=row.busy_with,
        must_run_alone=bool(row.is_suspect) and all(offer.running for offer in able),
        kept_for=able[0].runs_alone if able and all(offer.runs_alone for offer in able) else None,
        tokens=_tokens(tx, job, bool(row.is_suspect), machines, able, now),
    )
    workers = [offer.slots_for(tx, job) for offer in able if offer.runs_alone is None]
    gates = look(job, facts)
    if gates and not any(isinstance(gate, Closed) for gate in gates):
        gates = look(job, structs.replace(facts, place=next_turns.find_place(tx, job, row.node, workers, now)))
    slots, free_slots = sum(worker.slots for worker in workers), sum(worker.free for worker in workers)
    return Why(job.id, job.state.name, gates, free_slots, slots)


def _queue(tx: Tx, job: Job, now: Millis) -> tuple[QueueFacts, Allowance | None]:
    """The queue of a job as the claim sees it. The machine is that of no worker yet."""
    facts = structs.replace(queue_facts(tx, job.queue), queue_class=class_of(tx, job.queue))
    if facts.state.rate is None:
        return facts, None
    allowed = rate_starts.allowance(tx, job.queue, facts.state.rate, now)
    return structs.replace(facts, starts=allowed.starts), allowed


def _tie(tx: Tx, number: int, serving: list[OfferRow]) -> Tie | None:
    """The machine that a job is tied to, and whether a worker there would take it."""
    if not number:
        return None
    found = tx.one(sql.tie_of_node, TieRow, number=number)
    assert found is not None
    is_served = any(offer.node == found.id for offer in serving)
    return Tie(found.name, found.id, is_served, bool(found.is_alive), found.seen_at)


def _queues_of(offers: list[OfferRow]) -> tuple[str, ...]:
    """The queues that these serve."""
    return tuple(sorted({queue for offer in offers for queue in msgspec.json.decode(offer.queues)}))


def _event_attributes(conditions: list[OpenCondition]) -> dict[str, str] | None:
    rows = [row for row in conditions if row.is_of_event]
    return {row.key.removeprefix(f"{EVENT}."): row.value for row in rows if row.key != EVENT} if rows else None


def _machines(
    machines: Mapping[str, Machine], job: Job, queue: QueueFacts, offers: list[OfferRow], now: Millis
) -> tuple[MachineFacts, ...]:
    """The machines whose workers would take it; all of them, if there is no such worker."""
    nodes = {offer.node: offer.node_name for offer in offers}
    found = [
        MachineFacts(
            machine.node,
            machine.is_idle,
            machine.is_charging,
            machine.idle,
            machine.charging,
            _pressure(queue, MachineLimits(machine.holds), now) is HoldReason.MACHINE_RESTS,
            "; ".join(one.says for one in bearing_on(machine.pressure, job.queue, queue.queue_class)),
        )
        for machine in machines.values()
        if not nodes or machine.node_id in nodes
    ]
    if not (job.wait_for_idle or job.require_charging):
        # A machine that nobody looks at holds nothing back.
        found += [
            MachineFacts(nodes[node], False, False, NOT_YET, NOT_YET) for node in sorted(nodes.keys() - machines.keys())
        ]
    return tuple(found)


def _pulls_at(machines: Mapping[str, Machine], queue: QueueFacts, offers: list[OfferRow], now: Millis) -> Millis | None:
    """When the first of these workers takes jobs again, if none does now."""
    moments = []
    for offer in offers:
        machine = machines.get(offer.node)
        limits = MachineLimits() if machine is None else _limits(machine, offer)
        if _pressure(queue, limits, now) is not HoldReason.PULLS_LATER:
            return None
        moments.append(offer.pulls_at or now)
    return min(moments, default=None)


def _limits(machine: Machine, offer: OfferRow) -> MachineLimits:
    return MachineLimits(machine.holds, machine.pull_interval_ms, offer.pulls_at)


def _pressure(queue: QueueFacts, machine: MachineLimits, now: Millis) -> int | HoldReason:
    return queue_gates.pressure(structs.replace(queue, machine=machine), now)


def _tokens(
    tx: Tx, job: Job, runs_alone: bool, machines: Mapping[str, Machine], offers: list[OfferRow], now: Millis
) -> tuple[MachineTokens, ...]:
    """The tokens of the machines of these workers, and those that are kept there for others."""
    if not job.tokens:
        return ()
    found = []
    for node, offer in {offer.node: offer for offer in reversed(offers)}.items():
        machine = capacity.machine_of_session(tx, offer.session_id)
        holds = machines[node].holds if node in machines else 0
        # Nothing is kept from a job that runs alone: it goes before all others.
        kept = None if runs_alone else token_choice.kept_tokens(tx, machine, partial(_starts, tx, holds, now), now)
        if kept is None or kept.job.id == job.id:
            found.append(MachineTokens(offer.node_name, machine.capacity, machine.in_use))
        else:
            found.append(MachineTokens(offer.node_name, machine.capacity, machine.in_use, kept.needs, kept.job.id))
    return tuple(found)


def _starts(tx: Tx, holds: int, now: Millis, queue: str) -> bool:
    return may_start(tx, queue, holds, now)


def _reserved(tx: Tx, reservation_id: str | None) -> ReservationFacts | None:
    if reservation_id is None:
        return None
    held = find_reservation(tx, reservation_id)
    behind = sum(overlap(held.scope, other.scope) for other in tx.all(sql.waiting_reservations, Reservation))
    return ReservationFacts(held.reserved_by, held.scope, held.expires_at, held.granted_at is not None, behind)
