"""Retry by hand: always allowed, always a new job from what the last run ran with."""

from __future__ import annotations

import msgspec

from holdfast.core.job import JobId, Millis
from holdfast.core.requests import Enqueued, NewJob
from holdfast.store.engine import Tx
from holdfast.store.rows import policy_of
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.look import find_row, last_link
from holdfast.store.statements import sql


def retry_job(tx: Tx, job_id: JobId, now: Millis, priority: int | None = None, new_id: JobId | None = None) -> Enqueued:
    """A new job from the snapshot of the last run, with the subject's next generation.

    With a `new_id` that the caller made, a repeat of the call finds the job that the first one stored.
    """
    link = last_link(tx, job_id)
    job = find_row(tx, link.id if link else job_id)
    snapshot: str | None = tx.value(sql.last_run, job_id=job.id)
    again = NewJob(
        id=new_id or tx.new_id(),
        task=job.job_type,
        queue=job.queue,
        payload=snapshot or job.payload,
        priority=job.priority if priority is None else priority,
        tenant=job.tenant,
        subject=job.subject_key,
        ttl_ms=job.ttl_ms,
        timeout_ms=job.timeout_ms,
        policy=policy_of(job),
        tag=job.user_tag,
        trace_id=job.trace_id,
        trigger=msgspec.json.encode({"kind": "retry", "job_id": job.id}).decode(),
    )
    [answer] = enqueue(tx, [again], now, repeated=new_id is not None)
    return answer
