"""Whose turn it is: what the workers that live would take next, asked of the claim itself, without taking anything."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.gates import MOST_COUNTED, MOST_NAMED
from holdfast.core.job import Job, JobId, Millis
from holdfast.core.world import Turn
from holdfast.store.engine import Tx
from holdfast.store.scripts.claim import choose
from holdfast.store.scripts.offers import Room
from holdfast.store.statements import sql

TENANTS_LOOKED_AT = 20


def find_turn(tx: Tx, job: Job, node: int, rooms: Sequence[Room], now: Millis) -> Turn:
    """Where a job stands that nothing else holds: whether a worker takes it when it next asks, and who goes first."""
    slots, free_slots = sum(room.slots for room in rooms), sum(room.free for room in rooms)
    first: JobId | None = None
    kept_for: JobId | None = None
    shares: list[int | None] = []
    for room in rooms:
        if not room.free:
            continue
        choice = choose(tx, room.request, now)
        if any(taken.number == job.number for taken in choice.jobs):
            return Turn(is_next=True, slots=slots, free_slots=free_slots)
        first = first or next((taken.id for taken in choice.jobs), None)
        kept_for = kept_for or choice.kept_for
        share = choice.free.shares.get(job.queue)
        shares.append(None if share is None or share.left(job.tenant) else share.each)
    return Turn(
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
    """How many of its own tenant go before it; many are not counted to the last one."""
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
