"""Explain a wait: read what the gates depend on, and ask each of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec import Struct, structs

from holdfast.core.breaker import Breaker, has_opened
from holdfast.core.event import EVENT
from holdfast.core.gates import Closed, Verdict, look
from holdfast.core.job import Job, JobId, Millis, StateName
from holdfast.core.machine import NOT_YET
from holdfast.core.pressure import Holds, bearing_on, is_held, is_paced
from holdfast.core.queue import QueueClass
from holdfast.core.rate import Rate
from holdfast.core.world import Place, Reserved, Tie, TokenPlace, World
from holdfast.store.engine import Tx
from holdfast.store.scripts.breakers import find_breaker
from holdfast.store.scripts.claim import may_start
from holdfast.store.scripts.look import find_last
from holdfast.store.scripts.machines import Machine, list_machines
from holdfast.store.scripts.offers import OfferRow, claimers_of
from holdfast.store.scripts.pressed import class_of
from holdfast.store.scripts.room import claimer
from holdfast.store.scripts.scopes import Reservation, find_reservation, overlap
from holdfast.store.scripts.sharing import kept_room
from holdfast.store.scripts.starts import Allowance, allowance
from holdfast.store.scripts.turns import find_turn
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

    def __str__(self) -> str:
        if not self.gates:
            return f"job {self.job_id} does not wait: it is {self.state}"
        held = [f"{gate.reason} ({gate.now}); needs {gate.needs}" for gate in self.closed]
        return f"job {self.job_id} is {self.state}: " + ("; ".join(held) or "it is about to run")


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
    node: int
    is_probing: int | None
    reservation: str | None
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
    """What holds a job back; in a retry chain, the last link."""
    job = find_last(tx, job_id)
    facts = tx.one(sql.why_facts, Facts, id=job.id)
    assert facts is not None
    everybody = [offer for offer in claimers_of(tx, job) if offer.offers(job.task)]
    serving = [offer for offer in everybody if offer.serves(job.queue, job.task)]
    tie = _tie(tx, facts.node, serving)
    # On any machine, where its own has nobody for it: that is what its gate says then.
    offers = [offer for offer in serving if tie is None or offer.node == tie.node_id] or serving
    machines = {machine.node_id: machine for machine in list_machines(tx)}
    queue_class = class_of(tx, job.queue)
    places = _places(machines, job, queue_class, offers)
    suiting = {place.node for place in places if place.suits(job)}
    # Those on machines that suit it; if none does, a gate of the machine says so.
    able = [offer for offer in offers if offer.node_name in suiting] or offers
    conditions = tx.all(sql.open_conditions_of_job, OpenCondition, job_id=job.id)
    allowed = _allowance(tx, job, facts, now)
    world = World(
        now=now,
        waits_for=tuple(row.key.partition(":")[2] for row in conditions if not row.is_of_event),
        event_attributes=_event_attributes(conditions),
        places=places,
        paused_at=facts.paused_at,
        pause_reason=facts.pause_reason,
        reserved=_reserved(tx, facts.reservation),
        ran_out=None if facts.reservation is not None else _reserved(tx, facts.ran_out),
        breaker=_opened(find_breaker(tx, job.queue)),
        is_probing=bool(facts.is_probing),
        concurrency=facts.concurrency,
        running=facts.running,
        rate=None if allowed is None else allowed.rate,
        started=0 if allowed is None else allowed.starts.in_window,
        rate_opens_at=None if allowed is None else allowed.opens_at,
        tie=tie,
        is_offered=bool(offers),
        offered_on=() if offers else _queues_of(everybody),
        busy_with=facts.busy_with,
        must_run_alone=bool(facts.is_suspect) and all(offer.running for offer in able),
        kept_for=able[0].runs_alone if able and all(offer.runs_alone for offer in able) else None,
        pulls_at=_pulls_at(machines, job, queue_class, able, now),
        token_places=_token_places(tx, job, bool(facts.is_suspect), machines, able, now),
    )
    rooms = [offer.room_for(tx, job) for offer in able if offer.runs_alone is None]
    gates = look(job, world)
    if gates and not any(isinstance(gate, Closed) for gate in gates):
        gates = look(job, structs.replace(world, turn=find_turn(tx, job, facts.node, rooms, now)))
    slots, free_slots = sum(room.slots for room in rooms), sum(room.free for room in rooms)
    return Why(job.id, job.state.name, gates, free_slots, slots)


def _tie(tx: Tx, number: int, serving: list[OfferRow]) -> Tie | None:
    """The machine that a job is tied to, and whether somebody there would take it."""
    if not number:
        return None
    found = tx.one(sql.tie_of_node, TieRow, number=number)
    assert found is not None
    is_served = any(offer.node == found.id for offer in serving)
    return Tie(found.name, found.id, is_served, bool(found.is_alive), found.seen_at)


def _queues_of(offers: list[OfferRow]) -> tuple[str, ...]:
    """The queues that these serve."""
    return tuple(sorted({queue for offer in offers for queue in msgspec.json.decode(offer.queues)}))


def _opened(breaker: Breaker | None) -> Breaker | None:
    return breaker if has_opened(breaker) else None


def _allowance(tx: Tx, job: Job, facts: Facts, now: Millis) -> Allowance | None:
    if facts.rate_limit is None or facts.rate_window_ms is None:
        return None
    return allowance(tx, job.queue, Rate(facts.rate_limit, facts.rate_window_ms), now)


def _event_attributes(conditions: list[OpenCondition]) -> dict[str, str] | None:
    rows = [row for row in conditions if row.is_of_event]
    return {row.key.removeprefix(f"{EVENT}."): row.value for row in rows if row.key != EVENT} if rows else None


def _places(
    machines: Mapping[str, Machine], job: Job, queue_class: QueueClass, offers: list[OfferRow]
) -> tuple[Place, ...]:
    """The machines whose workers would take it; all of them, if there is no such worker."""
    nodes = {offer.node: offer.node_name for offer in offers}
    places = [
        Place(
            machine.node,
            machine.is_idle,
            machine.is_charging,
            machine.idle,
            machine.charging,
            is_held(machine.holds, job.queue, queue_class),
            "; ".join(one.says for one in bearing_on(machine.pressure, job.queue, queue_class)),
        )
        for machine in machines.values()
        if not nodes or machine.node_id in nodes
    ]
    if not (job.wait_for_idle or job.require_charging):
        # A machine that nobody looks at holds nothing back.
        places += [
            Place(nodes[node], False, False, NOT_YET, NOT_YET) for node in sorted(nodes.keys() - machines.keys())
        ]
    return tuple(places)


def _pulls_at(
    machines: Mapping[str, Machine], job: Job, queue_class: QueueClass, offers: list[OfferRow], now: Millis
) -> Millis | None:
    """When the first of these workers pulls again, if none of them does now."""
    if not is_held(Holds.ALL_BUT_LIGHT, job.queue, queue_class):
        return None
    moments = []
    for offer in offers:
        machine = machines.get(offer.node)
        if machine is None or not is_paced(machine.pull_interval_ms, offer.pulls_at, now):
            return None
        moments.append(offer.pulls_at or now)
    return min(moments, default=None)


def _token_places(
    tx: Tx, job: Job, runs_alone: bool, machines: Mapping[str, Machine], offers: list[OfferRow], now: Millis
) -> tuple[TokenPlace, ...]:
    """What the machines of these workers have of what it needs, and what is kept there for others."""
    if not job.tokens:
        return ()
    places = []
    for node, offer in {offer.node: offer for offer in reversed(offers)}.items():
        found = claimer(tx, offer.session_id)
        holds = machines[node].holds if node in machines else 0
        # Nothing is kept from one that runs alone: it goes before all others.
        kept = None if runs_alone else kept_room(tx, found, partial(_starts, tx, holds, now), now)
        if kept is None or kept.job.id == job.id:
            places.append(TokenPlace(offer.node_name, found.capacity, found.in_use))
        else:
            places.append(TokenPlace(offer.node_name, found.capacity, found.in_use, kept.needs, kept.job.id))
    return tuple(places)


def _starts(tx: Tx, holds: int, now: Millis, queue: str) -> bool:
    return may_start(tx, queue, holds, now)


def _reserved(tx: Tx, reservation_id: str | None) -> Reserved | None:
    if reservation_id is None:
        return None
    held = find_reservation(tx, reservation_id)
    behind = sum(overlap(held.scope, other.scope) for other in tx.all(sql.waiting_reservations, Reservation))
    return Reserved(held.reserved_by, held.scope, held.expires_at, held.granted_at is not None, behind)
