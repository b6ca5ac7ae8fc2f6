"""Schedules in the model: their ticks by plain arithmetic, and what becomes of each."""

from __future__ import annotations

from msgspec import structs

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import WAITING
from holdfast.core.job import StateName as S
from holdfast.core.messages.schedules import NewSchedule, ScheduleChanges
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.values.group import Dependency, Needs
from tests.model.admission import how_many_fit
from tests.model.model import Answer, Model
from tests.model.news import publish
from tests.model.records import Ask, Job, Schedule, Template

DAY = 86_400_000
GRACE = 5_000
MOST_AT_ONCE = 100
# Every so often, and how long after midnight.
CRONS: dict[str, tuple[int, int]] = {
    "* * * * * */10": (10_000, 0),
    "* * * * *": (60_000, 0),
    "15 * * * *": (3_600_000, 900_000),
    "30 2 * * *": (DAY, 9_000_000),
}


def find(model: Model, schedule: str) -> Schedule:
    if schedule not in model.schedules:
        raise NotFound(schedule)
    return model.schedules[schedule]


def next_after(schedule: Schedule, moment: int) -> int:
    every, offset = CRONS[schedule.ask.cron]
    return (moment - offset) // every * every + every + offset


def ticks(schedule: Schedule, now: int) -> list[int]:
    """Those that have come and are not settled, oldest first."""
    every, _ = CRONS[schedule.ask.cron]
    newest = next_after(schedule, now) - every
    return list(range(next_after(schedule, schedule.settled), newest + 1, every))


def put_template(model: Model, template: NewTemplate) -> None:
    model.templates[template.id] = Template(template)


def archive_template(model: Model, template: str, now: int) -> None:
    model.templates[template].archived = True
    for name, schedule in model.schedules.items():
        if schedule.ask.template == template and schedule.enabled:
            reason = f"template '{model.templates[template].ask.name}' was archived"
            schedule.enabled, schedule.reason, schedule.next = False, reason, None
            publish(model, "schedule.disabled", _about(name, schedule) | {"reason": reason}, now)


def put_schedule(model: Model, ask: NewSchedule, now: int) -> None:
    if any(known.ask.name == ask.name for known in model.schedules.values()):
        raise Conflict(ask.name)
    _usable(model, ask.template)
    schedule = model.schedules[ask.id] = Schedule(ask, now)
    schedule.next = next_after(schedule, now)


def edit_schedule(model: Model, name: str, changes: ScheduleChanges, now: int) -> None:
    """Another expression begins with its next tick; one that stands still goes on standing still."""
    schedule = find(model, name)
    given = {field: getattr(changes, field) for field in ("cron", "misfire", "overlap", "jitter_ms")}
    before = schedule.ask
    schedule.ask = structs.replace(before, **{field: value for field, value in given.items() if value is not None})
    if schedule.ask.cron != before.cron:
        schedule.settled = max(now, schedule.settled)
        schedule.next = next_after(schedule, schedule.settled) if schedule.enabled else None


def pause_schedule(model: Model, name: str) -> None:
    schedule = find(model, name)
    if schedule.enabled:
        schedule.enabled, schedule.reason, schedule.next = False, "paused", None


def resume_schedule(model: Model, name: str, now: int) -> None:
    """While it stood still, no tick was missed."""
    schedule = find(model, name)
    if not schedule.enabled:
        _usable(model, schedule.ask.template)
        schedule.enabled, schedule.reason, schedule.settled = True, None, max(now, schedule.settled)
        schedule.next = next_after(schedule, schedule.settled)


def delete_schedule(model: Model, name: str) -> None:
    del model.schedules[find(model, name).ask.id]


def run_now(model: Model, name: str, job_id: str, now: int) -> Answer:
    schedule = find(model, name)
    _usable(model, schedule.ask.template)
    return model.enqueue([_job(model, schedule, job_id, None)], now)[0]


def fire_due(model: Model, now: int, limit: int) -> tuple[int, int, int, bool]:
    """How many jobs were made, ticks skipped and schedules begun anew, and whether there may be more."""
    due = [
        (schedule.next or 0, name)
        for name, schedule in model.schedules.items()
        if schedule.enabled and ((schedule.next or 0) <= now or schedule.settled > now + DAY)
    ]
    jobs = skipped = anew = 0
    for _, name in sorted(due)[:limit]:
        schedule = model.schedules[name]
        if schedule.settled > now + DAY:
            _begin_anew(model, name, schedule, now)
            anew += 1
        else:
            made, left_out = _fire(model, name, schedule, now)
            jobs, skipped = jobs + made, skipped + left_out
    return jobs, skipped, anew, len(due) >= limit


def _begin_anew(model: Model, name: str, schedule: Schedule, now: int) -> None:
    """Only a wrong clock can have brought it so far."""
    about = _about(name, schedule) | {"settled_until": str(schedule.settled)}
    schedule.settled, schedule.next = now, next_after(schedule, now)
    publish(model, "alert.schedule_clock", about, now)


def _fire(model: Model, name: str, schedule: Schedule, now: int) -> tuple[int, int]:
    come = ticks(schedule, now)
    match schedule.ask.misfire:
        case "skip":
            chosen, why = [tick for tick in come if now - tick <= GRACE], "missed"
        case "latest":
            chosen, why = come[-1:], "missed"
        case _:
            chosen, why = come[-MOST_AT_ONCE:], "too many"
    done = {job.ask.fire_time for job in model.jobs.values() if job.ask.schedule_id == name and job.retry_of is None}
    last = schedule.fired
    fresh = [tick for tick in chosen if tick not in done and not (last is not None and tick <= last <= now)]
    open_jobs = [job for job in model.find(*WAITING, S.RUNNING) if job.ask.schedule_id == name] if fresh else []
    match schedule.ask.overlap:
        case "skip":
            fires = [] if open_jobs else fresh[:1]
        case "supersede":
            fires = fresh[-1:]
        case _:
            fires = fresh
    template = model.templates[schedule.ask.template].ask
    wanted = fires
    priority, going = template.options.priority or 0, open_jobs if schedule.ask.overlap == "supersede" else ()
    fires = wanted[: how_many_fit(model, template.queue or "default", priority, len(wanted), going)]
    schedule.settled, schedule.next = (come or [schedule.settled])[-1], next_after(schedule, now)
    schedule.fires += len(fires)
    schedule.fired = now if fires else schedule.fired
    skipped = {
        why: [tick for tick in come if tick not in chosen],
        "fired before": [tick for tick in chosen if tick not in fresh],
        "overlap": [tick for tick in fresh if tick not in wanted],
        "queue full": [tick for tick in wanted if tick not in fires],
    }
    for reason, left_out in skipped.items():
        _skip(model, name, schedule, reason, left_out, now)
    after: tuple[Dependency, ...] = ()
    if fires and schedule.ask.overlap == "supersede":
        after = _make_room(model, open_jobs, now)
    asked = [_job(model, schedule, model.seen.ticks.get((name, tick), "?"), tick, after) for tick in fires]
    model.enqueue(asked, now)
    for ask in asked:
        about = {"job_id": ask.id, "fire_time": str(ask.fire_time)}
        publish(model, "schedule.fired", _about(name, schedule) | about, now)
    return len(fires), sum(map(len, skipped.values()))


def _skip(model: Model, name: str, schedule: Schedule, reason: str, left_out: list[int], now: int) -> None:
    if left_out:
        before, _ = schedule.skips.get(reason, (0, 0))
        schedule.skips[reason] = (before + len(left_out), left_out[-1])
        about = {"reason": reason, "ticks": str(len(left_out)), "last_fire_time": str(left_out[-1])}
        publish(model, "schedule.skipped", _about(name, schedule) | about, now)


def _make_room(model: Model, jobs: list[Job], now: int) -> tuple[Dependency, ...]:
    """What waits ends; what runs is asked to stop, and waited for."""
    running = [job for job in jobs if job.state is S.RUNNING]
    for job in jobs:
        if job.state in WAITING:
            model.end(job, S.SUPERSEDED, "a newer tick", now)
    for job in running:
        job.stop = job.stop or "superseded"
    return tuple(Dependency(job.id, Needs.ENDED) for job in running)


def _job(model: Model, schedule: Schedule, job_id: str, tick: int | None, after: tuple[Dependency, ...] = ()) -> Ask:
    """The template's job. Of its jitter only the bounds are known."""
    template = model.templates[schedule.ask.template].ask
    options = {name: value for name, value in structs.asdict(template.options).items() if value is not None}
    due = None if tick is None else model.seen.times.get(job_id)
    if tick is not None and not (due and tick <= due <= tick + schedule.ask.jitter_ms):
        due = -1
    return Ask(
        id=job_id,
        task=template.task,
        queue=template.queue or "default",
        payload=template.payload,
        template_id=template.id,
        schedule_id=schedule.ask.id,
        fire_time=tick,
        due=due,
        after=after,
        **{"tenant": "::".join(options["subject"].split("::")[:2]) if "subject" in options else "default"} | options,
    )


def _usable(model: Model, template: str) -> None:
    if model.templates[template].archived:
        raise Conflict(template)


def _about(name: str, schedule: Schedule) -> dict[str, str]:
    return {"schedule": schedule.ask.name, "schedule_id": name}
