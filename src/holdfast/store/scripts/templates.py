"""Templates: requests that are kept by name, to make jobs from. They are archived, never deleted."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from holdfast.core.errors import Conflict, InvalidInput, NotFound
from holdfast.core.job import JobId, Millis
from holdfast.core.requests import Dependency, Enqueued, NewJob
from holdfast.core.reserved import refuse_reserved
from holdfast.core.task import JobOptions
from holdfast.store.engine import Tx
from holdfast.store.rows import JobRow
from holdfast.store.scripts.enqueue import enqueue
from holdfast.store.scripts.known_tasks import check_request, is_known
from holdfast.store.scripts.schedule_stops import disable_schedules_of
from holdfast.store.statements import sql


class ScheduleOptions(JobOptions, frozen=True, kw_only=True, omit_defaults=True):
    """How the jobs of a schedule are to be run instead of what its template says; None leaves it to the template."""

    queue: str | None = None


class Overrides(ScheduleOptions, frozen=True, kw_only=True, omit_defaults=True):
    """What one job has instead of what its template says; None leaves it to the template."""

    generation: int | None = None
    due: Millis | None = None
    deadline: Millis | None = None
    group_id: str | None = None
    after: tuple[Dependency, ...] = ()
    idempotency_key: str | None = None
    trace_id: str | None = None
    node: str | None = None


class NewTemplate(Struct, frozen=True, kw_only=True):
    """A template to be stored; `payload` is what its jobs run with unless they say otherwise.

    What it leaves open, its queue among it, is as its task declares.
    """

    id: str
    name: str
    task: str
    queue: str | None = None
    payload: str = "{}"
    options: JobOptions = JobOptions()


class TemplateChanges(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is to be different about a template; None leaves it as it is."""

    task: str | None = None
    queue: str | None = None
    payload: str | None = None
    options: JobOptions | None = None


class Template(Struct, frozen=True, kw_only=True):
    """A template as it stands in the store. `known` is false where no worker has declared its task lately."""

    id: str
    name: str
    task: str
    queue: str | None
    payload: str
    options: JobOptions
    created_at: Millis
    updated_at: Millis
    archived_at: Millis | None
    known: bool = True


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
        """The template that this row describes, whose task is known or not."""
        return Template(
            id=self.id,
            name=self.name,
            task=self.job_type,
            queue=self.queue,
            payload=self.payload,
            options=msgspec.json.decode(self.options, type=JobOptions),
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
    """Change a template; what is not given stays as it is, and so does every job that exists.

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
    """The template with this name that is in use, or the one with this id, or NotFound."""
    return _view(tx, template_row(tx, ref))


def list_templates(tx: Tx, archived: bool = False, limit: int = 1_000) -> list[Template]:
    """Templates by name, those that are in use or all of them."""
    return [_view(tx, row) for row in tx.all(sql.list_templates, TemplateRow, archived=int(archived), limit=limit)]


def archive_template(tx: Tx, ref: str, now: Millis) -> Template:
    """Make no more jobs from a template; its name is free again, and its schedules stand still. Twice is harmless."""
    row = template_row(tx, ref)
    tx.run(sql.archive_template, id=row.id, now=now)
    disable_schedules_of(tx, row.id, f"template {row.name!r} was archived", now)
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
    job = job_from(row.to_template(), id, payload, overrides)
    if overrides.event_attributes and job.wait_for_event is None:
        raise InvalidInput(f"template {row.name!r} waits for no event; give wait_for_event with event_attributes")
    [answer] = enqueue(tx, [msgspec.structs.replace(job, trigger=trigger)], now, repeated)
    return answer


def job_from(template: Template, job_id: JobId, payload: str, overrides: ScheduleOptions) -> NewJob:
    """A job of a template: `payload` is laid over its payload, key by key, `overrides` over its options."""
    chosen: dict[str, Any] = {"queue": template.queue}
    for layer in (template.options, overrides):
        given = {field: getattr(layer, field) for field in layer.__struct_fields__}
        chosen |= {field: value for field, value in given.items() if value is not None}
    if chosen.get("due") is not None and overrides.delay_ms is None:
        chosen.pop("delay_ms", None)
    # What an event must have belongs to that event: another one comes with its own wishes.
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
    """The row of the template that is in use under this name, or of the one with this id, or NotFound."""
    found = tx.one(sql.template_by_name, TemplateRow, name=ref) or tx.one(sql.template_by_id, TemplateRow, id=ref)
    if found is None:
        raise NotFound(f"there is no template {ref!r}")
    return found
