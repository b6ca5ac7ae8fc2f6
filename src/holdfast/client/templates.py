"""Templates: requests that are kept by name, to make jobs from. Every blocking call has an awaitable twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from holdfast.client.caller import what_triggers
from holdfast.client.handle import JobHandle
from holdfast.client.options import MAX_GENERATION, NOTHING, Options, Prepared, check_bool, make_options
from holdfast.client.retry import check_policy
from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.job import Millis
from holdfast.core.limits import MAX_SUBJECT, check_int, check_label, check_name, shown
from holdfast.core.requests import Enqueued
from holdfast.core.subject import fill
from holdfast.core.task import JobOptions
from holdfast.store.scripts import look, templates
from holdfast.store.scripts.templates import NewTemplate, Overrides, Template, TemplateChanges

if TYPE_CHECKING:
    from holdfast.client.task import Enqueuing
    from holdfast.workers.schema import PayloadSchema

Payload: TypeAlias = Mapping[str, Any]
TaskRef: TypeAlias = "str | Enqueuing[Any, Any]"
O = TypeVar("O", bound=JobOptions)  # noqa: E741

# What is called otherwise in the store than in the options of a task.
_OPTION_OF = {
    "delay_ms": "delay",
    "due": "at",
    "ttl_ms": "ttl",
    "timeout_ms": "timeout",
    "policy": "retry",
    "group_id": "group",
    "wait_for_idle": "when_idle",
    "require_charging": "when_charging",
    "wait_for_event": "on_event",
    "event_attributes": "where",
}


class Templates:
    """The part of `Holdfast` that keeps templates and makes jobs from them."""

    _access: StoreAccess

    def create_template(
        self, name: str, task: TaskRef, payload: Payload | None = None, *, must_exist: bool = False, **options: Any
    ) -> Template:
        """Keep a request by name: `hf.create_template("clean", "clean_up", {"days": 30}, queue="night", retry=3)`.

        `task` is a task of this program or the name of any; `payload` is what its jobs run with unless they say
        otherwise. Takes the options of `Task.options` that are not about one job alone. A template that has the name
        already is replaced; jobs that exist keep what they have. With `must_exist`, a task that no worker has declared
        raises UnknownTask.
        """
        creating: tuple[Any, ...] = (
            *self._creating(self._access.now(), name, task, payload, options),
            check_bool("must_exist", must_exist),
        )
        made: Template = self._access.write(*creating)
        return made

    async def acreate_template(
        self, name: str, task: TaskRef, payload: Payload | None = None, *, must_exist: bool = False, **options: Any
    ) -> Template:
        """The awaitable twin of `create_template`."""
        creating: tuple[Any, ...] = (
            *self._creating(await self._access.anow(), name, task, payload, options),
            check_bool("must_exist", must_exist),
        )
        return await self._access.awrite(*creating)

    def templates(self, *, archived: bool = False) -> list[Template]:
        """Every template that is in use, by name; with `archived`, those that were archived too."""
        return self._access.read(templates.list_templates, archived)

    async def atemplates(self, *, archived: bool = False) -> list[Template]:
        """The awaitable twin of `templates`."""
        return await self._access.aread(templates.list_templates, archived)

    def template(self, name: str) -> Template:
        """A template by its name, or by its id."""
        return self._access.read(templates.find_template, _ref(name))

    async def atemplate(self, name: str) -> Template:
        """The awaitable twin of `template`."""
        return await self._access.aread(templates.find_template, _ref(name))

    def edit_template(
        self,
        name: str,
        *,
        task: TaskRef | None = None,
        payload: Payload | None = None,
        must_exist: bool = False,
        **options: Any,
    ) -> Template:
        """Change what is given. Jobs that exist keep what they have. `must_exist` is as for `create_template`."""
        editing: tuple[Any, ...] = (
            *self._editing(self.template(name), task, payload, options),
            check_bool("must_exist", must_exist),
        )
        changed: Template = self._access.write(*editing)
        return changed

    async def aedit_template(
        self,
        name: str,
        *,
        task: TaskRef | None = None,
        payload: Payload | None = None,
        must_exist: bool = False,
        **options: Any,
    ) -> Template:
        """The awaitable twin of `edit_template`."""
        now = await self.atemplate(name)
        editing: tuple[Any, ...] = (*self._editing(now, task, payload, options), check_bool("must_exist", must_exist))
        return await self._access.awrite(*editing)

    def archive_template(self, name: str) -> Template:
        """Make no more jobs from a template: its name is free again, and its schedules stand still with a reason."""
        return self._access.write(templates.archive_template, _ref(name), self._access.now())

    async def aarchive_template(self, name: str) -> Template:
        """The awaitable twin of `archive_template`."""
        return await self._access.awrite(templates.archive_template, _ref(name), await self._access.anow())

    def enqueue_template(self, name: str, payload: Payload | None = None, **options: Any) -> JobHandle[Any]:
        """Store a job of a template: `payload` is laid over its payload, key by key, and the options over its options.

        Takes the options of `Task.options`.
        """
        answer = self._access.write(*self._enqueuing(self._access.now(), name, payload, options))
        self._access.enqueued()
        return handle_of(self, answer)

    async def aenqueue_template(self, name: str, payload: Payload | None = None, **options: Any) -> JobHandle[Any]:
        """The awaitable twin of `enqueue_template`."""
        answer = await self._access.awrite(*self._enqueuing(await self._access.anow(), name, payload, options))
        await self._access.aenqueued()
        return await ahandle_of(self, answer)

    def _creating(
        self, now: Millis, name: str, task: TaskRef, payload: Payload | None, options: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        called, chosen = task_and_options(task, options)
        text, arguments = encoded(called, payload, self._schema_of(called))
        made = new_template(self._access.new_id(), check_name("template", name), called, text, arguments, chosen)
        return (templates.put_template, made, now)

    def _editing(
        self, now: Template, task: TaskRef | None, payload: Payload | None, options: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        called, chosen = task_and_options(now.task if task is None else task, options)
        text, arguments = (now.payload, {}) if payload is None else encoded(called, payload, self._schema_of(called))
        if payload is None and chosen.subject is not None:
            arguments = msgspec.json.decode(text)
        given = stored_options(called, msgspec.structs.replace(chosen, queue=None), arguments, JobOptions)
        changes = TemplateChanges(
            task=None if task is None else called,
            queue=None if chosen.queue is None else check_name("queue", chosen.queue),
            payload=None if payload is None else text,
            options=laid_over(now.options, given),
        )
        return (templates.edit_template, now.id, changes, self._access.now())

    def _enqueuing(
        self, now: Millis, name: str, payload: Payload | None, options: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        from holdfast.workers.isolation import refuse_while_loading

        refuse_while_loading("enqueuing a job")
        text, arguments = encoded(name, payload, None)
        overrides = stored_options(name, make_options(options), arguments, Overrides)
        return (
            templates.enqueue_from_template,
            _ref(name),
            self._access.new_id(),
            now,
            text,
            overrides,
            False,
            what_triggers(),
        )

    def _schema_of(self, task: str) -> PayloadSchema | None:
        """How the payload and result of a task are read, where it is known."""
        return None


def task_and_options(task: TaskRef, options: Mapping[str, Any]) -> tuple[str, Options]:
    """The name of a task, and the options laid over its own if it is one of this program."""
    chosen = make_options(options)
    if chosen.retry is not None:
        check_policy(chosen.retry)
    if isinstance(task, str):
        return check_name("task", task), chosen
    own = getattr(task, "_options", None)
    if not isinstance(own, Options):
        raise InvalidInput(f"{shown(task)} is not a task: give what @hf.task made, or the name of a task")
    return task.name, chosen.over(own)


def encoded(task: str, payload: Payload | None, schema: PayloadSchema | None) -> tuple[str, Payload]:
    """A payload that need not be complete, as JSON and by name; InvalidPayload if it can never fit."""
    from holdfast.workers.schema import check_arguments, encode_payload

    arguments = {} if payload is None else check_arguments(payload)
    names = None if schema is None else schema.names
    for name in arguments:
        if names is not None and name not in names:
            raise InvalidPayload(f"the payload does not fit task {task!r}: it has no argument {name!r}")
    return encode_payload(task, arguments), arguments


def new_template(
    template_id: str, name: str, task: str, payload: str, arguments: Payload, options: Options
) -> NewTemplate:
    """A template to be stored."""
    return NewTemplate(
        id=template_id,
        name=name,
        task=task,
        queue=None if options.queue is None else check_name("queue", options.queue),
        payload=payload,
        options=stored_options(task, msgspec.structs.replace(options, queue=None), arguments, JobOptions),
    )


def stored_options(task: str, options: Options, arguments: Payload, kind: type[O]) -> O:
    """The options that were given, checked as those of a task are, as the store keeps them."""
    # A template may have the subject that a generation belongs to.
    prepared = Prepared(task, msgspec.structs.replace(options, generation=None))
    fields: dict[str, Any] = {**prepared.fields, "tenant": options.tenant, "trace_id": prepared.trace_id}
    fields["idempotency_key"] = options.idempotency_key
    if options.generation is not None:
        fields["generation"] = check_int("generation", options.generation, 0, MAX_GENERATION)
    if prepared.subject is not None:
        fields["subject"] = check_label("subject", fill(prepared.subject, arguments), MAX_SUBJECT)
    values = given_fields(kind, options, fields)
    left = set(_given(options)) - {_OPTION_OF.get(field, field) for field in kind.__struct_fields__}
    if "after" in kind.__struct_fields__:
        left.discard("after_ended")
    for name in sorted(left):
        raise InvalidInput(f"{name!r} belongs to one job, not to a template or schedule")
    return kind(**values)


def given_fields(kind: type[JobOptions], options: Options, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Of checked fields, those that the options name."""
    return {field: fields[field] for field in kind.__struct_fields__ if _is_given(options, field)}


def laid_over(below: O, above: O) -> O:
    """Stored options with others laid over them."""
    given = {name: getattr(above, name) for name in above.__struct_fields__}
    if above.wait_for_event is not None:
        below = msgspec.structs.replace(below, event_attributes=None)
    return msgspec.structs.replace(below, **{name: value for name, value in given.items() if value is not None})


def _given(options: Options) -> list[str]:
    return [name for name in options.__struct_fields__ if getattr(options, name) != getattr(NOTHING, name)]


def _is_given(options: Options, field: str) -> bool:
    if field == "after":
        return options.after is not None or options.after_ended is not None
    return getattr(options, _OPTION_OF.get(field, field), None) is not None


def handle_of(client: Templates, answer: Enqueued) -> JobHandle[Any]:
    """The handle of a job whose task only the store knows."""
    task = None if answer.id is None else client._access.read(look.find_job, answer.id).task
    return JobHandle(client._access, answer, None if task is None else client._schema_of(task))


async def ahandle_of(client: Templates, answer: Enqueued) -> JobHandle[Any]:
    """The awaitable twin of `handle_of`."""
    task = None if answer.id is None else (await client._access.aread(look.find_job, answer.id)).task
    return JobHandle(client._access, answer, None if task is None else client._schema_of(task))


def _ref(name: str) -> str:
    return check_label("template", name)
