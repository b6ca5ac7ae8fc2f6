"""Rows that use a reserved queue or task, made before that was refused. They go on, and the doctor tells of them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from holdfast.core.jobs.requests import DEFAULT_QUEUE, SYSTEM_QUEUE
from holdfast.core.messages.maintenance import ReservedUse
from holdfast.core.tasks.reserved import BEHIND_SYSTEM_TASKS, SYSTEM_TASKS, is_reserved
from holdfast.store.engine import Tx
from holdfast.store.scripts.schedules import schedules
from holdfast.store.scripts.schedules.templates import list_templates
from holdfast.store.scripts.watches import watches
from holdfast.store.statements import sql

MOST_JOBS = 100


class ReservedJob(Struct, frozen=True):
    """A row of `reserved_jobs`."""

    number: int
    task: str
    queue: str


def list_reserved(tx: Tx) -> list[ReservedUse]:
    """Templates, schedules, watches and waiting jobs of callers that use a reserved queue or task."""
    return [use for use in _rules(tx) if is_reserved(use.task, use.queue)] + _jobs(tx)


def _rules(tx: Tx) -> Iterator[ReservedUse]:
    templates = {template.id: template for template in list_templates(tx)}
    for template in templates.values():
        yield ReservedUse("template", template.name, template.task, template.queue or DEFAULT_QUEUE)
    for schedule in schedules.list_schedules(tx):
        made_from = templates.get(schedule.template_id)
        if made_from is not None:
            queue = schedule.options.queue or made_from.queue or DEFAULT_QUEUE
            yield ReservedUse("schedule", schedule.name, made_from.task, queue)
    for watch in watches.list_watches(tx):
        yield ReservedUse("watch", watch.name, watch.task, watch.queue or DEFAULT_QUEUE)


def _jobs(tx: Tx) -> list[ReservedUse]:
    names = {"queue": SYSTEM_QUEUE, "first": SYSTEM_TASKS, "behind": BEHIND_SYSTEM_TASKS}
    rows = tx.all(sql.reserved_jobs, ReservedJob, limit=MOST_JOBS, **names)
    return [ReservedUse("job", str(row.number), row.task, row.queue) for row in rows]
