"""Templates: requests that are stored by name, to make jobs from. They are archived, never deleted."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import Conflict, NotFound
from holdfast.core.job import JobId, Millis
from holdfast.core.jobs.requests import Enqueued, NewJob
from holdfast.core.messages.templates import NewTemplate, Template, TemplateChanges
from holdfast.core.rules.pairs import JOB, check_pairs
from holdfast.core.tasks.reserved import refuse_reserved
from holdfast.core.tasks.task import KeptOptions, Overrides, TemplateOptions
from holdfast.decoding import decode
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.jobs.enqueue import enqueue
from holdfast.store.scripts.schedules import schedule_stops
from holdfast.store.scripts.tasks.known_tasks import check_request, is_known
from holdfast.store.statements import sql


class TemplateRow(Struct, frozen=True):
    """A row of `job_templates`."""

    id: str
    name: str
    job_type: str
    payload: str
    options: str
    created_at: Millis
    updated_at: Millis
    archived_at: Millis | None
    queue: str | None

    def to_template(self, known: bool = True) -> Template:
        """The template that this row describes. `known`: its task is declared."""
        return Template(
            id=self.id,
            name=self.name,
            task=self.job_type,
            queue=self.queue,
            payload=self.payload,
            options=decode(self.options, TemplateOptions),
            created_at=self.created_at,
            updated_at=self.updated_at,
            archived_at=self.archived_at,
            known=known,
        )


def put_template(tx: Tx, template: NewTemplate, now: Millis, must_exist: bool = False) -> Template:
    """Store a template, or replace the one that has its name. Jobs that exist keep what they have.

    `must_exist`: refuse a task that no worker has declared.
    """
    check_request(tx, template.task, msgspec.json.decode(template.payload), must_exist=must_exist, in_part=True)
    return store_template(tx, template, now)


def store_template(tx: Tx, template: NewTemplate, now: Millis) -> Template:
    """The same, for a template whose task was checked elsewhere."""
    refuse_reserved(template.task, template.queue)
    values = {
        "job_type": template.task,
        "queue": template.queue,
        "payload": template.payload,
        "options": msgspec.json.encode(template.options).decode(),
        "now": now,
    }
    in_use = tx.one(sql.template_by_name, TemplateRow, name=template.name)
    if in_use is not None:
        tx.run(sql.replace_template, id=in_use.id, **values)
        return find_template(tx, in_use.id)
    taken = tx.one(sql.template_by_id, TemplateRow, id=template.id)
    if taken is not None:
        raise Conflict(f"the id {template.id} is that of template {taken.name!r}; make another one")
    tx.run(sql.insert_template, id=template.id, name=template.name, **values)
    return find_template(tx, template.id)


def edit_template(tx: Tx, ref: str, changes: TemplateChanges, now: Millis, must_exist: bool = False) -> Template:
    """Change a template. What is not given stays as it is, and so does every job that exists.

    `must_exist`: refuse another task that no worker has declared.
    """
    row = template_row(tx, ref)
    if row.archived_at is not None:
        raise Conflict(f"template {row.name!r} is archived; make a new one")
    refuse_reserved(changes.task, changes.queue)
    if changes.task is not None or changes.payload is not None:
        task, payload = changes.task or row.job_type, changes.payload or row.payload
        is_required = must_exist and changes.task is not None
        check_request(tx, task, msgspec.json.decode(payload), must_exist=is_required, in_part=True)
    tx.run(
        sql.replace_template,
        id=row.id,
        job_type=row.job_type if changes.task is None else changes.task,
        queue=row.queue if changes.queue is None else changes.queue,
        payload=row.payload if changes.payload is None else changes.payload,
        options=row.options if changes.options is None else msgspec.json.encode(changes.options).decode(),
        now=now,
    )
    return find_template(tx, row.id)


def find_template(tx: Tx, ref: str) -> Template:
    """The template in use with this name, or the one with this id, or NotFound."""
    return _view(tx, template_row(tx, ref))


def list_templates(tx: Tx, archived: bool = False, limit: int = 1_000) -> list[Template]:
    """Templates by name, those that are in use or all of them."""
    return [_view(tx, row) for row in tx.all(sql.list_templates, TemplateRow, archived=int(archived), limit=limit)]


def archive_template(tx: Tx, ref: str, now: Millis) -> Template:
    """Make no more jobs from a template. Its name is free again, and its schedules are disabled. Twice is harmless."""
    row = template_row(tx, ref)
    tx.run(sql.archive_template, id=row.id, now=now)
    schedule_stops.disable_schedules_of(tx, row.id, f"template {row.name!r} was archived", now)
    return find_template(tx, row.id)


def enqueue_from_template(
    tx: Tx,
    ref: str,
    id: JobId,
    now: Millis,
    payload: str = "{}",
    overrides: Overrides = Overrides(),  # noqa: B008  # it is frozen
    repeated: bool = False,
    trigger: str | None = None,
) -> Enqueued:
    """A job from a template: `payload` is laid over its payload, key by key, `overrides` over its options."""
    row = template_row(tx, ref)
    if row.archived_at is not None:
        raise Conflict(f"template {row.name!r} is archived; no job can be made from it")
    if not repeated and tx.one(sql.job_by_id, JobRow, id=id) is not None:
        raise Conflict(f"there is a job {id} already; if this is a repeat, say so, otherwise make another id")
    template = row.to_template()
    check_event(template, overrides)
    job = job_from(template, id, payload, overrides)
    [answer] = enqueue(tx, [msgspec.structs.replace(job, trigger=trigger)], now, repeated)
    return answer


def check_event(template: Template, overrides: KeptOptions) -> None:
    """Refuse attributes of an event, if there is none: neither in these options nor in those of the template."""
    event = overrides.wait_for_event or template.options.wait_for_event
    check_pairs(JOB, {"event_attributes": overrides.event_attributes, "wait_for_event": event}.get)


def job_from(template: Template, job_id: JobId, payload: str, overrides: KeptOptions) -> NewJob:
    """A job of a template: `payload` is laid over its payload, key by key, `overrides` over its options."""
    chosen: dict[str, Any] = {"queue": template.queue}
    for layer in (template.options, overrides):
        given = {field: getattr(layer, field) for field in layer.__struct_fields__}
        chosen |= {field: value for field, value in given.items() if value is not None}
    if chosen.get("due") is not None and overrides.delay_ms is None:
        chosen.pop("delay_ms", None)
    # The attributes belong to the event: another event comes with its own.
    if "wait_for_event" not in chosen or (overrides.wait_for_event and overrides.event_attributes is None):
        chosen.pop("event_attributes", None)
    merged = laid_over(template.payload, payload)
    return NewJob(id=job_id, task=template.task, payload=merged, template_id=template.id, **chosen)


def _view(tx: Tx, row: TemplateRow) -> Template:
    return row.to_template(is_known(tx, row.job_type))


def laid_over(below: str, above: str) -> str:
    """A payload laid over another, key by key."""
    keys = dict[str, msgspec.Raw]
    merged = msgspec.json.decode(below, type=keys) | msgspec.json.decode(above, type=keys)
    return msgspec.json.encode(merged).decode()


def template_row(tx: Tx, ref: str) -> TemplateRow:
    """The row of the template in use with this name, or of the one with this id, or NotFound."""
    found = tx.one(sql.template_by_name, TemplateRow, name=ref) or tx.one(sql.template_by_id, TemplateRow, id=ref)
    if found is None:
        raise NotFound(f"there is no template {ref!r}")
    return found
