"""The chores of a database as jobs: when each is due, which session does it, and how it went.

The due time of a chore is stored, so that a restart repeats nothing and several processes do nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.gates import queue_gates
from holdfast.core.job import Millis, SessionId, StateName
from holdfast.core.jobs.requests import Claimed, ClaimRequest, Enqueued, NewJob, QueueSlots, Report, Settled
from holdfast.core.jobs.settle import Broke
from holdfast.core.jobs.stored_job import Job
from holdfast.core.machine import maintenance
from holdfast.core.machine.maintenance import (
    DAY_MS,
    EVERY_CHORE,
    GAP_LEFT,
    HIGHEST_PLACE,
    KEEP_MS,
    MAINTENANCE,
    RULES,
    Chore,
    KeepTimes,
    Space,
)
from holdfast.core.messages.maintenance import ChoreView
from holdfast.core.rules import limits
from holdfast.core.settings import rule_table
from holdfast.core.tasks.task import RETIRED_MS
from holdfast.core.values.event import ALERT
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow, OwnedRow
from holdfast.store.scripts.access.session_holders import SecretRow
from holdfast.store.scripts.apps import records
from holdfast.store.scripts.claiming import claim, free_slots
from holdfast.store.scripts.events.events import KEEP_EVENTS_MS, publish
from holdfast.store.scripts.jobs import enqueue, reorder
from holdfast.store.scripts.maintenance import retention
from holdfast.store.scripts.runs import exchange, finish
from holdfast.store.statements import Dialect, sql

FORGOTTEN_MS: Millis = 30 * DAY_MS
LONGEST_LINE = 500  # a longer one takes too long, so the first move that needs it does it
LINES_AT_ONCE = 100
PLANNED = '{"kind": "maintenance"}'
# The payload of a chore. One that is only due may find that it is not worth it; one by hand is done.
DUE, BY_HAND = "{}", '{"by_hand": true}'


class Due(Struct, frozen=True):
    """A row of `maintenance`."""

    task: str
    due_at: Millis
    job_id: str | None


class Outlook(Struct, frozen=True):
    """Whether a chore waits to be done, and when the next one is due."""

    is_ready: bool
    due_at: Millis | None


class CloseJobs(Struct, frozen=True):
    """A line (jobs of one queue, tenant and priority) whose positions are close to each other."""

    queue: str
    tenant: str
    priority: int
    jobs: int
    highest: int


def own_tasks(dialect: Dialect, place: str) -> tuple[str, ...]:
    """The tasks of chores that a process does for a database whose files are in `place`."""
    return tuple(
        maintenance.task_of(chore, place) for chore in maintenance.chores_of(is_file=dialect is Dialect.SQLITE)
    )


def outlook(tx: Tx, tasks: Sequence[str], now: Millis) -> Outlook:
    """Whether a chore waits, and when the next of these tasks is due."""
    known = {row.task: row.due_at for row in tx.all(sql.list_maintenance, Due)}
    moments = [known[task] if task in known and not _is_far(known[task], task, now) else now for task in tasks]
    return Outlook(tx.value(sql.any_ready, queue=MAINTENANCE) is not None, min(moments, default=None))


def plan_chores(tx: Tx, tasks: Sequence[str], keep: KeepTimes, now: Millis) -> list[str]:
    """Make jobs of the chores that are due and have something to do. Return their tasks."""
    known = {row.task: row for row in tx.all(sql.list_maintenance, Due)}
    planned = []
    for task in tasks:
        row = known.get(task)
        due = _due(None if row is None else row.due_at, task, now)
        job_id = None
        if due <= now:
            chore = _chore(task)
            due = now + RULES[chore].every_ms
            retention.forget_ended(tx, MAINTENANCE, task, now - KEEP_MS)
            if _has_work(tx, chore, keep, now) and tx.value(sql.open_chore, queue=MAINTENANCE, task=task) is None:
                job_id = _put(tx, task, now, DUE, PLANNED).id
                planned.append(task)
        if row is None or row.due_at != due:
            tx.run(sql.put_maintenance, task=task, due_at=due, job_id=job_id)
    if planned:
        tx.run(sql.delete_old_maintenance, before=now - FORGOTTEN_MS)
    return planned


def maintain(tx: Tx, chore: str, now: Millis, trigger: str | None = None) -> list[Enqueued]:
    """Have a chore done now, or `all` but those for a quiet hour. If it waits already, that job is the answer."""
    return [_start(tx, task, now, trigger) for one in _wanted(tx, chore) for task in _tasks(tx, one)]


def list_chores(tx: Tx) -> list[ChoreView]:
    """Every chore of the database: when it is due, and the job that last did it."""
    known = {row.task: row for row in tx.all(sql.list_maintenance, Due)}
    views = []
    for chore in maintenance.chores_of(is_file=tx.dialect is Dialect.SQLITE):
        rule = RULES[chore]
        own = [task for task in sorted(known) if maintenance.chore_of(task) is chore]
        for task in own or ([] if rule.of_place else [maintenance.task_of(chore, "")]):
            row = known.get(task)
            views.append(
                ChoreView(
                    chore=chore,
                    task=task,
                    says=rule.says,
                    due_at=None if row is None else row.due_at,
                    last=None if row is None or row.job_id is None else _job(tx, row.job_id),
                )
            )
    return views


def claim_chore(tx: Tx, session_id: SessionId, tasks: tuple[str, ...], now: Millis) -> Claimed | None:
    """Claim the next chore, for a session that does no other now. Only one chore runs at a time."""
    if tx.value(sql.running_in_scope, scope=MAINTENANCE) and not exchange.give_back_chores(tx, session_id, now):
        return None
    request = ClaimRequest(session_id=session_id, slots=1, queues=(QueueSlots(MAINTENANCE, 1),), tasks=tasks)
    # A session that does chores has the database itself, so it need not know the secret.
    held = tx.one(sql.secret_of_session, SecretRow, id=session_id)
    return next(iter(claim.claim_held(tx, request, None if held is None else held.secret_hash, now)), None)


def asked_of_chore(tx: Tx, run_id: str, now: Millis) -> str | None:
    """What a running chore is asked before its next step: `gone`, `cancel` or `yield`. None: it goes on."""
    job = _under_way(tx, run_id)
    if job is None:
        return "gone"
    if job.stop_reason is not None:
        return "cancel"
    return (
        None
        if queue_gates.free_slots(
            (queue_gates.pause, queue_gates.reservation), free_slots.queue_facts(tx, MAINTENANCE), now
        )
        else "yield"
    )


def settle_chore(tx: Tx, report: Report, task: str, now: Millis) -> Settled:
    """Store how a chore ended. If it failed for good, an alert is published.

    A repeated call publishes nothing.
    """
    is_news = _under_way(tx, report.run_id) is not None
    held = tx.one(sql.secret_of_run, SecretRow, id=report.run_id)
    [settled] = finish.finish_held(tx, [report], None if held is None else held.secret_hash, now)
    if is_news and isinstance(report.outcome, Broke) and settled.state is StateName.FAILED:
        failure = report.outcome.failure
        said = {"task": task, "code": failure.code, "error": failure.message[:500]}
        publish(tx, f"{ALERT}maintenance", said, now)
    return settled


def space(tx: Tx) -> Space:
    """How much of the file is free."""
    found = tx.rows(sql.database_space)[0]
    return Space(found["pages"], found["free"], found["page_size"], bool(found["is_incremental"]))


def release_pages(tx: Tx) -> Space:
    """Give some free pages at the end of the file back. Return what is free then."""
    tx.run(sql.release_pages)
    return space(tx)


def tight_lines(tx: Tx) -> list[CloseJobs]:
    """Lines in which no job fits between two others any more."""
    return tx.all(sql.tight_lines, CloseJobs, gap=GAP_LEFT, highest=HIGHEST_PLACE, limit=LINES_AT_ONCE)


def loosen(tx: Tx, line: CloseJobs) -> int:
    """Give the jobs of a line positions with gaps, in the same order. Return how many."""
    return reorder.renormalise(tx, line.queue, line.tenant, line.priority)


def _under_way(tx: Tx, run_id: str) -> OwnedRow | None:
    """The job of a run, if the run is the open one."""
    job = tx.one(sql.job_of_run, OwnedRow, run_id=run_id)
    return job if job is not None and job.run_status is None and job.open_run_id == run_id else None


def _chore(task: str) -> Chore:
    found = maintenance.chore_of(task)
    assert found is not None
    return found


def _due(due_at: Millis | None, task: str, now: Millis) -> Millis:
    return maintenance.next_due(due_at, _chore(task), now)


def _is_far(due_at: Millis, task: str, now: Millis) -> bool:
    """Whether the due time is so far ahead that the clock was set back since. Then the chore is planned anew.

    Nodes whose clocks differ a little must not see that in each other's times.
    """
    return due_at > now + 2 * RULES[_chore(task)].every_ms


def _has_work(tx: Tx, chore: Chore, keep: KeepTimes, now: Millis) -> bool:
    match chore:
        case Chore.RETENTION:
            return bool(tx.rows(sql.finished_before, before=now - keep.jobs_ms, limit=1))
        case Chore.EVENTS:
            return bool(tx.rows(sql.old_events, before=now - min(keep.jobs_ms, KEEP_EVENTS_MS), limit=1))
        case Chore.LETTERS:
            return bool(tx.rows(sql.unnamed_dead_letters, limit=1))
        case Chore.TASKS:
            return bool(tx.rows(sql.old_task_versions, before=now - RETIRED_MS, limit=1))
        case Chore.TELEMETRY:
            return records.has_old_calls(tx, now - keep.telemetry_ms)
        case Chore.INCREMENTAL_VACUUM:
            return maintenance.can_release(space(tx))
        case Chore.VACUUM:
            return maintenance.is_worth_vacuuming(space(tx))
        case _:
            return True


def _start(tx: Tx, task: str, now: Millis, trigger: str | None) -> Enqueued:
    waiting = tx.value(sql.open_chore, queue=MAINTENANCE, task=task)
    if waiting is not None:
        job = _job(tx, waiting)
        assert job is not None
        if not job.wait_for_idle:
            return Enqueued(job.id, job.state.name, existing=True, number=job.number)
    answer = _put(tx, task, now, BY_HAND, trigger)
    known = {row.task: row.due_at for row in tx.all(sql.list_maintenance, Due)}
    due = _due(known.get(task, now + RULES[_chore(task)].every_ms), task, now)
    tx.run(sql.put_maintenance, task=task, due_at=due, job_id=answer.id)
    return answer


def _put(tx: Tx, task: str, now: Millis, payload: str, trigger: str | None) -> Enqueued:
    rule = RULES[_chore(task)]
    waits = rule.when_idle and payload == DUE
    job = NewJob(
        id=tx.new_id(),
        task=task,
        queue=MAINTENANCE,
        payload=payload,
        deadline=now + DAY_MS,
        wait_for_idle=waits,
        require_charging=waits,
        trigger=trigger,
        complete=True,
    )
    # It is taken even if the disk is full: some chores make room.
    [answer] = enqueue.take_in(tx, [job], now)
    return answer


def _wanted(tx: Tx, name: str) -> list[Chore]:
    known = maintenance.chores_of(is_file=tx.dialect is Dialect.SQLITE)
    rule_table.check("chore", name)
    if name == EVERY_CHORE:
        return [chore for chore in known if not RULES[chore].when_idle]
    if name in known:
        return [Chore(name)]
    raise InvalidInput(
        f"chore {limits.shown(name)} is for SQLite files; PostgreSQL looks after its files itself (autovacuum)"
    )


def _tasks(tx: Tx, chore: Chore) -> list[str]:
    """The tasks of a chore: one, or one for each folder of files that was maintained lately."""
    if not RULES[chore].of_place:
        return [maintenance.task_of(chore, "")]
    found = [row.task for row in tx.all(sql.list_maintenance, Due) if maintenance.chore_of(row.task) is chore]
    if not found:
        raise Conflict(f"nobody has worked on this database yet, so that there are no {chore} to look after")
    return found


def _job(tx: Tx, job_id: str) -> Job | None:
    found = tx.one(sql.job_by_id, JobRow, id=job_id)
    return None if found is None else found.to_job(None)
