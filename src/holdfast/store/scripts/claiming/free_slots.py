"""Find the free slots of each queue: ask its gates, and the machine of the worker that claims."""

from __future__ import annotations

from msgspec import Struct, structs

from holdfast.core.gates import queue_gates
from holdfast.core.gates.pressure import MachineLimits
from holdfast.core.gates.queue_gates import NO_LIMIT, OF_STATE, SHUTTING, QueueFacts, QueueState
from holdfast.core.job import Millis
from holdfast.core.jobs import requests
from holdfast.core.jobs.requests import ANY_QUEUE, COMMAND, ClaimRequest
from holdfast.store.engine import Tx
from holdfast.store.scripts.claiming import rate_starts
from holdfast.store.scripts.claiming.fair_line import TenantShare
from holdfast.store.scripts.claiming.rate_starts import Allowance
from holdfast.store.scripts.machines import pressure
from holdfast.store.statements import sql


class OpenQueue(Struct):
    """A queue that may start jobs, and how many the claim may take.

    `is_limited`: a job that starts may keep the next one from starting. `allowance` is of a queue with a rate. `share`
    bounds the jobs of each tenant.
    """

    facts: QueueFacts
    slots: int
    is_limited: bool = False
    allowance: Allowance | None = None
    share: TenantShare | None = None


class FreeSlots(Struct, frozen=True):
    """The queues that may start jobs: those that the claim names, and the wild ones, which share `wild_slots`.

    `openings`: when queues at their rate may start again. Only those whose workers do not know yet.
    """

    named: dict[str, OpenQueue]
    wild: dict[str, OpenQueue]
    wild_slots: int
    openings: dict[str, Millis]

    def find(self, queue: str) -> OpenQueue:
        """The queue of this name."""
        return self.named[queue] if queue in self.named else self.wild[queue]


def wild_tasks(request: ClaimRequest) -> tuple[str, ...]:
    """The tasks that a claim takes of queues that it does not name."""
    return request.tasks if request.wild_tasks is None else request.wild_tasks


def queue_facts(tx: Tx, queue: str) -> QueueFacts:
    """What is stored about a queue. The claim and `why` both read it here."""
    state = tx.one(sql.queue_gates, QueueState, queue=queue)
    assert state is not None
    return QueueFacts(queue, state)


def find_free_slots(tx: Tx, request: ClaimRequest, now: Millis) -> FreeSlots:
    """Free slots by queue. The machine of the worker is not asked yet."""
    asked = {item.queue: item.slots for item in request.queues}
    free = FreeSlots({}, {}, asked.pop(ANY_QUEUE, 0), {})
    if free.wild_slots > 0:
        # A queue that is named without a free slot is full, not wild.
        ready = sql.ready_command_queues if wild_tasks(request) == (COMMAND,) else sql.ready_queues
        queues = [row["queue"] for row in tx.rows(ready) if row["queue"] not in asked]
        _open_queues(tx, dict.fromkeys(queues, free.wild_slots), free.wild, free.openings, now)
    # The system's own queues are mostly empty. One look at each saves the statements below.
    asked = {
        name: n
        for name, n in asked.items()
        if not requests.is_system_queue(name) or tx.value(sql.any_ready, queue=name)
    }
    _open_queues(tx, asked, free.named, free.openings, now)
    return free


def _open_queues(
    tx: Tx, asked: dict[str, int], found: dict[str, OpenQueue], openings: dict[str, Millis], now: Millis
) -> None:
    """Add each queue that may start jobs to `found`. For queues at their rate, note in `openings` when they may."""
    for queue, wanted in asked.items():
        if wanted <= 0:
            continue
        facts, allowed = queue_facts(tx, queue), None
        limit = queue_gates.free_slots(OF_STATE, facts, now)
        if limit and facts.state.rate is not None:
            allowed = rate_starts.allowance(tx, queue, facts.state.rate, now)
            if allowed.opens_at is not None and allowed.opens_at != facts.state.opens_at:
                # The first claim that finds it at its rate has all workers woken when it may start again.
                openings[queue] = allowed.opens_at
            facts = structs.replace(facts, starts=allowed.starts)
            limit = min(limit, queue_gates.free_slots((queue_gates.rate,), facts, now))
        if limit:
            found[queue] = OpenQueue(facts, min(wanted, limit), limit < NO_LIMIT, allowed)


def relieve_machine(tx: Tx, free: FreeSlots, machine: MachineLimits, now: Millis) -> None:
    """Take out the queues that a machine under pressure holds back."""
    for queues in (free.named, free.wild):
        for name, queue in list(queues.items()):
            queue.facts = _on_machine(tx, queue.facts, machine)
            if not queue_gates.free_slots((queue_gates.pressure,), queue.facts, now):
                del queues[name]
            elif queue.facts.pull_wait_ms:
                queue.is_limited = True


def may_start(tx: Tx, queue: str, holds: int, now: Millis) -> bool:
    """Whether the queue could start a job if nothing of it ran. `holds` is what the machine holds back.

    Its rate does not count.
    """
    facts = queue_facts(tx, queue)
    if not queue_gates.free_slots(SHUTTING, facts, now):
        return False
    return (
        not holds
        or queue_gates.free_slots((queue_gates.pressure,), _on_machine(tx, facts, MachineLimits(holds)), now) > 0
    )


def _on_machine(tx: Tx, facts: QueueFacts, machine: MachineLimits) -> QueueFacts:
    return structs.replace(facts, queue_class=pressure.class_of(tx, facts.name), machine=machine)
