"""Cancel jobs: waiting ones at once and without a run, running ones by a request that their worker sees."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.errors import NotFound
from holdfast.core.job import JobId, Millis, StateName
from holdfast.core.messages.jobs import Cancelling
from holdfast.core.tasks.reserved import refuse_operation
from holdfast.store.engine import Tx
from holdfast.store.scripts.groups import groups
from holdfast.store.scripts.jobs import endings
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.statements import sql
from holdfast.store.topics import STOPS


def cancel_job(tx: Tx, job_id: JobId, now: Millis, reason: str = "cancelled on request") -> Cancelling:
    """Cancel one job. In a retry chain, the last link."""
    link = read_jobs.last_link(tx, job_id)
    if link is None:
        raise NotFound(f"there is no job {job_id!r}")
    refuse_operation(link.queue, link.number)
    return _cancel(tx, [link.id], now, reason)


def cancel_tag(tx: Tx, tag: str, now: Millis, limit: int) -> Cancelling:
    """Cancel up to `limit` jobs that have a tag."""
    return _cancel(tx, _ids(tx.rows(sql.live_ids_by_tag, tag=tag, limit=limit)), now, f"cancelled by tag {tag}")


def cancel_group(tx: Tx, group_id: str, now: Millis, limit: int) -> Cancelling:
    """Cancel up to `limit` members of a group. The last ones go first, so that none starts meanwhile."""
    group = groups.look_up_group(tx, group_id)
    return _cancel(tx, _ids(tx.rows(sql.live_ids_by_group, group_id=group.id, limit=limit)), now, "group cancelled")


def _ids(rows: Iterable[dict[str, str]]) -> list[JobId]:
    return [row["id"] for row in rows]


def _cancel(tx: Tx, ids: Iterable[JobId], now: Millis, reason: str) -> Cancelling:
    cancelled = requested = ended = 0
    for job_id in ids:
        if endings.end_waiting(tx, job_id, StateName.CANCELLED, reason, now):
            cancelled += 1
        elif tx.run(sql.request_stop, job_id=job_id, now=now):
            requested += 1
            tx.changes.topics.add(STOPS)
        else:
            ended += 1
    return Cancelling(cancelled, requested, ended)
