"""End jobs that do not run, and start or cancel the jobs that wait for an ended one."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, structs

from holdfast.core.job import JobId, Millis, StateName
from holdfast.core.tasks.reserved import WORKSPACE_QUEUE
from holdfast.core.values.group import (
    LEFT_OUT_CODE,
    DependencyTurn,
    Needs,
    OnFailure,
    dependency_turn,
    next_turn,
    why_cancelled,
)
from holdfast.store.engine import Tx
from holdfast.store.scripts.events import job_events
from holdfast.store.scripts.groups import group_events
from holdfast.store.scripts.telling import log_lines
from holdfast.store.scripts.telling.log_lines import JobEnd
from holdfast.store.scripts.telling.wake_ups import wake_ready
from holdfast.store.statements import sql
from holdfast.store.topics import DUE, WORKSPACES

GROUP_RULE = "group"


class Dependent(Struct, frozen=True):
    """A job that waits for the end of another one."""

    job_id: JobId
    key: str
    value: str
    on_failure: str


class Counted(Struct, frozen=True):
    """A job after one of its conditions came true."""

    state: str
    queue: str


def after_key(job_id: JobId) -> str:
    """The key of the condition "after that job"."""
    return f"after:{job_id}"


def group_key(job_id: JobId) -> str:
    """The key of the condition "next in the group, after that job"."""
    return f"group:{job_id}"


def end_waiting(tx: Tx, job_id: JobId, state: StateName, reason: str, now: Millis) -> bool:
    """End a waiting job, and start or cancel what waits for it. False if it was not waiting any more."""
    ended = end_unstarted(tx, job_id, state, reason, None, now)
    if ended is None:
        return False
    announce_ended(tx, [ended], now)
    return True


class Unstarted(Struct, frozen=True):
    """A row of `end_waiting_job`."""

    queue: str
    trace_id: str | None
    generation: int | None
    is_favoured: int


def end_unstarted(
    tx: Tx, job_id: JobId, state: StateName, reason: str, error_code: str | None, now: Millis
) -> JobEnd | None:
    """End a waiting job, and wake workers that were held back for it. None if it was not waiting."""
    params = {"job_id": job_id, "state": state, "reason": reason, "error_code": error_code, "now": now}
    found = tx.one(sql.end_waiting_job, Unstarted, **params)
    if found is None:
        return None
    if found.is_favoured:
        wake_ready(tx)
    return JobEnd(job_id, state, found.queue, found.trace_id, reason, error_code, found.generation)


def announce_ended(tx: Tx, ended: Iterable[JobEnd], now: Millis, *, later: bool = False) -> None:
    """Start or cancel what waited for these jobs, and what waited for those in turn.

    `later`: the caller stores the events of their groups itself, once all members are there.
    """
    todo = list(ended)
    tx.changes.ended.update(item.job_id for item in todo)
    if any(item.queue == WORKSPACE_QUEUE for item in todo):
        tx.changes.topics.add(WORKSPACES)
    for item in todo:
        log_lines.note_ended(tx, item)
    job_events.tell_ended(tx, [item.job_id for item in todo], now)
    if not later:
        group_events.tell_groups(tx, [item.job_id for item in todo], now)
    if not tx.value(sql.any_open_condition):
        return
    while todo:
        ended_job = todo.pop()
        keys = {"after_key": after_key(ended_job.job_id), "group_key": group_key(ended_job.job_id)}
        for dependent in tx.all(sql.dependents, Dependent, **keys):
            todo += _take_turn(tx, dependent, ended_job, now)


def _take_turn(tx: Tx, dependent: Dependent, predecessor: JobEnd, now: Millis) -> list[JobEnd]:
    in_group = dependent.value == GROUP_RULE
    if in_group:
        counts_as = StateName.DONE if predecessor.left_out else predecessor.state
        turn = next_turn(OnFailure(dependent.on_failure), counts_as)
    else:
        turn = dependency_turn(Needs(dependent.value), predecessor.state)
    awaited = awaited_turn(tx, predecessor.job_id) if in_group else None
    if awaited is not None:
        tx.run(sql.repoint_dependents, old_key=dependent.key, new_key=awaited)
    if turn is DependencyTurn.START:
        if awaited is None:
            satisfy(tx, dependent.job_id, dependent.key, now)
        return []
    left_out = in_group and turn is DependencyTurn.CANCEL
    reason = why_cancelled(predecessor.job_id, predecessor.state)
    code = LEFT_OUT_CODE if left_out else None
    ended = end_unstarted(tx, dependent.job_id, StateName.CANCELLED, reason, code, now)
    if ended is None:
        return []
    tx.changes.ended.add(dependent.job_id)
    log_lines.note_ended(tx, ended)
    job_events.tell_ended(tx, [dependent.job_id], now)
    group_events.tell_groups(tx, [dependent.job_id], now)
    return [structs.replace(ended, left_out=left_out)]


def awaited_turn(tx: Tx, job_id: JobId) -> str | None:
    """The key of the member that an ended one still waited for. None: it waited for none.

    The members after the ended one wait for that member then, so that none passes a member that still runs.
    """
    key: str | None = tx.value(sql.awaited_turn, job_id=job_id)
    return key


def satisfy(tx: Tx, job_id: JobId, key: str, now: Millis) -> None:
    """Note that one condition of a job has come true."""
    count_down(tx, job_id, tx.run(sql.satisfy_condition, job_id=job_id, key=key, now=now), now)


def count_down(tx: Tx, job_id: JobId, count: int, now: Millis) -> None:
    """Take so many off the open conditions. With the last one, the job is ready, or waits for its time alone."""
    if not count:
        return
    counted = tx.one(sql.count_down_conditions, Counted, job_id=job_id, count=count, now=now)
    if counted is not None and counted.state == StateName.QUEUED:
        tx.changes.ready.add(counted.queue)
    tx.changes.topics.add(DUE)
