"""The chores of a database as jobs: when each is due, who does it, and what became of it.

When a chore is due is stored, so that a restart repeats nothing and several processes do nothing twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.event import ALERT
from holdfast.core.job import Job, Millis, SessionId, StateName
from holdfast.core.limits import shown
from holdfast.core.maintenance import (
    DAY_MS,
    GAP_LEFT,
    HIGHEST_PLACE,
    KEEP_MS,
    MAINTENANCE,
    RULES,
    Chore,
    Space,
    can_release,
    chore_of,
    chores_of,
    is_worth_vacuuming,
    next_due,
    task_of,
)
from holdfast.core.requests import Claimed, ClaimRequest, Enqueued, NewJob, QueueSlots, Report, Settled
from holdfast.core.settle import Broke
from holdfast.core.task import RETIRED_MS
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow, OwnedRow
from holdfast.store.scripts.claim import claim_held
from holdfast.store.scripts.enqueue import take_in
from holdfast.store.scripts.events import KEEP_EVENTS_MS, publish
from holdfast.store.scripts.exchange import give_back_chores
from holdfast.store.scripts.finish import finish_held
from holdfast.store.scripts.holders import SecretRow
from holdfast.store.scripts.reorder import renormalise
from holdfast.store.scripts.retention import forget_ended
from holdfast.store.statements import Dialect, sql

FORGOTTEN_MS: Millis = 30 * DAY_MS
LONGEST_LINE = 500  # a longer one takes too long at once, and is put right by the first move that needs it
LINES_AT_ONCE = 100
PLANNED = '{"kind": "maintenance"}'
# What a chore is told: whether somebody wants it, or it is only due and may find that it does not pay.
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


class ChoreView(Struct, frozen=True, kw_only=True):
    """A chore, what it does, when it is due again, and the job that did it last, if that is still there."""

    chore: Chore
    task: str
    says: str
    due_at: Millis | None = None
    last: Job | None = None


class Line(Struct, frozen=True):
    """Jobs of one priority of a tenant in a queue that stand close."""

    queue: str
    tenant: str
    priority: int
    jobs: int
    highest: int


class Held(Struct, frozen=True):
    """What keeps the queue from starting anything."""

    paused_at: Millis | None
    reservation: str | None


def own_tasks(dialect: Dialect, place: str) -> tuple[str, ...]:
    """The tasks that a process does for a database whose files are in `place`."""
    return tuple(task_of(chore, place) for chore in chores_of(is_file=dialect is Dialect.SQLITE))


def outlook(tx: Tx, tasks: Sequence[str], now: Millis) -> Outlook:
    """What a process that does these tasks has to expect."""
    known = {row.task: row.due_at for row in tx.all(sql.list_maintenance, Due)}
    moments = [known[task] if task in known and not _is_far(known[task], task, now) else now for task in tasks]
    return Outlook(tx.value(sql.any_ready, queue=MAINTENANCE) is not None, min(moments, default=None))


def plan_chores(tx: Tx, tasks: Sequence[str], keep_ms: Millis, now: Millis) -> list[str]:
    """Make jobs of what is due and has something to do; their tasks."""
    known = {row.task: row for row in tx.all(sql.list_maintenance, Due)}
    planned = []
    for task in tasks:
        row = known.get(task)
        due = _due(None if row is None else row.due_at, task, now)
        job_id = None
        if due <= now:
            chore = _chore(task)
            due = now + RULES[chore].every_ms
            forget_ended(tx, MAINTENANCE, task, now - KEEP_MS)
            if _has_work(tx, chore, keep_ms, now) and tx.value(sql.open_chore, queue=MAINTENANCE, task=task) is None:
                job_id = _put(tx, task, now, DUE, PLANNED).id
                planned.append(task)
        if row is None or row.due_at != due:
            tx.run(sql.put_maintenance, task=task, due_at=due, job_id=job_id)
    if planned:
        tx.run(sql.delete_old_maintenance, before=now - FORGOTTEN_MS)
    return planned


def maintain(tx: Tx, chore: str, now: Millis, trigger: str | None = None) -> list[Enqueued]:
    """Have a chore done now, or `all` of them that are not for a quiet hour. One that waits already is the answer."""
    return [_start(tx, task, now, trigger) for one in _wanted(tx, chore) for task in _tasks(tx, one)]


def list_chores(tx: Tx) -> list[ChoreView]:
    """Every chore of the database: when it is due, and what the last one did."""
    known = {row.task: row for row in tx.all(sql.list_maintenance, Due)}
    views = []
    for chore in chores_of(is_file=tx.dialect is Dialect.SQLITE):
        rule = RULES[chore]
        own = [task for task in sorted(known) if chore_of(task) is chore]
        for task in own or ([] if rule.of_place else [task_of(chore, "")]):
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
    """The next chore, for a session that does these and is at none; one at a time, whoever does it."""
    if tx.value(sql.running_in_scope, scope=MAINTENANCE) and not give_back_chores(tx, session_id, now):
        return None
    request = ClaimRequest(session_id=session_id, slots=1, queues=(QueueSlots(MAINTENANCE, 1),), tasks=tasks)
    # Who does chores has the database itself.
    held = tx.one(sql.secret_of_session, SecretRow, id=session_id)
    return next(iter(claim_held(tx, request, None if held is None else held.secret_hash, now)), None)


def asked_of_chore(tx: Tx, run_id: str) -> str | None:
    """What a chore under way has to heed before its next step: `gone`, `cancel`, `yield`; None lets it go on."""
    job = _under_way(tx, run_id)
    if job is None:
        return "gone"
    if job.stop_reason is not None:
        return "cancel"
    held = tx.one(sql.queue_gates, Held, queue=MAINTENANCE)
    return "yield" if held is not None and (held.paused_at or held.reservation) else None


def settle_chore(tx: Tx, report: Report, task: str, now: Millis) -> Settled:
    """Store what became of a chore; one that failed, and is not tried again, is told to whoever waits for alerts.

    A repeat, by one who got no answer, tells nobody once more.
    """
    is_news = _under_way(tx, report.run_id) is not None
    held = tx.one(sql.secret_of_run, SecretRow, id=report.run_id)
    [settled] = finish_held(tx, [report], None if held is None else held.secret_hash, now)
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
    """Give some free pages at the end of the file back; what is free then."""
    tx.run(sql.release_pages)
    return space(tx)


def tight_lines(tx: Tx) -> list[Line]:
    """Lines in which no job can be put between two others any more."""
    return tx.all(sql.tight_lines, Line, gap=GAP_LEFT, highest=HIGHEST_PLACE, limit=LINES_AT_ONCE)


def loosen(tx: Tx, line: Line) -> int:
    """Put the jobs of a line apart, in the same order; how many."""
    return renormalise(tx, line.queue, line.tenant, line.priority)


def _under_way(tx: Tx, run_id: str) -> OwnedRow | None:
    """The job of a run, as long as the run is the open one."""
    job = tx.one(sql.job_of_run, OwnedRow, run_id=run_id)
    return job if job is not None and job.run_status is None and job.open_run_id == run_id else None


def _chore(task: str) -> Chore:
    found = chore_of(task)
    assert found is not None
    return found


def _due(due_at: Millis | None, task: str, now: Millis) -> Millis:
    return next_due(due_at, _chore(task), now)


def _is_far(due_at: Millis, task: str, now: Millis) -> bool:
    """Whether the clock was set back since that was stored: it has to be planned anew, or would never come closer.

    Two nodes whose clocks differ a little must not do that to each other.
    """
    return due_at > now + 2 * RULES[_chore(task)].every_ms


def _has_work(tx: Tx, chore: Chore, keep_ms: Millis, now: Millis) -> bool:
    match chore:
        case Chore.RETENTION:
            return bool(tx.rows(sql.finished_before, before=now - keep_ms, limit=1))
        case Chore.EVENTS:
            return bool(tx.rows(sql.old_events, before=now - min(keep_ms, KEEP_EVENTS_MS), limit=1))
        case Chore.LETTERS:
            return bool(tx.rows(sql.unnamed_dead_letters, limit=1))
        case Chore.TASKS:
            return bool(tx.rows(sql.old_task_versions, before=now - RETIRED_MS, limit=1))
        case Chore.INCREMENTAL_VACUUM:
            return can_release(space(tx))
        case Chore.VACUUM:
            return is_worth_vacuuming(space(tx))
        case _:
            return True


def _start(tx: Tx, task: str, now: Millis, trigger: str | None) -> Enqueued:
    waiting = tx.value(sql.open_chore, queue=MAINTENANCE, task=task)
    if waiting is not None:
        job = _job(tx, waiting)
        assert job is not None
        if not job.wait_for_idle:
            return Enqueued(job.id, job.state.name, existing=True)
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
    # It comes in also where the disk is full: some of the chores make room.
    [answer] = take_in(tx, [job], now)
    return answer


def _wanted(tx: Tx, name: str) -> list[Chore]:
    known = chores_of(is_file=tx.dialect is Dialect.SQLITE)
    if name == "all":
        return [chore for chore in known if not RULES[chore].when_idle]
    if name in known:
        return [Chore(name)]
    if name in tuple(Chore):
        raise InvalidInput(f"{shown(name)} is for SQLite files; PostgreSQL looks after its files itself (autovacuum)")
    raise InvalidInput(f"there is no chore {shown(name)}; use one of {', '.join(known)}, or all")


def _tasks(tx: Tx, chore: Chore) -> list[str]:
    """The tasks of a chore: one; or one for each place that somebody has looked after lately."""
    if not RULES[chore].of_place:
        return [task_of(chore, "")]
    found = [row.task for row in tx.all(sql.list_maintenance, Due) if chore_of(row.task) is chore]
    if not found:
        raise Conflict(f"nobody has worked on this database yet, so that there are no {chore} to look after")
    return found


def _job(tx: Tx, job_id: str) -> Job | None:
    found = tx.one(sql.job_by_id, JobRow, id=job_id)
    return None if found is None else found.to_job(None)
