"""A job that failed for good leaves a dead letter. It is open until a person, or a retry, has dealt with it."""

from __future__ import annotations

from typing import Any

from holdfast.core.errors import NotFound
from holdfast.core.job import JobId, Millis
from holdfast.core.jobs import requests
from holdfast.core.jobs.fingerprint import fingerprint_of
from holdfast.core.jobs.settle import End
from holdfast.core.messages.dead_letters import ClosedAs, Letter
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.decoding import convert
from holdfast.store.engine import Tx
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.statements import sql

NAMED_AT_ONCE = 200


def letter_of(tx: Tx, job_id: JobId) -> Letter:
    """The dead letter of a job that failed for good, or NotFound. In a retry chain, that of the last link."""
    found = tx.rows(sql.dead_letter_of_job, job_id=job_id)
    link = None if found else read_jobs.last_link(tx, job_id)
    if link is not None:
        found = tx.rows(sql.dead_letter_of_job, job_id=link.id)
    if not found:
        raise NotFound(f"job {job_id!r} has left no dead letter: it has not failed for good, or nobody knows it")
    return convert(found[0], Letter)


def letter_row(job_id: JobId, queue: str, end: End, failure: Failure | None, now: Millis) -> list[dict[str, Any]]:
    """The dead letter of a job that ends as failed. Jobs of the system leave none."""
    if requests.is_system_queue(queue):
        return []
    kind = FailureKind.INFRA if failure is None else failure.kind
    fingerprint = fingerprint_of(kind, end.error_code or "", end.reason or "")
    return [{"job_id": job_id, "fingerprint": fingerprint, "kind": kind.value, "now": now}]


def close_letter(
    tx: Tx,
    job_id: JobId,
    closed_as: ClosedAs,
    now: Millis,
    closed_by: str | None = None,
    reason: str | None = None,
    retried_as: JobId | None = None,
) -> bool:
    """Close the dead letter of a job. False if there is none, or it is closed already."""
    closed = tx.run(
        sql.close_dead_letter,
        job_id=job_id,
        closed_as=closed_as.value,
        now=now,
        closed_by=closed_by,
        reason=reason,
        retried_as=retried_as,
    )
    return closed > 0


def name_old_letters(tx: Tx, limit: int = NAMED_AT_ONCE) -> int:
    """Give fingerprints to letters from before there were fingerprints. Less than `limit`: none is left."""
    unnamed = tx.rows(sql.unnamed_dead_letters, limit=limit)
    tx.run_many(
        sql.name_dead_letter,
        [
            {
                "job_id": row["job_id"],
                "fingerprint": fingerprint_of(row["kind"], row["error_code"] or "", row["reason"] or ""),
            }
            for row in unnamed
        ],
    )
    return len(unnamed)
