"""Retry by hand: always allowed, always a new job from what the last run ran with."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import structs

from holdfast.core.filling import wants_previous
from holdfast.core.group import Needs
from holdfast.core.job import TERMINAL, JobId, Millis
from holdfast.core.requests import Dependency, Enqueued, NewJob
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow, policy_of
from holdfast.store.scripts.enqueue import take_in
from holdfast.store.scripts.letters import ClosedAs, close_letter
from holdfast.store.scripts.look import find_row, last_link
from holdfast.store.scripts.predecessors import predecessors
from holdfast.store.statements import sql


def retry_job(tx: Tx, job_id: JobId, now: Millis, priority: int | None = None, new_id: JobId | None = None) -> Enqueued:
    """A new job from the snapshot of the last run, with the subject's next generation.

    With a `new_id` that the caller made, a repeat of the call finds the job that the first one stored.
    """
    link = last_link(tx, job_id)
    job = find_row(tx, link.id if link else job_id)
    again = made_anew(tx, job, id=new_id or tx.new_id())
    again = structs.replace(
        again, priority=job.priority if priority is None else priority, after=_after(tx, job, again.payload)
    )
    [answer] = take_in(tx, [again], now, repeated=new_id is not None)
    close_letter(tx, job.id, ClosedAs.RETRIED, now, retried_as=answer.id)
    return answer


def made_anew(tx: Tx, job: JobRow, **more: Any) -> NewJob:
    """The same request once more, with what the job last ran with; `more` is what is different or added."""
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
        trace_id=job.trace_id,
        trigger=msgspec.json.encode({"kind": "retry", "job_id": job.id}).decode(),
        **more,
    )


def _after(tx: Tx, job: JobRow, payload: str) -> tuple[Dependency, ...]:
    """It comes after the same jobs as before, so that their results are there; only those it needs are waited for."""
    waits = wants_previous(payload)
    before = predecessors(tx, job.id)
    if waits:
        # Outside of its group nothing stands before it: the one that it wants is then the only one it came after.
        before = [one for one in before if one.is_previous] or before
    return tuple(Dependency(one.id, Needs.ENDED) for one in before if one.state in TERMINAL or waits)
