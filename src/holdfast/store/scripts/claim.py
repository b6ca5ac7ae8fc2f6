"""Hand ready jobs to a session: state, run row and owner change in one transaction."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from msgspec import Struct, structs

from holdfast.core.breaker import may_probe
from holdfast.core.errors import NotHolder
from holdfast.core.job import JobId, Millis
from holdfast.core.rate import Rate
from holdfast.core.requests import ANY_QUEUE, COMMAND, Claimed, ClaimRequest, is_system_queue
from holdfast.core.tokens import KINDS, NO_TOKENS, TOKEN_LANES, Tokens
from holdfast.core.webhook import WEBHOOK_QUEUE, share_of_receiver
from holdfast.store.engine import Tx
from holdfast.store.scripts.breakers import note_probe
from holdfast.store.scripts.holders import hash_of
from holdfast.store.scripts.picking import Candidate, Pick, TenantShare, Wish, charge, let_rest, out_of_turn, pick
from holdfast.store.scripts.pressed import Asked, note_pull, relieve
from holdfast.store.scripts.reporting import say_claimed
from holdfast.store.scripts.room import Claimer, look_around
from holdfast.store.scripts.sharing import Kept, Passed, Wanted, note_share, share_out
from holdfast.store.scripts.starts import Allowance, allowance, note_starts, tell_opening
from holdfast.store.scripts.suspects import Suspect, waiting_suspects
from holdfast.store.scripts.waking import wake_held_back, wake_ready
from holdfast.store.statements import sql

SUSPECT_PATIENCE_MS = 30_000
MOST_BYTES = 16 << 20


class Gates(Struct, frozen=True, gc=False):
    """What decides whether a queue may start anything."""

    paused_at: Millis | None
    concurrency: int | None
    rate_limit: int | None
    rate_window_ms: Millis | None
    opens_at: Millis | None
    opened_at: Millis | None
    half_opens_at: Millis | None
    running: int
    reservation: str | None
    is_probing: int | None

    def is_shut(self, now: Millis) -> bool:
        """Whether it starts nothing, however little of it runs: it is paused, reserved, or its breaker is open."""
        if self.paused_at is not None or self.reservation is not None:
            return True
        is_broken = self.opened_at is not None
        return is_broken and not may_probe(self.opened_at, self.half_opens_at, bool(self.is_probing), now)


class Load(Struct, frozen=True, gc=False):
    """What a session is running, and what its machine asks for. `tied` is a lane of ready jobs for it alone."""

    running: int
    suspects: int
    status: str | None
    pulls_at: Millis | None
    secret_hash: str | None
    holds: int | None
    pull_interval_ms: Millis | None
    node: int
    tied: int | None


class Free(Struct, frozen=True):
    """How many jobs each queue may start now; of the wild ones, which share `wild_slots`, each at most so many.

    `allowed` is what is known of those that have a rate; `openings`, when those open that are closed and nobody knows.
    `probing` are those whose breaker lets one job through, `paced` those whose starts make the next pull wait so long,
    `narrow` all those of which a start may keep the next one from starting, `shares` what each tenant may have of those
    that give one no more.
    """

    named: dict[str, int] = {}
    wild: dict[str, int] = {}
    wild_slots: int = 0
    allowed: dict[str, Allowance] = {}
    openings: dict[str, Millis] = {}
    probing: set[str] = set()
    paced: dict[str, Millis] = {}
    narrow: set[str] = set()
    shares: dict[str, TenantShare] = {}


class Choice(Struct, frozen=True):
    """What a claim hands over: these jobs in this order, and what of each queue they are.

    `kept_for` is a job that runs with nothing beside it: it goes first, or the session is left to run empty for it.
    `passed` are those for which there were no tokens at their turn, `kept` is the room that is kept for one of them,
    `taken` what those who are handed over take. `had_waited`: one of these had been passed. `secret_hash` is what is
    stored of the secret of the session that they are for.
    """

    jobs: Sequence[Candidate] = ()
    picks: Sequence[Pick] = ()
    free: Free = Free()
    kept_for: JobId | None = None
    passed: Sequence[Passed] = ()
    kept: Kept | None = None
    taken: Tokens = NO_TOKENS
    had_waited: bool = False
    secret_hash: str | None = None


def claim(tx: Tx, request: ClaimRequest, now: Millis) -> list[Claimed]:
    """At most `request.slots` jobs, each with a run of its own; the run id is the fencing token.

    It ends after 16 MiB of payloads, with at least one job; whoever has free slots is told to ask again at once.
    Only who knows the secret of the session is given any.
    """
    return claim_held(tx, request, hash_of(request.secret), now)


def claim_held(tx: Tx, request: ClaimRequest, secret_hash: str | None, now: Millis) -> list[Claimed]:
    """The same, given what is stored of the secret."""
    choice = choose(tx, request, now)
    if choice.jobs and choice.secret_hash != secret_hash:
        raise NotHolder(f"session {request.session_id} was opened with another secret; only its worker claims for it")
    while (fitting := _fitting(choice.jobs)) < len(choice.jobs):
        tx.changes.ready.update(job.queue for job in choice.jobs[fitting:])
        # Chosen anew, because turns and tokens depend on how many start.
        choice = choose(tx, structs.replace(request, slots=fitting), now)
    for queue, opens_at in choice.free.openings.items():
        tell_opening(tx, queue, opens_at)
    claimed = _hand_over(tx, choice.jobs, request, choice.free, now)
    if claimed:
        _wake_others(tx, choice)
    for picked in choice.picks:
        charge(tx, picked)
        let_rest(tx, picked)
    if choice.passed or choice.kept is not None:
        note_share(tx, choice.passed, choice.kept, now)
    for kind in KINDS if choice.taken else ():
        tx.tally.count_tokens(kind, getattr(choice.taken, kind))
    return claimed


def _fitting(jobs: Sequence[Candidate]) -> int:
    """How many of these jobs, in this order, go into one answer; at least one if there are any."""
    sizes = accumulate(job.size for job in jobs)
    return max(sum(size <= MOST_BYTES for size in sizes), min(len(jobs), 1))


def _wake_others(tx: Tx, choice: Choice) -> None:
    """Others were held back for what has started, or for what may not start now, because of that."""
    if choice.kept_for is not None or choice.had_waited:
        wake_ready(tx)
    elif choice.taken or any(job.queue in choice.free.narrow for job in choice.jobs):
        wake_held_back(tx)


def choose(tx: Tx, request: ClaimRequest, now: Millis) -> Choice:
    """What a claim would hand over now. It writes nothing: whoever wants to know why a job waits asks it as well."""
    if request.slots <= 0 or not request.tasks:
        return Choice()
    free = _free_slots(tx, request, now)
    if not (free.named or free.wild):
        return Choice(free=free)
    load = tx.one(sql.session_load, Load, session_id=request.session_id)
    # A session that was settled as dead owns nothing: nobody would settle it a second time.
    if load is None or load.status != "running" or load.suspects:
        return Choice(free=free)
    if load.holds or load.pull_interval_ms:
        _relieve(tx, free, load, now)
    claimer = look_around(tx, request.session_id, load.node, load.tied is not None)
    offers = ((free.named, request.tasks), (free.wild, _wild_tasks(request)))
    suspects = waiting_suspects(tx, offers, claimer.machine_lanes | claimer.capacity.lanes, load.node)
    # What the session itself uses is free once it runs empty.
    room = claimer.capacity.less(claimer.others)
    choice = _suspect_alone(tx, free, [one for one in suspects if one.needs.fit(room)], load, claimer, now)
    choice = choice or _beside_others(tx, free, request, claimer, load, now)
    passed = next((one for one in suspects if not one.needs.fit(room) and one.needs.fit(claimer.capacity)), None)
    all_passed = choice.passed if passed is None else [*choice.passed, passed]
    return structs.replace(choice, passed=all_passed, secret_hash=load.secret_hash)


def _beside_others(tx: Tx, free: Free, request: ClaimRequest, claimer: Claimer, load: Load, now: Millis) -> Choice:
    if WEBHOOK_QUEUE in free.named:
        free.shares[WEBHOOK_QUEUE] = _share_of_receivers(tx, request.session_id, free.named[WEBHOOK_QUEUE])
    named = {
        queue: Wish(queue, request.tasks, claimer.lanes_of(tx, queue), now, free.shares.get(queue))
        for queue in free.named
    }
    wild = {queue: Wish(queue, _wild_tasks(request), claimer.lanes_of(tx, queue), now) for queue in free.wild}
    if any(lane & TOKEN_LANES for wish in (*named.values(), *wild.values()) for lane in wish.lanes):
        return _with_tokens(tx, free, request, named, wild, claimer, load, now)
    order, picks = _from_queues(tx, free, request, named, wild)
    return Choice(order, picks, free)


def _share_of_receivers(tx: Tx, session_id: str, free: int) -> TenantShare:
    """A receiver that does not answer keeps what is sent to it waiting, and nobody else's."""
    rows = tx.rows(sql.running_by_tenant, session_id=session_id, queue=WEBHOOK_QUEUE)
    running = {row["tenant"]: row["running"] for row in rows}
    return TenantShare(share_of_receiver(free + sum(running.values())), running)


def may_start(tx: Tx, queue: str, holds: int, now: Millis) -> bool:
    """Whether a queue starts anything at all, however much of it runs, on a machine that holds this much back."""
    gates = tx.one(sql.queue_gates, Gates, queue=queue)
    assert gates is not None
    if gates.is_shut(now):
        return False
    slots = {queue: 1}
    if holds:
        relieve(tx, slots, Asked(holds, 0, None), now)
    return queue in slots


def _free_slots(tx: Tx, request: ClaimRequest, now: Millis) -> Free:
    """What each queue may start, by its own gates and by what the caller can take."""
    asked = {item.queue: item.slots for item in request.queues}
    wild_slots = asked.pop(ANY_QUEUE, 0)
    free = Free({}, {}, wild_slots, {}, {}, set(), {}, set(), {})
    if wild_slots > 0:
        # One that is named without a free slot is full, not wild.
        ready = sql.ready_command_queues if _wild_tasks(request) == (COMMAND,) else sql.ready_queues
        queues = [row["queue"] for row in tx.rows(ready) if row["queue"] not in asked]
        free.wild.update(_through_gates(tx, dict.fromkeys(queues, wild_slots), free, now))
    # The system's own queues are empty most of the time; whoever asks for them besides his own pays one step for each.
    asked = {name: n for name, n in asked.items() if not is_system_queue(name) or tx.value(sql.any_ready, queue=name)}
    free.named.update(_through_gates(tx, asked, free, now))
    return free


def _through_gates(tx: Tx, asked: dict[str, int], free: Free, now: Millis) -> dict[str, int]:
    """Those of the queues that may start something, and how much; what is found out about rates is noted in `free`."""
    through = {}
    for queue, wanted in asked.items():
        if wanted <= 0:
            continue
        gates = tx.one(sql.queue_gates, Gates, queue=queue)
        assert gates is not None
        if gates.is_shut(now):
            continue
        slots = wanted if gates.concurrency is None else min(wanted, gates.concurrency - gates.running)
        if gates.concurrency is not None or gates.opened_at is not None or gates.rate_limit is not None:
            free.narrow.add(queue)
        if gates.opened_at is not None:
            free.probing.add(queue)
            slots = min(slots, 1)
        if slots > 0 and gates.rate_limit is not None and gates.rate_window_ms is not None:
            allowed = allowance(tx, queue, Rate(gates.rate_limit, gates.rate_window_ms), now)
            free.allowed[queue] = allowed
            if allowed.opens_at is not None and allowed.opens_at != gates.opens_at:
                # Whoever finds it closed makes sure that all are woken when it opens.
                free.openings[queue] = allowed.opens_at
            slots = min(slots, allowed.free)
        if slots > 0:
            through[queue] = slots
    return through


def _relieve(tx: Tx, free: Free, load: Load, now: Millis) -> None:
    """Leave out what the machine of the session holds back."""
    asked = Asked(load.holds or 0, load.pull_interval_ms or 0, load.pulls_at)
    for slots in (free.named, free.wild):
        free.paced.update(relieve(tx, slots, asked, now))
    free.narrow.update(free.paced)


def _with_tokens(
    tx: Tx,
    free: Free,
    request: ClaimRequest,
    named: Mapping[str, Wish],
    wild: Mapping[str, Wish],
    claimer: Claimer,
    load: Load,
    now: Millis,
) -> Choice:
    """What is handed over where jobs take tokens of the machine."""
    wanted = Wanted(
        request.slots,
        {queue: (wish, free.named[queue]) for queue, wish in named.items()},
        {queue: (wish, free.wild[queue]) for queue, wish in wild.items()},
        free.wild_slots,
    )
    share = share_out(tx, wanted, claimer, lambda queue: may_start(tx, queue, load.holds or 0, now), now)
    return Choice(share.jobs, share.picks, free, None, share.passed, share.kept, share.taken, share.had_waited)


def _suspect_alone(
    tx: Tx, free: Free, waiting: Sequence[Suspect], load: Load, claimer: Claimer, now: Millis
) -> Choice | None:
    """A job whose process died runs with nothing beside it, so that guilt shows. None: nobody waits for that."""
    if not waiting:
        return None
    if load.running:
        # Others may pass it for a while; then the session is left to run empty for it.
        is_overdue = now - waiting[0].queued_at > SUSPECT_PATIENCE_MS
        return Choice(free=free, kept_for=waiting[0].id) if is_overdue else None
    lanes = claimer.machine_lanes | claimer.capacity.lanes
    for suspect in waiting:
        asked = {"number": suspect.number, "open_lanes": lanes, "node": load.node, "now": now}
        found = tx.all(sql.claimable_suspect, Candidate, **asked)
        if found:
            picks = [out_of_turn(tx, found[0], now)]
            return Choice(found, picks, free, kept_for=suspect.id, taken=suspect.needs)
    return None


def _from_queues(
    tx: Tx, free: Free, request: ClaimRequest, named: Mapping[str, Wish], wild: Mapping[str, Wish]
) -> tuple[list[Candidate], list[Pick]]:
    """The jobs to hand over, in order, and what of each queue they are."""
    order: list[Candidate] = []
    picks: list[Pick] = []
    for queue, slots in free.named.items():
        wanted = min(slots, request.slots - len(order))
        if wanted <= 0:
            break
        picks.append(pick(tx, named[queue], wanted))
        order += picks[-1].jobs
    wanted = min(free.wild_slots, request.slots - len(order))
    if wanted > 0 and free.wild:
        others = [pick(tx, wild[queue], min(slots, wanted)) for queue, slots in free.wild.items()]
        order += _merged(others, wanted)
        picks += others
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
            payload=tx.value(sql.payload_of_job, number=job.number) if job.payload is None else job.payload,
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
    say_claimed(tx, claimed, request.worker_id)
    if free.allowed:
        for queue, count in Counter(run.queue for run in claimed if run.queue in free.allowed).items():
            note_starts(tx, free.allowed[queue], count, now)
    for run in claimed if free.probing else ():
        if run.queue in free.probing:
            note_probe(tx, run.queue, run.job_id, now)
    waits = [free.paced[run.queue] for run in claimed if run.queue in free.paced] if free.paced else []
    if waits:
        note_pull(tx, request.session_id, now + max(waits))
    return claimed
