"""Choose the next jobs of a queue. Its tenants take turns, and each has its jobs in the order of the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct

from holdfast.core.gates import fairness
from holdfast.core.gates.fairness import FairLine, WaitingTenant
from holdfast.core.job import Millis
from holdfast.core.jobs import order
from holdfast.core.jobs.order import PLAIN
from holdfast.core.jobs.requests import COMMAND
from holdfast.core.values.subject import DEFAULT_TENANT
from holdfast.store.engine import Tx
from holdfast.store.option_columns import with_told_columns
from holdfast.store.statements import sql

BEFORE_ALL = -1.0


@with_told_columns
class Candidate(Struct, frozen=True, gc=False):
    """A job that may be claimed, with what a run needs.

    Above 64 KiB, `payload` and `env_vars` are None: they are read when the job starts. `size` is that of both and the
    checkpoint.
    """

    number: int
    id: str
    job_type: str
    queue: str
    payload: str | None
    env_vars: str | None
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
    execution_mode: str


class WaitingTenantRow(Struct, frozen=True, gc=False):
    """A row of `tenants`."""

    tenant: str
    virtual_time: float
    weight: int
    active_until: Millis | None

    def to_tenant(self, now: Millis) -> WaitingTenant:
        """The tenant with the weight that it has now."""
        return WaitingTenant(self.tenant, self.virtual_time, fairness.weight_now(self.weight, self.active_until, now))


class TenantShare(Struct, frozen=True):
    """How many jobs of a queue each tenant may run in a session, and how many each runs."""

    each: int
    running: Mapping[str, int]

    def left(self, tenant: str) -> int:
        """How many more of this tenant may start."""
        return max(0, self.each - self.running.get(tenant, 0))


class Pick(Struct):
    """The next jobs of a queue.

    `line` has their turns. It is None if only the default tenant has jobs. `spent` are tenants that have no more jobs.
    """

    queue: str
    jobs: list[Candidate]
    line: FairLine | None = None
    spent: Collection[str] = ()


class QueueRequest(Struct, frozen=True):
    """What a claim asks of a queue: jobs of these tasks, in these lanes. `share` bounds the jobs of each tenant."""

    queue: str
    tasks: tuple[str, ...]
    lanes: tuple[int, ...]
    now: Millis
    share: TenantShare | None = None


def pick(tx: Tx, request: QueueRequest, slots: int) -> Pick:
    """Choose the next jobs of a queue, at most so many."""
    first = next_tenants(tx, request, None, slots)
    if not first:
        return Pick(request.queue, _jobs_of_tenant(tx, request, DEFAULT_TENANT, slots))
    return _pick_fairly(tx, request, slots, first, queue_clock(tx, request.queue))


def pick_early(tx: Tx, job: Candidate, now: Millis) -> Pick:
    """Choose a job before the turn of its tenant. The tenant pays for it all the same."""
    tenant = tenant_in_line(tx, job.queue, job.tenant, now)
    if tenant is None:
        return Pick(job.queue, [job])
    line = FairLine(queue_clock(tx, job.queue))
    line.take_early(tenant)
    return Pick(job.queue, [job], line, spent=[tenant.name])


def charge(tx: Tx, picked: Pick) -> None:
    """Store the virtual times of the tenants whose jobs have started."""
    turns = None if picked.line is None else picked.line.after(len(picked.jobs))
    if turns is None or not turns.counts:
        return
    tx.run_many(
        sql.charge_tenant,
        [
            {"queue": picked.queue, "tenant": name, "virtual_time": time, "starts": turns.counts[name]}
            for name, time in turns.virtual_times.items()
        ],
    )
    tx.run(sql.set_queue_clock, queue=picked.queue, virtual_time=turns.clock)


def let_rest(tx: Tx, picked: Pick) -> None:
    """Take the tenants that have no more ready jobs out of the line."""
    if picked.spent:
        tx.run_many(sql.let_tenant_rest, [{"queue": picked.queue, "tenant": name} for name in picked.spent])


def next_tenants(
    tx: Tx, request: QueueRequest, after: WaitingTenantRow | None, limit: int
) -> Sequence[WaitingTenantRow]:
    """The tenants that wait for a turn, the least virtual time first. `after` is the last one that is known."""
    return tx.all(
        sql.waiting_tenants,
        WaitingTenantRow,
        queue=request.queue,
        virtual_time=BEFORE_ALL if after is None else after.virtual_time,
        after="" if after is None else after.tenant,
        limit=limit,
    )


def tenant_in_line(tx: Tx, queue: str, tenant: str, now: Millis) -> WaitingTenant | None:
    """A tenant of a queue; None if the queue knows none of this name."""
    found = tx.one(sql.tenant_in_line, WaitingTenantRow, queue=queue, tenant=tenant)
    return None if found is None else found.to_tenant(now)


def queue_clock(tx: Tx, queue: str) -> float:
    """The virtual time at which the last job of a queue started."""
    return tx.value(sql.queue_clock, queue=queue) or 0.0


def _pick_fairly(tx: Tx, request: QueueRequest, slots: int, first: Sequence[WaitingTenantRow], clock: float) -> Pick:
    """Choose jobs turn by turn. Read as few tenants and jobs as the turns need.

    The turns are computed first, and then the jobs are read. A tenant that has too few leaves turns to the others, so
    the turns are computed again.
    """
    rows, page = list(first), first
    jobs: dict[str, list[Candidate]] = {}
    most: dict[str, int] = {}
    while True:
        bound = _bound(request.share, rows, most)
        line = fairness.take_turns([row.to_tenant(request.now) for row in rows], clock, slots, bound)
        needed = Counter(line.order)
        asked = {name: count for name, count in needed.items() if count > len(jobs.get(name, ())) and name not in most}
        if asked:
            limit = max(asked.values())
            for name, found in _jobs_of_tenants(tx, request, asked, limit).items():
                jobs[name] = found
                if len(found) < limit:
                    most[name] = len(found)
        elif len(page) >= slots and sum(_may_have_more(row, most, bound) for row in rows) < slots:
            # Some have too few jobs, or have used up their share. So more tenants take part.
            page = next_tenants(tx, request, rows[-1], slots)
            rows += page
            if not page:
                break
        else:
            break
    ahead = {name: iter(found) for name, found in jobs.items()}
    return Pick(request.queue, [next(ahead[name]) for name in line.order], line, spent=most)


def _may_have_more(row: WaitingTenantRow, most: Mapping[str, int], bound: Mapping[str, int]) -> bool:
    return row.tenant not in most and bound.get(row.tenant, 1) > 0


def _bound(share: TenantShare | None, rows: Sequence[WaitingTenantRow], most: Mapping[str, int]) -> Mapping[str, int]:
    """The most turns of each tenant that has few jobs or a share."""
    if share is None:
        return most
    return {row.tenant: min(share.left(row.tenant), most.get(row.tenant, share.each)) for row in rows}


def _jobs_of_tenant(tx: Tx, request: QueueRequest, tenant: str, limit: int) -> list[Candidate]:
    """The first jobs of a tenant in all lanes, in the order of the queue."""
    if request.lanes == (PLAIN,):
        return _jobs_of_lane(tx, request, tenant, PLAIN, limit)
    found = [job for lane in request.lanes for job in _jobs_of_lane(tx, request, tenant, lane, limit)]
    return sorted(found, key=order.rank)[:limit]


def _jobs_of_lane(tx: Tx, request: QueueRequest, tenant: str, lane: int, limit: int) -> list[Candidate]:
    """The first jobs of a lane. Commands have an index of their own, so that no other jobs are read."""
    line: dict[str, object] = {"queue": request.queue, "lane": lane, "tenant": tenant, "slots": limit}
    if request.tasks == (COMMAND,):
        return tx.all(sql.claimable_commands, Candidate, now=request.now, **line)
    return tx.all(sql.claimable, Candidate, tasks=json_list(request.tasks), now=request.now, **line)


def _jobs_of_tenants(tx: Tx, request: QueueRequest, tenants: Collection[str], limit: int) -> dict[str, list[Candidate]]:
    """Up to `limit` first jobs of each tenant."""
    if len(tenants) == 1:
        [name] = tenants
        return {name: _jobs_of_tenant(tx, request, name, limit)}
    found: dict[str, list[Candidate]] = {name: [] for name in tenants}
    line: dict[str, object] = {
        "queue": request.queue,
        "tenants": json_list(tenants),
        "slots": limit,
        "now": request.now,
    }
    for lane in request.lanes:
        if request.tasks == (COMMAND,):
            jobs = tx.all(sql.claimable_commands_fair, Candidate, lane=lane, **line)
        else:
            jobs = tx.all(sql.claimable_fair, Candidate, lane=lane, tasks=json_list(request.tasks), **line)
        for job in jobs:
            found[job.tenant].append(job)
    return {name: sorted(jobs, key=order.rank)[:limit] for name, jobs in found.items()}


def json_list(items: Collection[object]) -> str:
    """A JSON list, which is how many values go into one statement."""
    return msgspec.json.encode(list(items)).decode()
