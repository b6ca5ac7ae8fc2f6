"""The same action on every job that a filter names. `dry_run` only counts them."""

from __future__ import annotations

import msgspec

from holdfast.core.errors import InvalidInput
from holdfast.core.job import TERMINAL, WAITING, Millis, StateName
from holdfast.core.jobs import order
from holdfast.core.jobs.order import Ranked
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.messages.jobs import BulkAction, BulkResult
from holdfast.core.tasks.reserved import WORKSPACE_QUEUE
from holdfast.store.engine import Tx
from holdfast.store.scripts.jobs import cancel, reorder
from holdfast.store.scripts.jobs.retry import retry_job
from holdfast.store.scripts.reading import pages, read_jobs
from holdfast.store.statements import sql

_CONCERNS: dict[BulkAction, frozenset[StateName]] = {
    BulkAction.CANCEL: WAITING | {StateName.RUNNING},
    BulkAction.RETRY: TERMINAL,
    BulkAction.PRIORITY: WAITING,
}


def bulk(
    tx: Tx,
    action: BulkAction,
    wanted: JobFilter,
    now: Millis,
    *,
    limit: int = 1_000,
    dry_run: bool = False,
    priority: int | None = None,
    trigger: str | None = None,
) -> BulkResult:
    """Apply `action` to the newest jobs that fit, at most `limit` of them.

    Priorities change in the order of the queue. Other actions follow the order of the enqueue, so that of several
    generations of a subject the newest is retried last, and stands. Of a retry chain only the last link is meant. In a
    sequential group it has the turn of the first.
    """
    if action is BulkAction.PRIORITY and priority is None:
        raise InvalidInput("the bulk action 'priority' needs a priority")
    concerned = _CONCERNS[action]
    states = tuple(state for state in (wanted.states or tuple(StateName)) if state in concerned)
    if not states:
        return BulkResult(0, more=False, dry_run=dry_run)
    numbers = read_jobs.newest_numbers(tx, msgspec.structs.replace(wanted, states=states), limit + 1)
    found = tx.all(sql.ranked_jobs, Ranked, numbers=pages.as_list(numbers[:limit]))
    # Operations of workspaces are neither cancelled nor retried by hand.
    jobs = [job for job in found if job.queue != WORKSPACE_QUEUE]
    if action is BulkAction.RETRY:
        jobs = [job for job in jobs if read_jobs.is_last_link(tx, job.id)]
    ordered = sorted(jobs, key=order.rank) if action is BulkAction.PRIORITY else order.in_turn(jobs[::-1])
    for job in () if dry_run else ordered:
        match action:
            case BulkAction.CANCEL:
                cancel.cancel_job(tx, job.id, now)
            case BulkAction.RETRY:
                retry_job(tx, job.id, now, priority, trigger=trigger)
            case BulkAction.PRIORITY:
                reorder.set_priority(tx, job.id, priority or 0)
    return BulkResult(len(jobs), more=len(numbers) > limit, dry_run=dry_run)
