"""Retry by hand. It is always allowed, and makes a new job from what the last run ran with."""

from __future__ import annotations

from functools import cache
from typing import Any

from msgspec import structs

from holdfast.core.declared.option import RetryKind
from holdfast.core.errors import Conflict
from holdfast.core.job import TERMINAL, JobId, Millis
from holdfast.core.jobs import trigger as triggers
from holdfast.core.jobs.requests import Enqueued, NewJob
from holdfast.core.messages.dead_letters import ClosedAs
from holdfast.core.messages.jobs import Retried
from holdfast.core.tasks.reserved import refuse_operation
from holdfast.core.values.filling import wants_previous
from holdfast.core.values.group import Dependency, Needs
from holdfast.store.engine import Tx
from holdfast.store.option_columns import OptionReader, kept_in
from holdfast.store.rows import JobRow
from holdfast.store.scripts.jobs import dead_letter_rows, enqueue
from holdfast.store.scripts.jobs.predecessors import predecessors
from holdfast.store.scripts.machines import nodes
from holdfast.store.scripts.reading import read_jobs
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

    It keeps the options of the old job, except its time, its event and its idempotency key. A member of a group must
    have ended. The new job takes its place, and the group goes on.

    With a `new_id` that the caller made, a repeat of the call finds the job that the first one stored.
    """
    stored = None if new_id is None else enqueue.find_stored(tx, new_id)
    if stored is not None:
        return stored
    link = read_jobs.last_link(tx, job_id)
    job = read_jobs.find_row(tx, link.id if link else job_id)
    if job.group_id is not None and job.state not in TERMINAL:
        raise Conflict(
            f"job {job.number} of group {job.group_id} is {job.state}; a member of a group is retried when it has "
            "ended: wait for it, or cancel it first"
        )
    again = made_anew(tx, job, RetryKind.BY_HAND, trigger, id=new_id or tx.new_id())
    again = structs.replace(
        again, priority=job.priority if priority is None else priority, after=_after(tx, job, again.payload)
    )
    answer = enqueue.take_again(tx, again, job, now)
    dead_letter_rows.close_letter(tx, job.id, ClosedAs.RETRIED, now, trigger, retried_as=answer.id)
    return answer


def retries_of(tx: Tx, job_id: JobId) -> list[Retried]:
    """The jobs that retries by hand have made of a job, oldest first. In a retry chain, of the last link."""
    return tx.all(sql.retries_of_job, Retried, job_id=read_jobs.find_last(tx, job_id).id)


def made_anew(tx: Tx, job: JobRow, how: RetryKind, asked: str | None, **more: Any) -> NewJob:
    """A new request like the old job: the payload of its last run, and the options that such a retry keeps.

    `asked` is the trigger of the call that asks for it; `more` is what is different or added.
    """
    refuse_operation(job.queue, job.number)
    ran_with: str | None = tx.value(sql.last_run, job_id=job.id)
    kept = _kept_options(how).read(job) | {"node": nodes.tied_to(tx, job.node)}
    return NewJob(
        task=job.job_type,
        payload=ran_with or job.payload,
        template_id=job.template_id,
        schedule_id=job.schedule_id,
        parent_job_id=job.parent_job_id,
        trigger=triggers.again(job.id, asked),
        complete=True,
        **(kept | more),
    )


@cache
def _kept_options(how: RetryKind) -> OptionReader:
    return OptionReader(kept_in(how))


def _after(tx: Tx, job: JobRow, payload: str) -> tuple[Dependency, ...]:
    """The predecessors of the old job, so that their results are there. It waits for them only if it needs these."""
    waits = wants_previous(payload)
    before = predecessors(tx, job.id)
    if any(one.is_previous for one in before):
        # It stays in its group, where its turn comes after the members that go on.
        waits, before = False, [one for one in before if not one.is_previous]
    return tuple(Dependency(one.id, Needs.ENDED) for one in before if one.state in TERMINAL or waits)
