"""Fire the ticks of schedules. A tick makes at most one job, or is counted as skipped with a reason.

A tick fires in the transaction that settles it, and only if the schedule is still settled up to the moment that was
read. So the second of two processes fires nothing. A schedule that cannot fire is disabled with a reason, and the
others go on.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.errors import Conflict
from holdfast.core.job import JobId, Millis, StateName
from holdfast.core.jobs.requests import Enqueued, NewJob
from holdfast.core.jobs.settle import NEWER_TICK
from holdfast.core.jobs.trigger import by_hand, by_schedule
from holdfast.core.schedules.schedule import (
    FAR_AHEAD,
    JudgedTicks,
    Misfire,
    Overlap,
    SkippedTicks,
    SkipReason,
    is_far_ahead,
    jitter,
    judge,
)
from holdfast.core.values.event import ABOUT_SCHEDULE, ALERT
from holdfast.core.values.group import Dependency, Needs
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.events.events import publish
from holdfast.store.scripts.jobs import admission, endings, enqueue
from holdfast.store.scripts.schedules import schedule_stops, templates
from holdfast.store.scripts.schedules.schedule_rows import ScheduleRow, schedule_row, usable_template
from holdfast.store.scripts.schedules.templates import TemplateRow
from holdfast.store.scripts.tasks.known_tasks import Tasks
from holdfast.store.statements import sql
from holdfast.store.topics import STOPS

BATCH = 50
MOST_JOBS = 500
MOST_SUPERSEDED = 10_000


class Fired(Struct, frozen=True):
    """How many jobs were made and ticks skipped, what went wrong, and whether there may be more to do right now."""

    jobs: int
    skipped: int
    troubles: tuple[str, ...]
    more: bool


class DueTicks(Struct, frozen=True):
    """What was decided about the due ticks of one schedule: the jobs to make, oldest first.

    `is_reset`: it was settled so far ahead that the clock must have been wrong, and begins anew.
    """

    judged: JudgedTicks
    jobs: list[NewJob]
    is_reset: bool = False


def fire_due(tx: Tx, now: Millis, limit: int = BATCH, only: str | None = None) -> Fired:
    """Settle the due ticks of at most `limit` schedules. With `only`, of the schedule with this id."""
    rows = [row for row in _due(tx, now, limit) if only in (None, row.id)]
    jobs = skipped = 0
    troubles: list[str] = []
    for row in rows:
        if jobs >= MOST_JOBS:
            return Fired(jobs, skipped, tuple(troubles), more=True)
        template = tx.one(sql.template_by_id, TemplateRow, id=row.template_id)
        assert template is not None
        try:
            due = _prepare(tx, row, template, now)
        except Exception as error:
            # The others fire all the same.
            reason = f"it could not fire: {error}"
            schedule_stops.disable_schedule(tx, row.id, row.name, reason, now)
            troubles.append(f"schedule {row.name!r} was disabled: {reason}")
            continue
        if due.is_reset:
            troubles.append(
                f"schedule {row.name!r} was far ahead of the clock, which must have been wrong; it begins anew"
            )
        made, left_out = _fire(tx, row, due, now)
        jobs += made
        skipped += left_out
    return Fired(jobs, skipped, tuple(troubles), more=len(rows) >= limit)


def due_ids(tx: Tx, now: Millis, limit: int = BATCH) -> list[str]:
    """The schedules that `fire_due` would settle."""
    return [row.id for row in _due(tx, now, limit)]


def give_up(tx: Tx, schedule_id: str, trouble: str, now: Millis) -> Fired:
    """Disable a schedule whose jobs cannot be stored."""
    row = schedule_row(tx, schedule_id)
    schedule_stops.disable_schedule(tx, row.id, row.name, f"it could not fire: {trouble}", now)
    return Fired(0, 0, (f"schedule {row.name!r} was disabled: it could not fire: {trouble}",), more=True)


def _due(tx: Tx, now: Millis, limit: int) -> list[ScheduleRow]:
    return tx.all(sql.due_schedules, ScheduleRow, now=now, far_ahead=now + FAR_AHEAD, limit=limit)


def next_fire(tx: Tx, now: Millis) -> Millis | None:
    """When the next tick of any schedule comes, or None."""
    moment: Millis | None = tx.value(sql.next_fire, far_ahead=now + FAR_AHEAD)
    return moment


def run_schedule_now(
    tx: Tx, ref: str, id: JobId, now: Millis, repeated: bool = False, trigger: str | None = None
) -> Enqueued:
    """Make a job of a schedule now. It is no tick, and waits for no earlier job.

    As long as it has not ended, it counts as an earlier job for the ticks that come.
    """
    row = schedule_row(tx, ref)
    template = usable_template(tx, row.template_id)
    if not repeated and tx.one(sql.job_by_id, JobRow, id=id) is not None:
        raise Conflict(f"there is a job {id} already; if this is a repeat, say so, otherwise make another id")
    job = msgspec.structs.replace(_job(row, template, id), trigger=by_hand(row.id, row.name, trigger))
    [answer] = enqueue.enqueue_any(tx, [job], now, repeated)
    return answer


def _prepare(tx: Tx, row: ScheduleRow, template: TemplateRow, now: Millis) -> DueTicks:
    """Decide about the due ticks, and prepare their jobs. It writes nothing."""
    if template.archived_at is not None:
        raise Conflict(f"template {template.name!r} is archived")
    if is_far_ahead(row.settled_until, now):
        return DueTicks(JudgedTicks((), None, now, row.cron().next_after(now)), [], is_reset=True)
    judged = judge(row.cron(), Misfire(row.misfire), row.settled_until, now)
    tasks = Tasks(tx)
    return DueTicks(judged, [tasks.resolve(_job_of_tick(row, template, tx.new_id(), tick)) for tick in judged.fires])


def _job(row: ScheduleRow, template: TemplateRow, job_id: JobId) -> NewJob:
    overrides = row.overrides
    job = templates.job_from(template.to_template(), job_id, bytes(overrides.payload).decode(), overrides.options)
    return msgspec.structs.replace(job, schedule_id=row.id)


def _job_of_tick(row: ScheduleRow, template: TemplateRow, job_id: JobId, tick: Millis) -> NewJob:
    job = _job(row, template, job_id)
    return msgspec.structs.replace(
        job,
        fire_time=tick,
        due=tick + jitter(row.id, tick, row.jitter_ms) + (job.delay_ms or 0),
        delay_ms=None,
        trigger=by_schedule(row.id, row.name, tick),
    )


def _fire(tx: Tx, row: ScheduleRow, due: DueTicks, now: Millis) -> tuple[int, int]:
    """Settle the ticks, then make the jobs. Return the number of jobs and of skipped ticks."""
    judged, skipped = due.judged, [] if due.judged.skipped is None else [due.judged.skipped]
    fresh = [job for job in due.jobs if not _has_fired(tx, row, job, now)]
    # A tick that fired while the clock was ahead, and has come again.
    skipped += _left_out(SkipReason.FIRED_BEFORE, due.jobs, fresh)
    earlier = _earlier(tx, row) if fresh else []
    jobs = _without_overlap(Overlap(row.overlap), fresh, bool(earlier))
    skipped += _left_out(SkipReason.OVERLAP, fresh, jobs)
    wanted, jobs = jobs, jobs[: admission.how_many_fit(tx, jobs, earlier)]
    skipped += _left_out(SkipReason.QUEUE_FULL, wanted, jobs)
    is_first = tx.run(
        sql.settle_ticks,
        id=row.id,
        seen=row.last_fire_time,
        settled_until=judged.settled_until,
        next_trigger_at=judged.next,
        fires=len(jobs),
        now=now,
    )
    if not is_first:
        return 0, 0
    if due.is_reset:
        _tell(tx, f"{ALERT}schedule_clock", row, now, settled_until=str(row.settled_until))
    for skip in skipped:
        values = {"reason": skip.reason.value, "ticks": skip.ticks, "last_fire_time": skip.newest}
        tx.run(sql.count_skips, schedule_id=row.id, **values)
        _tell(tx, f"{ABOUT_SCHEDULE}skipped", row, now, **{name: str(value) for name, value in values.items()})
    if jobs and row.overlap == Overlap.SUPERSEDE:
        jobs = [_in_place_of(tx, earlier, jobs[0], now)]
    enqueue.enqueue_any(tx, jobs, now)
    for job in jobs:
        _tell(tx, f"{ABOUT_SCHEDULE}fired", row, now, job_id=job.id, fire_time=str(job.fire_time))
    return len(jobs), sum(skip.ticks for skip in skipped)


def _has_fired(tx: Tx, row: ScheduleRow, job: NewJob, now: Millis) -> bool:
    last = row.last_triggered_at
    # Everything up to the last firing was judged then, and its job may have been removed since. A last firing in the
    # future says nothing: the clock was wrong.
    if last is not None and (job.fire_time or 0) <= last <= now:
        return True
    return tx.value(sql.job_of_tick, schedule_id=job.schedule_id, fire_time=job.fire_time) is not None


def _earlier(tx: Tx, row: ScheduleRow) -> list[JobId]:
    """Open jobs of the schedule, as many as matter for its overlap: there may be a great many."""
    limit = {Overlap.ALLOW: 0, Overlap.SKIP: 1, Overlap.SUPERSEDE: MOST_SUPERSEDED}[Overlap(row.overlap)]
    found = tx.rows(sql.open_jobs_of_schedule, schedule_id=row.id, limit=limit) if limit else []
    return [job["id"] for job in found]


def _without_overlap(overlap: Overlap, jobs: list[NewJob], is_busy: bool) -> list[NewJob]:
    """The jobs that overlap allows. Of several at once, `skip` keeps the first, and `supersede` the last."""
    match overlap:
        case Overlap.ALLOW:
            return jobs
        case Overlap.SKIP:
            return [] if is_busy else jobs[:1]
        case Overlap.SUPERSEDE:
            return jobs[-1:]


def _left_out(reason: SkipReason, all_of: list[NewJob], kept: list[NewJob]) -> list[SkippedTicks]:
    rest = [job.fire_time for job in all_of if job not in kept]
    return [SkippedTicks(reason, len(rest), rest[-1] or 0)] if rest else []


def _in_place_of(tx: Tx, earlier: list[JobId], job: NewJob, now: Millis) -> NewJob:
    """End earlier jobs that wait, and ask those that run to stop. The new job waits for their end."""
    running = [
        job_id for job_id in earlier if not endings.end_waiting(tx, job_id, StateName.SUPERSEDED, NEWER_TICK, now)
    ]
    for job_id in running:
        if tx.run(sql.replace_running, job_id=job_id, now=now):
            tx.changes.topics.add(STOPS)
    return msgspec.structs.replace(job, after=tuple(Dependency(job_id, Needs.ENDED) for job_id in running))


def _tell(tx: Tx, event: str, row: ScheduleRow, now: Millis, **about: str) -> None:
    publish(tx, event, {"schedule": row.name, "schedule_id": row.id} | about, now)
