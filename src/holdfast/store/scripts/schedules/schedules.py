"""Schedules: make, change, show, pause, resume and delete them. What fires is decided elsewhere (`firing`).

A schedule settles its ticks one after the other: none at or before `settled_until` ever fires. A schedule that is new,
is resumed, or gets another cron expression or time zone begins with the present moment. Ticks are missed (`misfire`)
only while no daemon is there. While a schedule is paused, no tick is missed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import Millis
from holdfast.core.messages.schedules import NewSchedule, Origin, Preview, Schedule, ScheduleChanges, Skips
from holdfast.core.schedules.cron import UTC, parse
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.settings import rule_table
from holdfast.core.tasks.reserved import refuse_reserved
from holdfast.core.tasks.task import ScheduleOptions
from holdfast.core.values.payload import read_payload
from holdfast.store.engine import Tx
from holdfast.store.scripts.schedules import templates
from holdfast.store.scripts.schedules.schedule_rows import ScheduleOverrides, ScheduleRow, schedule_row, usable_template
from holdfast.store.scripts.tasks.known_tasks import check_request, is_known
from holdfast.store.statements import sql
from holdfast.store.topics import DUE

PAUSED = "paused"


def put_schedule(tx: Tx, schedule: NewSchedule, now: Millis, repeated: bool = False) -> Schedule:
    """Store a new schedule, whose name must be free. Its first tick is the next one."""
    known = tx.one(sql.schedule_by_id, ScheduleRow, id=schedule.id)
    if known is not None:
        if repeated:
            return find_schedule(tx, schedule.id)
        raise Conflict(f"the id {schedule.id} is that of schedule {known.name!r}; make another one")
    refuse_taken_name(tx, schedule.name)
    template = usable_template(tx, schedule.template)
    refuse_reserved(template.job_type, schedule.options.queue or template.queue)
    values = _values(schedule, template.id)
    cron = parse(schedule.cron, schedule.timezone)
    if schedule.origin is Origin.API:
        templates.check_event(template.to_template(), schedule.options)
        check_request(
            tx, template.job_type, msgspec.json.decode(templates.laid_over(template.payload, schedule.payload))
        )
    tx.run(
        sql.insert_schedule, id=schedule.id, last_fire_time=now, next_trigger_at=cron.next_after(now), now=now, **values
    )
    tx.changes.topics.add(DUE)
    return find_schedule(tx, schedule.id)


def declare_schedule(tx: Tx, schedule: NewSchedule, now: Millis) -> Schedule:
    """Store a schedule of the code of a program, or bring the one of that name up to date. Twice is harmless.

    A schedule that a person has made is left alone: Conflict. One that a person has paused stays paused.
    """
    known = tx.one(sql.schedule_by_name, ScheduleRow, name=schedule.name)
    schedule = msgspec.structs.replace(schedule, origin=Origin.CODE)
    if known is None:
        return put_schedule(tx, schedule, now)
    if known.origin != Origin.CODE:
        raise Conflict(f"there is a schedule {schedule.name!r} that no code declared; rename one of the two")
    return _replace(tx, known, schedule, now)


def edit_schedule(tx: Tx, ref: str, changes: ScheduleChanges, now: Millis) -> Schedule:
    """Change a schedule. What is not given stays as it is, and so does every job that exists.

    Another cron expression or time zone begins with the next tick from now on.
    """
    row = schedule_row(tx, ref)
    refuse_reserved(None, None if changes.options is None else changes.options.queue)
    if changes.template is not None:
        template = usable_template(tx, changes.template)
        refuse_reserved(template.job_type, template.queue)
    if changes.name is not None and changes.name != row.name:
        refuse_taken_name(tx, changes.name)
    overrides = row.overrides
    if changes.options is not None and _event_of(changes.options) != _event_of(overrides.options):
        templates.check_event(
            templates.template_row(tx, changes.template or row.template_id).to_template(), changes.options
        )
    given = {field: getattr(changes, field) for field in changes.__struct_fields__}
    as_it_is: dict[str, Any] = {
        "name": row.name,
        "template": row.template_id,
        "cron": row.cron_expression,
        "timezone": row.timezone,
        "payload": bytes(overrides.payload).decode(),
        "options": overrides.options,
        "misfire": Misfire(row.misfire),
        "overlap": Overlap(row.overlap),
        "jitter_ms": row.jitter_ms,
        "origin": Origin(row.origin),
        "owner": row.owner,
    }
    wanted = as_it_is | {field: value for field, value in given.items() if value is not None}
    if changes.template is not None or changes.payload is not None:
        template = templates.template_row(tx, wanted["template"])
        check_request(
            tx, template.job_type, msgspec.json.decode(templates.laid_over(template.payload, wanted["payload"]))
        )
    return _replace(tx, row, NewSchedule(id=row.id, **wanted), now)


def find_schedule(tx: Tx, ref: str) -> Schedule:
    """The schedule with this name, or the one with this id, or NotFound."""
    row = schedule_row(tx, ref)
    return _view(tx, row, _skips(tx, row.id))


def list_schedules(tx: Tx, limit: int = 1_000) -> list[Schedule]:
    """Schedules by name."""
    skips = _skips(tx, None)
    return [_view(tx, row, skips) for row in tx.all(sql.list_schedules, ScheduleRow, limit=limit)]


def pause_schedule(tx: Tx, ref: str, now: Millis, reason: str | None = None) -> Schedule:
    """Let a schedule fire no more until it is resumed. While it is paused, no tick is missed. Twice is harmless."""
    row = schedule_row(tx, ref)
    tx.run(sql.disable_schedule, id=row.id, reason=reason or PAUSED, now=now)
    return find_schedule(tx, row.id)


def resume_schedule(tx: Tx, ref: str, now: Millis) -> Schedule:
    """Let a schedule fire again, from its next tick on. One that is not paused stays as it is."""
    row = schedule_row(tx, ref)
    if not row.enabled:
        usable_template(tx, row.template_id)
        # Ticks that fired while the clock was ahead do not fire again.
        settled = max(now, row.settled_until)
        tx.run(
            sql.enable_schedule,
            id=row.id,
            last_fire_time=settled,
            next_trigger_at=row.cron().next_after(settled),
            now=now,
        )
        tx.changes.topics.add(DUE)
    return find_schedule(tx, row.id)


def delete_schedule(tx: Tx, ref: str, now: Millis, repeated: bool = False) -> bool:
    """Delete a schedule. The jobs that it made stay, and a template that was made for it alone is archived.

    False: a repeat found it gone already.
    """
    try:
        row = schedule_row(tx, ref)
    except NotFound:
        if repeated:
            return False
        raise
    tx.run(sql.delete_schedule, id=row.id)
    tx.run(sql.archive_own_template, id=row.id, now=now)
    return True


def preview_schedule(tx: Tx, ref: str, now: Millis, count: int = 5) -> Preview:
    """When a schedule fires next, unless it is paused."""
    row = schedule_row(tx, ref)
    cron = row.cron()
    return Preview(cron.words, cron.upcoming(max(now, row.settled_until), count))


def preview_cron(tx: Tx, expression: str, now: Millis, timezone: str = UTC, count: int = 5) -> Preview:
    """What a cron expression means in words, and its next ticks, without a schedule."""
    cron = parse(expression, timezone)
    return Preview(cron.words, cron.upcoming(now, count))


def _replace(tx: Tx, row: ScheduleRow, wanted: NewSchedule, now: Millis) -> Schedule:
    # A schedule that is disabled because its template was archived can be changed all the same.
    kept = wanted.template == row.template_id
    values = _values(wanted, row.template_id if kept else usable_template(tx, wanted.template).id)
    settled, next_fire = row.last_fire_time, row.next_trigger_at
    if (wanted.cron, wanted.timezone) != (row.cron_expression, row.timezone):
        settled = max(now, row.settled_until)
        next_fire = parse(wanted.cron, wanted.timezone).next_after(settled) if row.enabled else None
    tx.run(sql.edit_schedule, id=row.id, last_fire_time=settled, next_trigger_at=next_fire, now=now, **values)
    tx.changes.topics.add(DUE)
    return find_schedule(tx, row.id)


def _event_of(options: ScheduleOptions) -> tuple[str | None, Mapping[str, str] | None]:
    return options.wait_for_event, options.event_attributes


def _values(wanted: NewSchedule, template_id: str) -> dict[str, Any]:
    """The columns of what was asked for, or a refusal."""
    rule_table.check("name", wanted.name, "schedule")
    rule_table.check("jitter_ms", wanted.jitter_ms)
    if wanted.owner is not None:
        rule_table.check("NewSchedule.owner", wanted.owner, "owner")
    parse(wanted.cron, wanted.timezone)
    overrides = ScheduleOverrides(_checked_payload(wanted.payload), wanted.options)
    return {
        "template_id": template_id,
        "name": wanted.name,
        "cron_expression": wanted.cron,
        "timezone": wanted.timezone,
        "param_overrides": msgspec.json.encode(overrides).decode(),
        "misfire": Misfire(wanted.misfire).value,
        "overlap": Overlap(wanted.overlap).value,
        "jitter_ms": wanted.jitter_ms,
        "origin": Origin(wanted.origin).value,
        "owner": wanted.owner,
    }


def _checked_payload(text: str) -> msgspec.Raw:
    encoded = text.encode("utf-8", "surrogatepass")
    read_payload(encoded)
    return msgspec.Raw(encoded)


def refuse_taken_name(tx: Tx, name: str) -> None:
    """Raise Conflict if another schedule has this name."""
    if tx.one(sql.schedule_by_name, ScheduleRow, name=name) is not None:
        raise Conflict(f"there is a schedule {name!r} already; choose another name, or edit that one")


class _SkipsRow(Skips, frozen=True):
    schedule_id: str = ""


def _skips(tx: Tx, schedule_id: str | None) -> defaultdict[str, list[Skips]]:
    found: defaultdict[str, list[Skips]] = defaultdict(list)
    for row in tx.all(sql.list_skips, _SkipsRow, schedule_id=schedule_id):
        found[row.schedule_id].append(Skips(row.reason, row.ticks, row.last_fire_time))
    return found


def _view(tx: Tx, row: ScheduleRow, skips: defaultdict[str, list[Skips]]) -> Schedule:
    return row.to_schedule(skips[row.id], is_known(tx, templates.template_row(tx, row.template_id).job_type))
