"""A schedule as it is shown: what it means in words, its next ticks, what it skipped, and its newest jobs."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.cli.frame import jobs_shown, output, times
from holdfast.cli.frame.output import GREEN, YELLOW, Coloured, Output
from holdfast.core.schedules.cron import parse, zone_of

if TYPE_CHECKING:
    from holdfast.client.resources.schedule_handle import ScheduleHandle
    from holdfast.core.jobs.stored_job import Job
    from holdfast.core.messages.schedules import Schedule

NEXT, NEWEST = 5, 5
CLOCK = "%a %Y-%m-%d %H:%M:%S %Z"


def shown_schedule(handle: ScheduleHandle) -> Output:
    """Everything about one schedule."""
    schedule, ticks, jobs = handle.view(), handle.preview(NEXT), handle.jobs(limit=NEWEST).jobs
    found = {"schedule": schedule, "next": [tick.isoformat() for tick in ticks], "jobs": jobs}
    return Output(found, lambda: _show(schedule, ticks, jobs))


def _show(schedule: Schedule, ticks: list[datetime], jobs: list[Job]) -> None:
    from holdfast.cli.frame.options_shown import options_text
    from holdfast.observe.redact import redacted_json

    jitter = f"up to {times.length(schedule.jitter_ms)}" if schedule.jitter_ms else None
    output.show_fields(
        [
            ("schedule", schedule.id),
            ("name", schedule.name),
            ("status", status(schedule)),
            ("when", schedule.words),
            ("cron", schedule.cron),
            ("template", schedule.template),
            ("payload", redacted_json(schedule.payload) if schedule.payload != "{}" else None),
            ("options", options_text(schedule.options)),
            ("misfire", schedule.misfire),
            ("overlap", schedule.overlap),
            ("jitter", jitter),
            ("declared by", schedule.owner),
            ("fired", f"{schedule.fires} times" if schedule.fires != 1 else "once"),
            ("last", times.when(schedule.last_triggered_at)),
        ]
    )
    output.put()
    output.show_table(["next if it goes on" if not schedule.enabled else "next", ""], [_tick(tick) for tick in ticks])
    if schedule.skips:
        output.put()
        rows = [[str(skip.ticks), skip.reason, in_zone(schedule, skip.last_fire_time)] for skip in schedule.skips]
        output.show_table(["skipped", "why", "the newest"], rows, right=("skipped",))
    if jobs:
        output.put()
        rows = [
            [
                str(job.number),
                output.state_text(job.state.name),
                jobs_shown.what(job),
                times.ago(job.created_at),
                jobs_shown.detail(job),
            ]
            for job in jobs
        ]
        output.show_table(["job", "state", "what", "created", "detail"], rows)


def shown_ticks(words: str, ticks: list[datetime]) -> Output:
    """What an expression means, and its next ticks."""
    lines = [words, *(f"  {'  '.join(_tick(tick))}" for tick in ticks)]
    return Output({"words": words, "next": [tick.isoformat() for tick in ticks]}, lines)


def shown_expression(cron: str, tz: str, count: int) -> Output:
    """The same for an expression that no schedule has."""
    parsed = parse(cron, tz)
    ticks = parsed.upcoming(int(time.time() * 1000), count)
    return shown_ticks(parsed.words, [datetime.fromtimestamp(tick / 1000, zone_of(tz)) for tick in ticks])


def in_zone(schedule: Schedule, millis: int | None) -> str:
    """A moment by the clock of the schedule."""
    return "" if millis is None else datetime.fromtimestamp(millis / 1000, zone_of(schedule.timezone)).strftime(CLOCK)


def status(schedule: Schedule) -> Coloured:
    """Whether it fires, or why it does not."""
    return Coloured("on", GREEN) if schedule.enabled else Coloured(f"off: {schedule.disabled_reason}", YELLOW)


def skipped(schedule: Schedule) -> str:
    """How many ticks did not fire."""
    return str(sum(skip.ticks for skip in schedule.skips) or "")


def _tick(tick: datetime) -> list[str]:
    return [tick.strftime(CLOCK), times.ago(int(tick.timestamp() * 1000))]
