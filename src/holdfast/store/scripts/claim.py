"""Hand ready jobs to a session: state, run row and owner change in one transaction."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.order import PLAIN, lanes_open
from holdfast.core.rate import Rate
from holdfast.core.requests import ANY_QUEUE, COMMAND, Claimed, ClaimRequest, is_system_queue
from holdfast.store.engine import Tx
from holdfast.store.scripts.picking import Candidate, Pick, Wish, charge, let_rest, pick
from holdfast.store.scripts.starts import Allowance, allowance, note_starts, tell_opening
from holdfast.store.statements import sql

SUSPECT_PATIENCE_MS = 30_000
MOST_SUSPECTS = 64


class Suspect(Struct, frozen=True, gc=False):
    """A job that waits to run with nothing beside it."""

    number: int
    queued_at: Millis


class Gates(Struct, frozen=True, gc=False):
    """What decides whether a queue may start anything."""

    paused_at: Millis | None
    concurrency: int | None
    rate_limit: int | None
    rate_window_ms: Millis | None
    opens_at: Millis | None
    running: int
    reservation: str | None


class Machine(Struct, frozen=True, gc=False):
    """What the machine of a session is like."""

    is_idle: int
    is_charging: int


class Load(Struct, frozen=True, gc=False):
    """What a session is running."""

    running: int
    suspects: int
    status: str | None


class Free(Struct, frozen=True):
    """How many jobs each queue may start now; of the wild ones, which share `wild_slots`, each at most so many.

    `allowed` is what is known of those that have a rate.
    """

    named: dict[str, int]
    wild: dict[str, int]
    wild_slots: int
    allowed: dict[str, Allowance]


def claim(tx: Tx, request: ClaimRequest, now: Millis) -> list[Claimed]:
    """At most `request.slots` jobs, each with a run of its own; the run id is the fencing token."""
    if request.slots <= 0 or not request.tasks:
        return []
    free = _free_slots(tx, request, now)
    if not (free.named or free.wild):
        return []
    load = tx.one(sql.session_load, Load, session_id=request.session_id)
    # A session that was settled as dead owns nothing: nobody would settle it a second time.
    if load is None or load.status != "running" or load.suspects:
        return []
    tasks = msgspec.json.encode(request.tasks).decode()
    open_lanes = _open_lanes(tx, request)
    suspects = _suspect_alone(tx, free, tasks, load, open_lanes, now)
    if suspects is not None:
        return _hand_over(tx, suspects, request, free, now)
    order, picks = _from_queues(tx, free, request, open_lanes, now)
    claimed = _hand_over(tx, order, request, free, now)
    for picked in picks:
        charge(tx, picked)
        let_rest(tx, picked)
    return claimed


def _free_slots(tx: Tx, request: ClaimRequest, now: Millis) -> Free:
    """What each queue may start, by its own gates and by what the caller can take."""
    asked = {item.queue: item.slots for item in request.queues}
    wild_slots = asked.pop(ANY_QUEUE, 0)
    wild: dict[str, int] = {}
    allowed: dict[str, Allowance] = {}
    if wild_slots > 0:
        # One that is named without a free slot is full, not wild.
        ready = sql.ready_command_queues if _wild_tasks(request) == (COMMAND,) else sql.ready_queues
        queues = [row["queue"] for row in tx.rows(ready) if row["queue"] not in asked]
        wild = _through_gates(tx, dict.fromkeys(queues, wild_slots), allowed, now)
    # The system's own queues are empty most of the time; whoever asks for them besides his own pays one step for each.
    asked = {name: n for name, n in asked.items() if not is_system_queue(name) or tx.value(sql.any_ready, queue=name)}
    return Free(_through_gates(tx, asked, allowed, now), wild, wild_slots, allowed)


def _through_gates(tx: Tx, asked: dict[str, int], allowed: dict[str, Allowance], now: Millis) -> dict[str, int]:
    free = {}
    for queue, wanted in asked.items():
        if wanted <= 0:
            continue
        gates = tx.one(sql.queue_gates, Gates, queue=queue)
        assert gates is not None
        if gates.paused_at is not None or gates.reservation is not None:
            continue
        slots = wanted if gates.concurrency is None else min(wanted, gates.concurrency - gates.running)
        if slots > 0 and gates.rate_limit is not None and gates.rate_window_ms is not None:
            allowed[queue] = _allowed(tx, queue, Rate(gates.rate_limit, gates.rate_window_ms), gates.opens_at, now)
            slots = min(slots, allowed[queue].free)
        if slots > 0:
            free[queue] = slots
    return free


def _allowed(tx: Tx, queue: str, rate: Rate, told: Millis | None, now: Millis) -> Allowance:
    """What a queue with a rate may start. Whoever finds it closed makes sure that all are woken when it opens."""
    found = allowance(tx, queue, rate, now)
    if found.opens_at is not None and found.opens_at != told:
        tell_opening(tx, queue, found.opens_at)
    return found


def _open_lanes(tx: Tx, request: ClaimRequest) -> int:
    """What the caller's machine is: a bit for each lane that is open. Nobody asks while no job waits for it."""
    if not tx.value(sql.any_gated):
        return PLAIN
    machine = tx.one(sql.machine_of_session, Machine, session_id=request.session_id)
    return PLAIN if machine is None else lanes_open(bool(machine.is_idle), bool(machine.is_charging))


def _suspect_alone(tx: Tx, free: Free, tasks: str, load: Load, open_lanes: int, now: Millis) -> list[Candidate] | None:
    """A job whose process died runs with nothing beside it, so that guilt shows. None: nobody waits for that."""
    queues = msgspec.json.encode([*free.named, *free.wild]).decode()
    waiting = tx.all(
        sql.ready_suspects, Suspect, queues=queues, tasks=tasks, open_lanes=open_lanes, limit=MOST_SUSPECTS
    )
    if not waiting:
        return None
    if load.running:
        # Others may pass it for a while; then the session is left to run empty for it.
        return [] if now - waiting[0].queued_at > SUSPECT_PATIENCE_MS else None
    for suspect in waiting:
        found = tx.all(sql.claimable_suspect, Candidate, number=suspect.number, open_lanes=open_lanes, now=now)
        if found:
            return found
    return None


def _from_queues(
    tx: Tx, free: Free, request: ClaimRequest, open_lanes: int, now: Millis
) -> tuple[list[Candidate], list[Pick]]:
    """The jobs to hand over, in order, and what of each queue they are."""
    order: list[Candidate] = []
    picks: list[Pick] = []
    for queue, slots in free.named.items():
        wanted = min(slots, request.slots - len(order))
        if wanted <= 0:
            break
        picks.append(pick(tx, Wish(queue, request.tasks, open_lanes, now), wanted))
        order += picks[-1].jobs
    wanted = min(free.wild_slots, request.slots - len(order))
    if wanted > 0 and free.wild:
        tasks = _wild_tasks(request)
        wild = [pick(tx, Wish(queue, tasks, open_lanes, now), min(slots, wanted)) for queue, slots in free.wild.items()]
        order += _merged(wild, wanted)
        picks += wild
    return order, picks


def _wild_tasks(request: ClaimRequest) -> tuple[str, ...]:
    return request.tasks if request.wild_tasks is None else request.wild_tasks


def _merged(picks: Sequence[Pick], wanted: int) -> list[Candidate]:
    """Each queue in its own order; between their heads, the higher priority and then the older job goes first.

    What is left over goes back: the picks hold what was taken.
    """
    heads = [(_wild_key(picked.jobs[0]), 0, picked) for picked in picks if picked.jobs]
    heapq.heapify(heads)
    found: list[Candidate] = []
    taken = dict.fromkeys((picked.queue for picked in picks), 0)
    while heads and len(found) < wanted:
        _, at, picked = heads[0]
        found.append(picked.jobs[at])
        taken[picked.queue] = at + 1
        if at + 1 < len(picked.jobs):
            heapq.heapreplace(heads, (_wild_key(picked.jobs[at + 1]), at + 1, picked))
        else:
            heapq.heappop(heads)
    for picked in picks:
        del picked.jobs[taken[picked.queue] :]
    return found


def _wild_key(job: Candidate) -> tuple[int, Millis, int]:
    return (-job.priority, job.created_at, job.number)


def _hand_over(
    tx: Tx, candidates: Sequence[Candidate], request: ClaimRequest, free: Free, now: Millis
) -> list[Claimed]:
    if not candidates:
        return []
    claimed = [
        Claimed(
            run_id=tx.new_id(),
            job_id=job.id,
            number=job.number,
            task=job.job_type,
            queue=job.queue,
            payload=job.payload,
            attempt=job.attempts + 1,
            started_at=now,
            subject=job.subject_key,
            generation=job.generation,
            timeout_ms=job.timeout_ms,
            deadline=job.deadline,
            checkpoint=job.checkpoint,
            tag=job.user_tag,
            trace_id=job.trace_id,
            queued_at=job.queued_at,
        )
        for job in candidates
    ]
    owner = {"session_id": request.session_id, "worker_id": request.worker_id, "now": now}
    tx.run_many(sql.claim_job, [owner | {"number": run.number, "run_id": run.run_id} for run in claimed])
    tx.run_many(
        sql.insert_run,
        [
            owner
            | {
                "run_id": run.run_id,
                "job_id": run.job_id,
                "attempt": run.attempt,
                "payload": run.payload,
                "trace_id": run.trace_id,
                "template_id": job.template_id,
            }
            for run, job in zip(claimed, candidates, strict=True)
        ],
    )
    if free.allowed:
        for queue, count in Counter(run.queue for run in claimed if run.queue in free.allowed).items():
            note_starts(tx, free.allowed[queue], count, now)
    return claimed
