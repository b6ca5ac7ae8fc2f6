"""Which jobs of a queue are next: over its lanes in their common order, and between its tenants by fair turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from holdfast.core.fairness import Tenant, Turns, take_turns, weight_now
from holdfast.core.job import Millis
from holdfast.core.order import PLAIN
from holdfast.core.requests import COMMAND
from holdfast.core.subject import DEFAULT_TENANT
from holdfast.store.engine import Tx
from holdfast.store.statements import sql

BEFORE_ALL = -1.0
MOST_LOOKED_AT = 64


class Candidate(Struct, frozen=True, gc=False):
    """A job that may be claimed, and what decides between it and others.

    A payload of more than 64 KiB is read only when the job is handed over. `size` is that of payload and checkpoint.
    """

    number: int
    id: str
    job_type: str
    queue: str
    payload: str | None
    size: int
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
    priority: int
    position: int
    created_at: Millis
    tenant: str


class TenantRow(Struct, frozen=True, gc=False):
    """A row of `tenants`: somebody who waits for a turn."""

    tenant: str
    virtual_time: float
    weight: int
    active_until: Millis | None


class TenantShare(Struct, frozen=True):
    """How many jobs of a queue each tenant may have under way in a session, and how many it has."""

    each: int
    running: Mapping[str, int]

    def left(self, tenant: str) -> int:
        """How many more of this tenant may start."""
        return max(0, self.each - self.running.get(tenant, 0))


class Line(Struct, frozen=True):
    """Those who wait for a turn in a queue with several tenants. `most`: how many jobs those have that have few.

    `bound` is how many each of them may start, where that is less than all.
    """

    tenants: Sequence[Tenant]
    clock: float
    most: Mapping[str, int]
    bound: Mapping[str, int]


class Pick(Struct):
    """The next jobs of a queue, and the line they stand in if they are not all of one tenant.

    Where they were taken turn by turn, `turns` says how the times stand after them, and `spent` who had no more.
    """

    queue: str
    jobs: list[Candidate]
    line: Line | None = None
    turns: Turns | None = None
    spent: Collection[str] = ()


class Wish(Struct, frozen=True):
    """What is asked of a queue: the tasks that are offered, the lanes to look at, and when.

    `share` is what one of its tenants may have at most, if it says so.
    """

    queue: str
    tasks: tuple[str, ...]
    lanes: tuple[int, ...]
    now: Millis
    share: TenantShare | None = None


def pick(tx: Tx, wish: Wish, slots: int) -> Pick:
    """The next jobs of a queue, at most so many."""
    first = next_tenants(tx, wish, None, slots)
    if not first:
        return Pick(wish.queue, _heads(tx, wish, DEFAULT_TENANT, slots))
    clock: float = tx.value(sql.queue_clock, queue=wish.queue) or 0.0
    return _fair(tx, wish, slots, first, clock)


def out_of_turn(tx: Tx, job: Candidate, now: Millis) -> Pick:
    """A job that starts although it is not its tenant's turn, which pays for it all the same."""
    found = tx.one(sql.tenant_in_line, TenantRow, queue=job.queue, tenant=job.tenant)
    if found is None:
        return Pick(job.queue, [job])
    clock: float = tx.value(sql.queue_clock, queue=job.queue) or 0.0
    tenant = Tenant(found.tenant, found.virtual_time, weight_now(found.weight, found.active_until, now))
    turn = take_turns([tenant], clock, 1)
    return Pick(job.queue, [job], turns=Turns(turn.order, turn.virtual_times, clock), spent=turn.order)


def charge(tx: Tx, picked: Pick) -> None:
    """The jobs of a pick have been started: their tenants' times go on."""
    turns = picked.turns if picked.line is None else _turns_of(picked, picked.line)
    if turns is None or not turns.order:
        return
    starts = Counter(turns.order)
    tx.run_many(
        sql.charge_tenant,
        [
            {"queue": picked.queue, "tenant": name, "virtual_time": time, "starts": starts[name]}
            for name, time in turns.virtual_times.items()
        ],
    )
    tx.run(sql.set_queue_clock, queue=picked.queue, virtual_time=turns.clock)


def _turns_of(picked: Pick, line: Line) -> Turns:
    turns = take_turns(line.tenants, line.clock, len(picked.jobs), line.bound)
    assert list(turns.order) == [job.tenant for job in picked.jobs]
    return turns


def let_rest(tx: Tx, picked: Pick) -> None:
    """Tenants that turned out to have nothing left wait for no turn."""
    spent = picked.spent if picked.line is None else picked.line.most
    if spent:
        tx.run_many(sql.let_tenant_rest, [{"queue": picked.queue, "tenant": name} for name in spent])


def _fair(tx: Tx, wish: Wish, slots: int, first: list[TenantRow], clock: float) -> Pick:
    """Ask as few tenants for as few jobs as the turns need; who has too few lets the others have more turns."""
    rows, page = list(first), first
    lines: dict[str, list[Candidate]] = {}
    most: dict[str, int] = {}
    while True:
        tenants = [
            Tenant(row.tenant, row.virtual_time, weight_now(row.weight, row.active_until, wish.now)) for row in rows
        ]
        bound = _bound(wish.share, rows, most)
        turns = take_turns(tenants, clock, slots, bound)
        needed = Counter(turns.order)
        asked = {name: count for name, count in needed.items() if count > len(lines.get(name, ())) and name not in most}
        if asked:
            limit = max(asked.values())
            for name, jobs in _heads_of(tx, wish, asked, limit).items():
                lines[name] = jobs
                if len(jobs) < limit:
                    most[name] = len(jobs)
        elif len(page) >= slots and sum(_may_have_more(row, most, bound) for row in rows) < slots:
            # Some have too few jobs, or have their share, so those further back in the line come in.
            page = next_tenants(tx, wish, rows[-1], slots)
            rows += page
            if not page:
                break
        else:
            break
    ahead = {name: iter(jobs) for name, jobs in lines.items()}
    jobs = [next(ahead[name]) for name in turns.order]
    return Pick(wish.queue, jobs, Line(tenants, clock, most, bound))


def _may_have_more(row: TenantRow, most: Mapping[str, int], bound: Mapping[str, int]) -> bool:
    return row.tenant not in most and bound.get(row.tenant, 1) > 0


def _bound(share: TenantShare | None, rows: Sequence[TenantRow], most: Mapping[str, int]) -> Mapping[str, int]:
    """How many jobs those may start of whom not all may: they have few, or a share."""
    if share is None:
        return most
    return {row.tenant: min(share.left(row.tenant), most.get(row.tenant, share.each)) for row in rows}


def next_tenants(tx: Tx, wish: Wish, after: TenantRow | None, limit: int) -> list[TenantRow]:
    """Those who wait for a turn, the least virtual time first, from behind one of them on."""
    return tx.all(
        sql.waiting_tenants,
        TenantRow,
        queue=wish.queue,
        virtual_time=BEFORE_ALL if after is None else after.virtual_time,
        after="" if after is None else after.tenant,
        limit=limit,
    )


def _heads(tx: Tx, wish: Wish, tenant: str, limit: int) -> list[Candidate]:
    """The first jobs of one tenant over the lanes that are open, in their common order."""
    if wish.lanes == (PLAIN,):
        return _of_lane(tx, wish, tenant, PLAIN, limit)
    found = [job for lane in wish.lanes for job in _of_lane(tx, wish, tenant, lane, limit)]
    return sorted(found, key=_order)[:limit]


def _of_lane(tx: Tx, wish: Wish, tenant: str, lane: int, limit: int) -> list[Candidate]:
    """The first jobs of a lane. Commands alone have an index of their own, so that nobody walks past other jobs."""
    line: dict[str, object] = {"queue": wish.queue, "lane": lane, "tenant": tenant, "slots": limit, "now": wish.now}
    if wish.tasks == (COMMAND,):
        return tx.all(sql.claimable_commands, Candidate, **line)
    return tx.all(sql.claimable, Candidate, tasks=_json(wish.tasks), **line)


def _heads_of(tx: Tx, wish: Wish, tenants: Collection[str], limit: int) -> dict[str, list[Candidate]]:
    """The same for several tenants at once."""
    if len(tenants) == 1:
        [name] = tenants
        return {name: _heads(tx, wish, name, limit)}
    found: dict[str, list[Candidate]] = {name: [] for name in tenants}
    line: dict[str, object] = {"queue": wish.queue, "tenants": _json(tenants), "slots": limit, "now": wish.now}
    for lane in wish.lanes:
        if wish.tasks == (COMMAND,):
            jobs = tx.all(sql.claimable_commands_fair, Candidate, lane=lane, **line)
        else:
            jobs = tx.all(sql.claimable_fair, Candidate, lane=lane, tasks=_json(wish.tasks), **line)
        for job in jobs:
            found[job.tenant].append(job)
    return {name: sorted(jobs, key=_order)[:limit] for name, jobs in found.items()}


Rank: TypeAlias = tuple[int, int, Millis, str]


def _order(job: Candidate) -> Rank:
    return (-job.priority, job.position, job.created_at, job.id)


def _json(words: Collection[str]) -> str:
    return msgspec.json.encode(list(words)).decode()
