"""Schedules with a template of their own: made in one step, or declared by the code of a program.

The template of such a schedule has the name and the id of the schedule.
"""

from __future__ import annotations

import msgspec

from holdfast.core.errors import Conflict, InvalidInput
from holdfast.core.job import Millis
from holdfast.core.messages.schedules import Declared, DeclaredSchedule, NewSchedule, Origin, Schedule
from holdfast.core.messages.templates import NewTemplate
from holdfast.core.schedules.cron import parse
from holdfast.store.engine import Tx
from holdfast.store.scripts.schedules import schedule_stops, schedules, templates
from holdfast.store.scripts.schedules.schedule_rows import ScheduleRow
from holdfast.store.scripts.schedules.templates import TemplateRow
from holdfast.store.scripts.tasks.known_tasks import check_request
from holdfast.store.statements import sql

NO_LONGER = "the code no longer asks for it"


def schedule_task(
    tx: Tx,
    template: NewTemplate,
    schedule: NewSchedule,
    now: Millis,
    repeated: bool = False,
    must_exist: bool = False,
) -> Schedule:
    """Store a new schedule with a template of its own. Both get the name of the schedule, which must be free.

    `must_exist`: refuse a task that no worker has declared.
    """
    if repeated and tx.one(sql.schedule_by_id, ScheduleRow, id=schedule.id) is not None:
        return schedules.find_schedule(tx, schedule.id)
    check_request(tx, template.task, msgspec.json.decode(template.payload), must_exist=must_exist)
    schedules.refuse_taken_name(tx, schedule.name)
    if tx.one(sql.template_by_name, TemplateRow, name=schedule.name) is not None:
        raise Conflict(_taken(schedule.name))
    _put_own_template(tx, template, schedule.id, schedule.name, now)
    return schedules.put_schedule(tx, msgspec.structs.replace(schedule, template=schedule.id), now)


def declare_schedules(tx: Tx, declared: list[DeclaredSchedule], owners: list[str], now: Millis) -> Declared:
    """Store the schedules that a program's code asks for, and disable those that it no longer asks for.

    `owners` are the modules of the program: schedules that other code declared are left alone. What a person has paused
    stays paused, and what a person has made is left alone too.
    """
    told = Declared([], [], [])
    for wanted in declared:
        trouble = _trouble(tx, wanted)
        if trouble is not None:
            told.troubles.append(trouble)
        elif _declare(tx, wanted, now):
            told.stored.append(wanted.schedule.name)
    names = {wanted.schedule.name for wanted in declared}
    for row in tx.all(sql.code_schedules, ScheduleRow):
        if row.owner in owners and row.name not in names:
            schedule_stops.disable_schedule(tx, row.id, row.name, NO_LONGER, now)
            told.disabled.append(row.name)
    return told


def _trouble(tx: Tx, wanted: DeclaredSchedule) -> str | None:
    """Why a declared schedule cannot be stored. The others are stored all the same."""
    name = wanted.schedule.name
    try:
        parse(wanted.schedule.cron, wanted.schedule.timezone)
    except InvalidInput as error:
        return f"schedule {name!r}: {error}"
    known = tx.one(sql.schedule_by_name, ScheduleRow, name=name)
    if known is not None and known.origin != Origin.CODE:
        return f"there is a schedule {name!r} that no code declared; rename one of the two"
    template = tx.one(sql.template_by_name, TemplateRow, name=name)
    if template is not None and (known is None or template.id != known.id):
        return _taken(name)
    return None


def _declare(tx: Tx, wanted: DeclaredSchedule, now: Millis) -> bool:
    known = tx.one(sql.schedule_by_name, ScheduleRow, name=wanted.schedule.name)
    schedule_id = tx.new_id() if known is None else known.id
    own = tx.one(sql.template_by_id, TemplateRow, id=schedule_id)
    if own is not None and own.archived_at is not None:
        # Its template was archived by hand, and the schedule is disabled for that reason.
        return False
    name = wanted.schedule.name if own is None else own.name
    _put_own_template(tx, wanted.template, schedule_id, name, now)
    schedules.declare_schedule(tx, msgspec.structs.replace(wanted.schedule, id=schedule_id, template=schedule_id), now)
    if known is not None and known.disabled_reason == NO_LONGER:
        schedules.resume_schedule(tx, known.id, now)
    return True


def _put_own_template(tx: Tx, template: NewTemplate, schedule_id: str, name: str, now: Millis) -> None:
    templates.store_template(tx, msgspec.structs.replace(template, id=schedule_id, name=name), now)


def _taken(name: str) -> str:
    return f"there is a template {name!r} already, which schedule {name!r} would replace; choose another name"
