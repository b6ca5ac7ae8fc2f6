"""Choose the jobs of a claim. It reads, and writes nothing: `why` asks it whose turn is next."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from holdfast.core.gates.pressure import MachineLimits
from holdfast.core.job import JobId, Millis
from holdfast.core.jobs import order
from holdfast.core.jobs.requests import ClaimRequest
from holdfast.core.rules.tokens import NO_TOKENS, TOKEN_LANES, Tokens
from holdfast.core.webhooks.webhook import WEBHOOK_QUEUE, share_of_receiver
from holdfast.store.engine import Tx
from holdfast.store.scripts.claiming import capacity, fair_line, free_slots, token_choice
from holdfast.store.scripts.claiming.capacity import SessionMachine
from holdfast.store.scripts.claiming.fair_line import Candidate, Pick, QueueRequest, TenantShare
from holdfast.store.scripts.claiming.free_slots import FreeSlots
from holdfast.store.scripts.claiming.suspects import Suspect, waiting_suspects
from holdfast.store.scripts.claiming.token_choice import KeptTokens, PassedJob, WantedSlots
from holdfast.store.statements import sql

SUSPECT_PATIENCE_MS = 30_000
NO_SLOTS = FreeSlots({}, {}, 0, {})


class SessionLoad(Struct, frozen=True, gc=False):
    """What a session runs, and what its machine asks for. `tied` is a lane of ready jobs for that machine alone."""

    running: int
    suspects: int
    status: str | None
    pulls_at: Millis | None
    secret_hash: str | None
    holds: int | None
    pull_interval_ms: Millis | None
    node: int
    tied: int | None


class ClaimChoice(Struct, frozen=True):
    """The jobs that a claim hands over, in order and by queue. `taken` are the tokens that they take.

    `kept_for` is a job that runs alone: it starts now, or the session starts nothing else before it. `passed` are jobs
    that did not fit at their turn, and `kept` are the tokens that are kept for one of them. `had_waited`: one of the
    jobs had been passed before. `secret_hash` is what is stored of the secret of the session.
    """

    jobs: Sequence[Candidate] = ()
    picks: Sequence[Pick] = ()
    free: FreeSlots = NO_SLOTS
    kept_for: JobId | None = None
    passed: Sequence[PassedJob] = ()
    kept: KeptTokens | None = None
    taken: Tokens = NO_TOKENS
    had_waited: bool = False
    secret_hash: str | None = None


def choose(tx: Tx, request: ClaimRequest, now: Millis) -> ClaimChoice:
    """Choose the jobs that a claim hands over now."""
    if request.slots <= 0 or not request.tasks:
        return ClaimChoice()
    free = free_slots.find_free_slots(tx, request, now)
    if not (free.named or free.wild):
        return ClaimChoice(free=free)
    load = tx.one(sql.session_load, SessionLoad, session_id=request.session_id)
    # A session that was settled as dead gets nothing: nobody would settle it a second time.
    if load is None or load.status != "running" or load.suspects:
        return ClaimChoice(free=free)
    if load.holds or load.pull_interval_ms:
        limits = MachineLimits(load.holds or 0, load.pull_interval_ms or 0, load.pulls_at)
        free_slots.relieve_machine(tx, free, limits, now)
    machine = capacity.machine_of_claim(tx, request.session_id, load.node, load.tied is not None)
    offers = ((free.named, request.tasks), (free.wild, free_slots.wild_tasks(request)))
    suspects = waiting_suspects(tx, offers, machine.machine_lanes | machine.capacity.lanes, load.node)
    # What the session itself uses is free once it runs nothing.
    room = machine.capacity.less(machine.others)
    choice = _suspect_alone(tx, free, [one for one in suspects if one.needs.fit(room)], load, machine, now)
    choice = choice or _beside_others(tx, free, request, machine, load, now)
    passed = next((one for one in suspects if not one.needs.fit(room) and one.needs.fit(machine.capacity)), None)
    all_passed = choice.passed if passed is None else [*choice.passed, passed]
    return structs.replace(choice, passed=all_passed, secret_hash=load.secret_hash)


def _suspect_alone(
    tx: Tx, free: FreeSlots, waiting: Sequence[Suspect], load: SessionLoad, machine: SessionMachine, now: Millis
) -> ClaimChoice | None:
    """Choose a job whose process died. It runs alone, so that its guilt shows. None: no such job goes first."""
    if not waiting:
        return None
    if load.running:
        # Others may pass it for a while. Then the session starts nothing more until it runs nothing.
        is_overdue = now - waiting[0].queued_at > SUSPECT_PATIENCE_MS
        return ClaimChoice(free=free, kept_for=waiting[0].id) if is_overdue else None
    lanes = machine.machine_lanes | machine.capacity.lanes
    for suspect in waiting:
        asked = {"number": suspect.number, "open_lanes": lanes, "node": load.node, "now": now}
        found = tx.all(sql.claimable_suspect, Candidate, **asked)
        if found:
            picks = [fair_line.pick_early(tx, found[0], now)]
            return ClaimChoice(found, picks, free, kept_for=suspect.id, taken=suspect.needs)
    return None


def _beside_others(
    tx: Tx, free: FreeSlots, request: ClaimRequest, machine: SessionMachine, load: SessionLoad, now: Millis
) -> ClaimChoice:
    """Choose jobs that may run beside others."""
    if WEBHOOK_QUEUE in free.named:
        webhooks = free.named[WEBHOOK_QUEUE]
        webhooks.share = _share_of_receivers(tx, request.session_id, webhooks.slots)
    named = {
        name: QueueRequest(name, request.tasks, machine.lanes_of(tx, name), now, queue.share)
        for name, queue in free.named.items()
    }
    wild = {
        name: QueueRequest(name, free_slots.wild_tasks(request), machine.lanes_of(tx, name), now) for name in free.wild
    }
    if any(lane & TOKEN_LANES for queue in (*named.values(), *wild.values()) for lane in queue.lanes):
        return _with_tokens(tx, free, request, named, wild, machine, load, now)
    jobs, picks = _without_tokens(tx, free, request, named, wild)
    return ClaimChoice(jobs, picks, free)


def _share_of_receivers(tx: Tx, session_id: str, free: int) -> TenantShare:
    """The share of each receiver of webhooks. One that does not answer keeps no other one waiting."""
    rows = tx.rows(sql.running_by_tenant, session_id=session_id, queue=WEBHOOK_QUEUE)
    running = {row["tenant"]: row["running"] for row in rows}
    return TenantShare(share_of_receiver(free + sum(running.values())), running)


def _with_tokens(
    tx: Tx,
    free: FreeSlots,
    request: ClaimRequest,
    named: Mapping[str, QueueRequest],
    wild: Mapping[str, QueueRequest],
    machine: SessionMachine,
    load: SessionLoad,
    now: Millis,
) -> ClaimChoice:
    """Choose jobs when some of them need tokens."""
    wanted = WantedSlots(
        request.slots,
        {name: (asked, free.named[name].slots) for name, asked in named.items()},
        {name: (asked, free.wild[name].slots) for name, asked in wild.items()},
        free.wild_slots,
    )
    found = token_choice.choose_with_tokens(
        tx, wanted, machine, lambda queue: free_slots.may_start(tx, queue, load.holds or 0, now), now
    )
    return ClaimChoice(found.jobs, found.picks, free, None, found.passed, found.kept, found.taken, found.had_waited)


def _without_tokens(
    tx: Tx,
    free: FreeSlots,
    request: ClaimRequest,
    named: Mapping[str, QueueRequest],
    wild: Mapping[str, QueueRequest],
) -> tuple[list[Candidate], list[Pick]]:
    """Choose jobs when none of them needs tokens: in order, and by queue."""
    jobs: list[Candidate] = []
    picks: list[Pick] = []
    for name, queue in free.named.items():
        wanted = min(queue.slots, request.slots - len(jobs))
        if wanted <= 0:
            break
        picks.append(fair_line.pick(tx, named[name], wanted))
        jobs += picks[-1].jobs
    wanted = min(free.wild_slots, request.slots - len(jobs))
    if wanted > 0 and free.wild:
        others = [fair_line.pick(tx, wild[name], min(queue.slots, wanted)) for name, queue in free.wild.items()]
        jobs += _merged(others, wanted)
        picks += others
    return jobs, picks


def _merged(picks: Sequence[Pick], wanted: int) -> list[Candidate]:
    """The next jobs of several queues: the higher priority first, then the older job.

    Jobs that are not wanted are taken out of the picks.
    """
    heads = [(order.rank_among_heads(picked.jobs[0]), 0, picked) for picked in picks if picked.jobs]
    heapq.heapify(heads)
    found: list[Candidate] = []
    taken = dict.fromkeys((picked.queue for picked in picks), 0)
    while heads and len(found) < wanted:
        _, at, picked = heads[0]
        found.append(picked.jobs[at])
        taken[picked.queue] = at + 1
        if at + 1 < len(picked.jobs):
            heapq.heapreplace(heads, (order.rank_among_heads(picked.jobs[at + 1]), at + 1, picked))
        else:
            heapq.heappop(heads)
    for picked in picks:
        del picked.jobs[taken[picked.queue] :]
    return found
