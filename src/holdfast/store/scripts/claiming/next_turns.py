"""The place of a job in line: what the living workers would take next. The claim itself is asked, and takes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.gates.gate_facts import PlaceInLine
from holdfast.core.gates.gates import MOST_COUNTED, MOST_NAMED
from holdfast.core.job import JobId, Millis
from holdfast.core.jobs.stored_job import Job
from holdfast.store.engine import Tx
from holdfast.store.scripts.claiming.choose import choose
from holdfast.store.scripts.tasks.offers import WorkerSlots
from holdfast.store.statements import sql

TENANTS_LOOKED_AT = 20


def find_place(tx: Tx, job: Job, node: int, workers: Sequence[WorkerSlots], now: Millis) -> PlaceInLine:
    """The place in line of a job that no other gate holds back."""
    slots, free_slots = sum(worker.slots for worker in workers), sum(worker.free for worker in workers)
    first: JobId | None = None
    kept_for: JobId | None = None
    shares: list[int | None] = []
    for worker in workers:
        if not worker.free:
            continue
        choice = choose(tx, worker.request, now)
        if any(taken.number == job.number for taken in choice.jobs):
            return PlaceInLine(is_next=True, slots=slots, free_slots=free_slots)
        first = first or next((taken.id for taken in choice.jobs), None)
        kept_for = kept_for or choice.kept_for
        queue = choice.free.named.get(job.queue)
        share = None if queue is None else queue.share
        shares.append(None if share is None or share.left(job.tenant) else share.each)
    return PlaceInLine(
        is_next=False,
        slots=slots,
        free_slots=free_slots,
        first=first,
        kept_for=kept_for,
        ahead=_ahead(tx, job, node),
        others=_others(tx, job),
        share=None if not shares or None in shares else max(filter(None, shares)),
    )


def _ahead(tx: Tx, job: Job, node: int) -> int:
    """How many of its own tenant go before it. Counting stops at some number."""
    counted: int = tx.value(
        sql.ahead_in_line,
        queue=job.queue,
        tenant=job.tenant,
        priority=job.priority,
        position=job.position,
        created_at=job.created_at,
        id=job.id,
        node=node,
        most=MOST_COUNTED,
    )
    return min(int(counted), MOST_COUNTED)


def _others(tx: Tx, job: Job) -> tuple[str, ...]:
    """Some of the other tenants that have ready jobs in its queue."""
    line = {"queue": job.queue, "tenant": job.tenant, "looked_at": TENANTS_LOOKED_AT, "limit": MOST_NAMED + 1}
    return tuple(row["tenant"] for row in tx.rows(sql.tenants_in_line, **line))
