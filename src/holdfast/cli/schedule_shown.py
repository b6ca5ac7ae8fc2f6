"""A schedule as it is shown: what it means in words, its next ticks, what it skipped, and its newest jobs."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.cli.jobs_shown import detail, what
from holdfast.cli.output import GREEN, YELLOW, Coloured, put, show_fields, show_json, show_table, state_text
from holdfast.cli.times import ago, length, when
from holdfast.core.cron import parse, zone_of

if TYPE_CHECKING:
    from holdfast.client.schedule_handle import ScheduleHandle
    from holdfast.store.scripts.schedule_rows import Schedule

NEXT, NEWEST = 5, 5
CLOCK = "%a %Y-%m-%d %H:%M:%S %Z"


def show_schedule(handle: ScheduleHandle, json: bool) -> None:
    """Everything about one schedule."""
    from holdfast.cli.template import options_text
    from holdfast.observe.redact import redacted_json

    schedule, ticks, jobs = handle.view(), handle.preview(NEXT), handle.jobs(limit=NEWEST).jobs
    if json:
        show_json({"schedule": schedule, "next": [tick.isoformat() for tick in ticks], "jobs": jobs})
        return
    jitter = f"up to {length(schedule.jitter_ms)}" if schedule.jitter_ms else None
    show_fields(
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
            ("last", when(schedule.last_triggered_at)),
        ]
    )
    put()
    show_table(["next if it goes on" if not schedule.enabled else "next", ""], [_tick(tick) for tick in ticks])
    if schedule.skips:
        put()
        rows = [[str(skip.ticks), skip.reason, in_zone(schedule, skip.last_fire_time)] for skip in schedule.skips]
        show_table(["skipped", "why", "the newest"], rows, right=("skipped",))
    if jobs:
        put()
        rows = [
            [str(job.number), state_text(job.state.name), what(job), ago(job.created_at), detail(job)] for job in jobs
        ]
        show_table(["job", "state", "what", "created", "detail"], rows)


def show_next(words: str, ticks: list[datetime], json: bool) -> None:
    """What an expression means, and when that is."""
    if json:
        show_json({"words": words, "next": [tick.isoformat() for tick in ticks]})
        return
    put(words)
    for tick in ticks:
        put(f"  {'  '.join(_tick(tick))}")


def show_expression(cron: str, tz: str, count: int, json: bool) -> None:
    """The same for an expression that no schedule has."""
    parsed = parse(cron, tz)
    ticks = parsed.upcoming(int(time.time() * 1000), count)
    show_next(parsed.words, [datetime.fromtimestamp(tick / 1000, zone_of(tz)) for tick in ticks], json)


def in_zone(schedule: Schedule, millis: int | None) -> str:
    """A moment by the clock of the schedule."""
    return "" if millis is None else datetime.fromtimestamp(millis / 1000, zone_of(schedule.timezone)).strftime(CLOCK)


def status(schedule: Schedule) -> Coloured:
    """Whether it fires, and why it does not."""
    return Coloured("on", GREEN) if schedule.enabled else Coloured(f"off: {schedule.disabled_reason}", YELLOW)


def skipped(schedule: Schedule) -> str:
    """How many ticks did not fire."""
    return str(sum(skip.ticks for skip in schedule.skips) or "")


def _tick(tick: datetime) -> list[str]:
    return [tick.strftime(CLOCK), ago(int(tick.timestamp() * 1000))]
