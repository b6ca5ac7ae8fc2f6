"""Retry by hand: always allowed, always a new job from what the last run ran with."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from holdfast.core import trigger as triggers
from holdfast.core.errors import Conflict
from holdfast.core.filling import wants_previous
from holdfast.core.group import Needs
from holdfast.core.job import TERMINAL, JobId, Millis, StateName
from holdfast.core.requests import Dependency, Enqueued, NewJob
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow, policy_of
from holdfast.store.scripts.enqueue import find_stored, take_again
from holdfast.store.scripts.letters import ClosedAs, close_letter
from holdfast.store.scripts.look import find_last, find_row, last_link
from holdfast.store.scripts.nodes import tied_to
from holdfast.store.scripts.predecessors import predecessors
from holdfast.store.statements import sql


def retry_job(
    tx: Tx,
    job_id: JobId,
    now: Millis,
    priority: int | None = None,
    new_id: JobId | None = None,
    trigger: str | None = None,
) -> Enqueued:
    """A new job from the snapshot of the last run, with the subject's next generation.

    It keeps what the old one was asked for, but for its time, its event and its idempotency key. A member of a group
    must have ended; the new job takes its place, and the group goes on again.

    With a `new_id` that the caller made, a repeat of the call finds the job that the first one stored.
    """
    stored = None if new_id is None else find_stored(tx, new_id)
    if stored is not None:
        return stored
    link = last_link(tx, job_id)
    job = find_row(tx, link.id if link else job_id)
    if job.group_id is not None and job.state not in TERMINAL:
        raise Conflict(
            f"job {job.number} of group {job.group_id} is {job.state}; a member of a group is retried when it has "
            "ended: wait for it, or cancel it first"
        )
    again = made_anew(tx, job, trigger, id=new_id or tx.new_id())
    again = structs.replace(
        again, priority=job.priority if priority is None else priority, after=_after(tx, job, again.payload)
    )
    answer = take_again(tx, again, job, now)
    close_letter(tx, job.id, ClosedAs.RETRIED, now, trigger, retried_as=answer.id)
    return answer


class Retried(Struct, frozen=True):
    """A job that was made of another one by a retry by hand."""

    id: JobId
    number: int
    state: StateName


def retries_of(tx: Tx, job_id: JobId) -> list[Retried]:
    """The jobs that retries by hand have made of a job, oldest first; in a retry chain, of the last link."""
    return tx.all(sql.retries_of_job, Retried, job_id=find_last(tx, job_id).id)


def made_anew(tx: Tx, job: JobRow, asked: str | None, **more: Any) -> NewJob:
    """The same request once more, with what the job last ran with; `more` is what is different or added.

    `asked` is the trigger of the call that asks for it.
    """
    ran_with: str | None = tx.value(sql.last_run, job_id=job.id)
    return NewJob(
        task=job.job_type,
        queue=job.queue,
        payload=ran_with or job.payload,
        priority=job.priority,
        tenant=job.tenant,
        subject=job.subject_key,
        ttl_ms=job.ttl_ms,
        timeout_ms=job.timeout_ms,
        policy=policy_of(job),
        tag=job.user_tag,
        tokens=job.tokens,
        node=tied_to(tx, job.node),
        trace_id=job.trace_id,
        stop_older=bool(job.stop_older),
        wait_for_idle=bool(job.wait_for_idle),
        require_charging=bool(job.require_charging),
        template_id=job.template_id,
        schedule_id=job.schedule_id,
        parent_job_id=job.parent_job_id,
        group_id=job.group_id,
        trigger=triggers.again(job.id, asked),
        complete=True,
        **more,
    )


def _after(tx: Tx, job: JobRow, payload: str) -> tuple[Dependency, ...]:
    """It comes after the same jobs as before, so that their results are there; only those it needs are waited for."""
    waits = wants_previous(payload)
    before = predecessors(tx, job.id)
    if any(one.is_previous for one in before):
        # It stays in its group, where its turn comes after those that go on.
        waits, before = False, [one for one in before if not one.is_previous]
    return tuple(Dependency(one.id, Needs.ENDED) for one in before if one.state in TERMINAL or waits)
