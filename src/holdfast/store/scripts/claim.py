"""Hand ready jobs to a session: state, run row and owner change in one transaction."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.order import PLAIN, lanes_open
from holdfast.core.requests import ANY_QUEUE, COMMAND, Claimed, ClaimRequest, is_system_queue
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

SUSPECT_PATIENCE_MS = 30_000
MOST_SUSPECTS = 64


class Candidate(Struct, frozen=True, gc=False):
    """A job that may be claimed."""

    number: int
    id: str
    job_type: str
    queue: str
    payload: str
    attempts: int
    subject_key: str | None
    generation: int | None
    timeout_ms: Millis | None
    deadline: Millis | None
    checkpoint: str | None
    user_tag: str | None
    trace_id: str | None
    is_suspect: int
    queued_at: Millis
    template_id: str | None


class WildCandidate(Candidate, frozen=True, gc=False):
    """A job of a queue that was not asked for by name, with what decides between such queues."""

    priority: int
    created_at: Millis


class LaneCandidate(WildCandidate, frozen=True, gc=False):
    """A job with what decides between the lanes of its queue."""

    position: int


class Suspect(Struct, frozen=True, gc=False):
    """A job that waits to run with nothing beside it."""

    number: int
    queued_at: Millis


class Gates(Struct, frozen=True, gc=False):
    """What decides whether a queue may start anything."""

    paused_at: Millis | None
    concurrency: int | None
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
    """How many jobs each queue may start now; of the wild ones, which share `wild_slots`, each at most so many."""

    named: dict[str, int]
    wild: dict[str, int]
    wild_slots: int


def claim(tx: Tx, request: ClaimRequest, now: Millis) -> list[Claimed]:
    """At most `request.slots` jobs, each with a run of its own; the run id is the fencing token."""
    if request.slots <= 0 or not request.tasks:
        return []
    free = _free_slots(tx, request)
    if not (free.named or free.wild):
        return []
    load = tx.one(sql.session_load, Load, session_id=request.session_id)
    # A session that was settled as dead owns nothing: nobody would settle it a second time.
    if load is None or load.status != "running" or load.suspects:
        return []
    tasks = msgspec.json.encode(request.tasks).decode()
    open_lanes = _open_lanes(tx, request)
    candidates = _suspect_alone(tx, free, tasks, load, open_lanes, now)
    if candidates is None:
        candidates = _from_queues(tx, free, request, open_lanes, now)
    return _hand_over(tx, candidates, request, now)


def _free_slots(tx: Tx, request: ClaimRequest) -> Free:
    """What each queue may start, by its own gates and by what the caller can take."""
    asked = {item.queue: item.slots for item in request.queues}
    wild_slots = asked.pop(ANY_QUEUE, 0)
    wild: dict[str, int] = {}
    if wild_slots > 0:
        # One that is named without a free slot is full, not wild.
        ready = sql.ready_command_queues if _wild_tasks(request) == (COMMAND,) else sql.ready_queues
        queues = [row["queue"] for row in tx.rows(ready) if row["queue"] not in asked]
        wild = _through_gates(tx, dict.fromkeys(queues, wild_slots))
    # The system's own queues are empty most of the time; whoever asks for them besides his own pays one step for each.
    asked = {name: n for name, n in asked.items() if not is_system_queue(name) or tx.value(sql.any_ready, queue=name)}
    return Free(_through_gates(tx, asked), wild, wild_slots)


def _through_gates(tx: Tx, asked: dict[str, int]) -> dict[str, int]:
    free = {}
    for queue, wanted in asked.items():
        if wanted <= 0:
            continue
        gates = tx.one(sql.queue_gates, Gates, queue=queue)
        assert gates is not None
        if gates.paused_at is not None or gates.reservation is not None:
            continue
        slots = wanted if gates.concurrency is None else min(wanted, gates.concurrency - gates.running)
        if slots > 0:
            free[queue] = slots
    return free


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


def _from_queues(tx: Tx, free: Free, request: ClaimRequest, open_lanes: int, now: Millis) -> list[Candidate]:
    found: list[Candidate] = []
    for queue, slots in free.named.items():
        wanted = min(slots, request.slots - len(found))
        if wanted <= 0:
            break
        found += _heads(tx, Candidate, request.tasks, open_lanes, queue=queue, slots=wanted, now=now)
    wanted = min(free.wild_slots, request.slots - len(found))
    if wanted > 0 and free.wild:
        tasks = _wild_tasks(request)
        heads = [
            _heads(tx, WildCandidate, tasks, open_lanes, queue=queue, slots=min(slots, wanted), now=now)
            for queue, slots in free.wild.items()
        ]
        found += _merged(heads, wanted)
    return found


C = TypeVar("C", bound=Candidate)


def _heads(
    tx: Tx, into: type[C], tasks: tuple[str, ...], open_lanes: int, *, queue: str, slots: int, now: Millis
) -> Sequence[C]:
    """The first jobs of a queue over the lanes that are open, in their common order."""
    if open_lanes == PLAIN:
        return _head_of_lane(tx, into, tasks, queue=queue, lane=PLAIN, slots=slots, now=now)
    # What comes out has all that decides between lanes, and so all that anybody else asks for.
    kind: type[Any] = LaneCandidate
    found: list[Any] = []
    for lane in range(PLAIN, open_lanes + 1):
        if lane & open_lanes == lane:
            found += _head_of_lane(tx, kind, tasks, queue=queue, lane=lane, slots=slots, now=now)
    return sorted(found, key=_order_key)[:slots]


def _head_of_lane(tx: Tx, into: type[C], tasks: tuple[str, ...], **lane: object) -> list[C]:
    """The first jobs of a lane. Commands alone have an index of their own, so that nobody walks past other jobs."""
    if tasks == (COMMAND,):
        return tx.all(sql.claimable_commands, into, **lane)
    return tx.all(sql.claimable, into, tasks=msgspec.json.encode(tasks).decode(), **lane)


def _order_key(job: LaneCandidate) -> tuple[int, int, Millis, str]:
    return (-job.priority, job.position, job.created_at, job.id)


def _wild_tasks(request: ClaimRequest) -> tuple[str, ...]:
    return request.tasks if request.wild_tasks is None else request.wild_tasks


def _merged(queues: Iterable[Sequence[WildCandidate]], wanted: int) -> list[Candidate]:
    """Each queue in its own order; between their heads, the higher priority and then the older job goes first."""
    heads = [(_wild_key(queue[0]), 0, queue) for queue in queues if queue]
    heapq.heapify(heads)
    found: list[Candidate] = []
    while heads and len(found) < wanted:
        _, at, queue = heads[0]
        found.append(queue[at])
        if at + 1 < len(queue):
            heapq.heapreplace(heads, (_wild_key(queue[at + 1]), at + 1, queue))
        else:
            heapq.heappop(heads)
    return found


def _wild_key(job: WildCandidate) -> tuple[int, Millis, int]:
    return (-job.priority, job.created_at, job.number)


def _hand_over(tx: Tx, candidates: list[Candidate], request: ClaimRequest, now: Millis) -> list[Claimed]:
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
    return claimed
