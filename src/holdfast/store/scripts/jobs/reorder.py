"""Change the order of waiting jobs and what they will run with."""

from __future__ import annotations

import msgspec

from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.job import JobId, StateName
from holdfast.core.jobs import order
from holdfast.core.jobs.requests import COMMAND
from holdfast.core.messages.jobs import Retied
from holdfast.core.tasks.command import check_command
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.machines import nodes
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.statements import sql


def move_to_top(tx: Tx, job_id: JobId) -> None:
    """Move a job ahead of every ready job of its queue and priority."""
    job = _waiting(tx, job_id)
    lowest = tx.value(sql.lowest_position, queue=job.queue, tenant=job.tenant, priority=job.priority)
    _place(tx, job, job.priority, order.between(None, lowest))


def move_to_bottom(tx: Tx, job_id: JobId) -> None:
    """Move a job behind every ready job of its queue and priority."""
    job = _waiting(tx, job_id)
    _place(tx, job, job.priority, _end_of(tx, job, job.priority))


def move_before(tx: Tx, job_id: JobId, other_id: JobId) -> None:
    """Move a job directly ahead of another waiting one, and give it the same priority."""
    _move_beside(tx, job_id, other_id, before=True)


def move_after(tx: Tx, job_id: JobId, other_id: JobId) -> None:
    """Move a job directly behind another waiting one, and give it the same priority."""
    _move_beside(tx, job_id, other_id, before=False)


def set_priority(tx: Tx, job_id: JobId, priority: int) -> None:
    """Give a waiting job another priority. It comes behind the jobs that have it already."""
    job = _waiting(tx, job_id)
    if job.priority != priority:
        _place(tx, job, priority, _end_of(tx, job, priority))


def tie_job(tx: Tx, job_id: JobId, node: str | None) -> None:
    """Have a waiting job run on one machine alone, by name or id, or on any. Its place in the queue stays."""
    job = _waiting(tx, job_id)
    number = 0 if node is None else nodes.find_node(tx, node).number
    tx.run_many(sql.tie_job, [{"number": job.number, "node": number}])
    tx.changes.ready.add(job.queue)


def move_ties(tx: Tx, node: str, to: str | None = None, limit: int = 1_000, dry_run: bool = False) -> Retied:
    """Have at most `limit` waiting jobs that are tied to a machine run on another one, or on any.

    `dry_run` only counts them.
    """
    source = nodes.find_node(tx, node)
    target = 0 if to is None else nodes.find_node(tx, to).number
    if source.number == target:
        raise InvalidInput(f"the jobs are tied to {source.name!r} already; name another machine, or none")
    found = tx.rows(sql.tied_jobs, node=source.number, limit=limit)
    if not dry_run:
        tx.run_many(sql.tie_job, [{"number": row["number"], "node": target} for row in found])
        tx.changes.ready.update(row["queue"] for row in found)
    return Retied(len(found), more=len(found) == limit)


def edit_payload(tx: Tx, job_id: JobId, payload: str) -> None:
    """Change what a waiting job will run with. Runs that exist keep their snapshot."""
    job = _waiting(tx, job_id)
    if job.job_type == COMMAND:
        check_command(msgspec.json.decode(payload))
    tx.run(sql.edit_payload, id=job.id, payload=payload)


def renormalise(tx: Tx, queue: str, tenant: str, priority: int) -> int:
    """Give the jobs of a line positions with gaps between them, in the same order."""
    line = {"queue": queue, "tenant": tenant, "priority": priority}
    numbers = [row["number"] for row in tx.rows(sql.queue_in_order, **line)]
    places = zip(numbers, order.renumber(len(numbers)), strict=True)
    tx.run_many(sql.set_position, [{"number": number, "position": place} for number, place in places])
    return len(numbers)


def _move_beside(tx: Tx, job_id: JobId, other_id: JobId, *, before: bool) -> None:
    job, other = _waiting(tx, job_id), _waiting(tx, other_id)
    if job.id == other.id:
        raise InvalidInput(f"job {job_id!r} cannot be moved beside itself")
    if job.queue != other.queue:
        raise InvalidInput(
            f"job {job_id!r} is in queue {job.queue!r}, job {other_id!r} in {other.queue!r}; order is within a queue"
        )
    if job.tenant != other.tenant:
        raise InvalidInput(
            f"job {job_id!r} is of tenant {job.tenant!r}, job {other_id!r} of {other.tenant!r}; "
            "order is within a tenant, and tenants take turns"
        )
    place = _gap_beside(tx, other, before=before)
    if place is None:
        renormalise(tx, other.queue, other.tenant, other.priority)
        place = _gap_beside(tx, _waiting(tx, other_id), before=before)
    _place(tx, job, other.priority, place)


def _gap_beside(tx: Tx, other: JobRow, *, before: bool) -> int | None:
    lane = {"queue": other.queue, "tenant": other.tenant, "priority": other.priority}
    place = {"position": other.position, "created_at": other.created_at, "id": other.id}
    if before:
        return order.between(tx.value(sql.neighbour_before, **lane, **place), other.position)
    return order.between(other.position, tx.value(sql.neighbour_after, **lane, **place))


def _end_of(tx: Tx, job: JobRow, priority: int) -> int:
    return order.next_position(tx.value(sql.highest_position, queue=job.queue, tenant=job.tenant, priority=priority))


def _place(tx: Tx, job: JobRow, priority: int, position: int | None) -> None:
    assert position is not None
    tx.run(sql.place_job, id=job.id, priority=priority, position=position)
    tx.changes.ready.add(job.queue)


def _waiting(tx: Tx, job_id: JobId) -> JobRow:
    job = read_jobs.find_row(tx, job_id)
    if job.state not in (StateName.SCHEDULED, StateName.QUEUED):
        raise Conflict(f"job {job_id!r} is {job.state}; only a waiting job can be moved or edited")
    return job
