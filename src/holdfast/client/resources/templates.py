"""Templates: requests that are kept by name, to make jobs from. Every blocking call has an awaitable twin."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Unpack, cast

import msgspec

from holdfast.client.options import check_together, checked, given, laid_over
from holdfast.client.resources.handle import JobHandle
from holdfast.client.store_access import StoreAccess
from holdfast.core.declared.options import NAMES, OPTIONS, JobOptions
from holdfast.core.errors import InvalidInput, InvalidPayload
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import Enqueued
from holdfast.core.messages.templates import NewTemplate, Template, TemplateChanges
from holdfast.core.rules import limits
from holdfast.core.rules.pairs import JOB, OF_TEMPLATES, check_pairs
from holdfast.core.rules.value_rules import FLAG
from holdfast.core.settings import rule_table
from holdfast.core.tasks.task import KeptOptions, Overrides, TemplateOptions
from holdfast.core.values import retry_option
from holdfast.core.values.payload import check_arguments
from holdfast.core.values.subject import fill
from holdfast.runtime.caller import what_triggers
from holdfast.store.script_names import read_jobs, templates

if TYPE_CHECKING:
    from holdfast.client.resources.task import Enqueuing
    from holdfast.tasks.schema import PayloadSchema

Payload: TypeAlias = Mapping[str, Any]
TaskRef: TypeAlias = "str | Enqueuing[Any, Any]"
O = TypeVar("O", bound=KeptOptions)  # noqa: E741


class Templates:
    """The part of `Holdfast` that keeps templates and makes jobs from them."""

    _access: StoreAccess

    def create_template(
        self,
        name: str,
        task: TaskRef,
        payload: Payload | None = None,
        *,
        must_exist: bool = False,
        **options: Unpack[JobOptions],
    ) -> Template:
        """Keep a request by name: `hf.create_template("clean", "clean_up", {"days": 30}, queue="night", retry=3)`.

        `task` is a task of this program or the name of any; `payload` is what its jobs run with unless they say
        otherwise. Takes the options of `Task.options` that are not about one job alone. A template that has the name
        already is replaced; jobs that exist keep what they have. With `must_exist`, a task that no worker has declared
        raises UnknownTask.
        """
        creating: tuple[Any, ...] = (
            *self._creating(self._access.now(), name, task, payload, options),
            FLAG.check("must_exist", must_exist),
        )
        made: Template = self._access.write(*creating)
        return made

    async def acreate_template(
        self,
        name: str,
        task: TaskRef,
        payload: Payload | None = None,
        *,
        must_exist: bool = False,
        **options: Unpack[JobOptions],
    ) -> Template:
        """The awaitable twin of `create_template`."""
        creating: tuple[Any, ...] = (
            *self._creating(await self._access.anow(), name, task, payload, options),
            FLAG.check("must_exist", must_exist),
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
        **options: Unpack[JobOptions],
    ) -> Template:
        """Change what is given. Jobs that exist keep what they have. `must_exist` is as for `create_template`."""
        editing: tuple[Any, ...] = (
            *self._editing(self.template(name), task, payload, options),
            FLAG.check("must_exist", must_exist),
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
        **options: Unpack[JobOptions],
    ) -> Template:
        """The awaitable twin of `edit_template`."""
        now = await self.atemplate(name)
        editing: tuple[Any, ...] = (*self._editing(now, task, payload, options), FLAG.check("must_exist", must_exist))
        return await self._access.awrite(*editing)

    def archive_template(self, name: str) -> Template:
        """Make no more jobs from a template. Its name is free again, and its schedules are disabled with a reason."""
        return self._access.write(templates.archive_template, _ref(name), self._access.now())

    async def aarchive_template(self, name: str) -> Template:
        """The awaitable twin of `archive_template`."""
        return await self._access.awrite(templates.archive_template, _ref(name), await self._access.anow())

    def enqueue_template(
        self, name: str, payload: Payload | None = None, **options: Unpack[JobOptions]
    ) -> JobHandle[Any]:
        """Store a job of a template: `payload` is laid over its payload, key by key, and the options over its options.

        Takes the options of `Task.options`.
        """
        self._check_event(name, options)
        answer = self._access.write(*self._enqueuing(self._access.now(), name, payload, options))
        self._access.enqueued()
        return handle_of(self, answer)

    async def aenqueue_template(
        self, name: str, payload: Payload | None = None, **options: Unpack[JobOptions]
    ) -> JobHandle[Any]:
        """The awaitable twin of `enqueue_template`."""
        await self._acheck_event(name, options)
        answer = await self._access.awrite(*self._enqueuing(await self._access.anow(), name, payload, options))
        await self._access.aenqueued()
        return await ahandle_of(self, answer)

    def _creating(
        self, now: Millis, name: str, task: TaskRef, payload: Payload | None, options: JobOptions
    ) -> tuple[Any, ...]:
        called, chosen = task_and_options(task, options)
        text, arguments = encoded(called, payload, self._schema_of(called))
        made = new_template(
            self._access.new_id(),
            rule_table.check("NewTemplate.name", name, "template"),
            called,
            text,
            arguments,
            chosen,
        )
        return (templates.put_template, made, now)

    def _editing(
        self, now: Template, task: TaskRef | None, payload: Payload | None, options: JobOptions
    ) -> tuple[Any, ...]:
        called, chosen = task_and_options(now.task if task is None else task, options)
        text, arguments = (now.payload, {}) if payload is None else encoded(called, payload, self._schema_of(called))
        if payload is None and "subject" in chosen:
            arguments = msgspec.json.decode(text)
        wanted = stored_options(without_queue(chosen), arguments, TemplateOptions, OF_TEMPLATES)
        laid = kept_over(now.options, wanted)
        check_pairs(JOB, lambda field: getattr(laid, field, None), NAMES.__getitem__)
        changes = TemplateChanges(
            task=None if task is None else called,
            queue=_queue(chosen),
            payload=None if payload is None else text,
            options=laid,
        )
        return (templates.edit_template, now.id, changes, self._access.now())

    def _enqueuing(self, now: Millis, name: str, payload: Payload | None, options: JobOptions) -> tuple[Any, ...]:
        from holdfast.tasks.isolation import refuse_while_loading

        refuse_while_loading("enqueuing a job")
        text, arguments = encoded(name, payload, None)
        overrides = stored_options(given(options), arguments, Overrides, OF_TEMPLATES)
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

    def _check_event(self, name: str, options: Mapping[str, Any]) -> None:
        """Refuse `where` if neither the options nor the template have an event."""
        if lacks_event(options):
            check_event_of(self.template(name), options)

    async def _acheck_event(self, name: str, options: Mapping[str, Any]) -> None:
        if lacks_event(options):
            check_event_of(await self.atemplate(name), options)

    def _schema_of(self, task: str) -> PayloadSchema | None:
        """How the payload and result of a task are read, if it is known here."""
        return None


def task_and_options(task: TaskRef, options: JobOptions) -> tuple[str, JobOptions]:
    """The name of a task, and the options laid over its own if it is one of this program."""
    chosen = given(options)
    retry = chosen.get("retry")
    if retry is not None:
        retry_option.check_policy("retry", retry)
    if isinstance(task, str):
        return rule_table.check("task", task), chosen
    own = getattr(task, "_options", None)
    if not isinstance(own, dict):
        raise InvalidInput(f"{limits.shown(task)} is not a task: give what @hf.task made, or the name of a task")
    return task.name, laid_over(chosen, cast(JobOptions, own))


def encoded(task: str, payload: Payload | None, schema: PayloadSchema | None) -> tuple[str, Payload]:
    """A payload that need not be complete, as JSON and by name. InvalidPayload if it can never fit."""
    from holdfast.tasks.schema import encode_payload

    arguments = {} if payload is None else check_arguments(payload)
    names = None if schema is None else schema.names
    for name in arguments:
        if names is not None and name not in names:
            raise InvalidPayload(f"the payload does not fit task {task!r}: it has no argument {name!r}")
    return encode_payload(task, arguments), arguments


def new_template(
    template_id: str, name: str, task: str, payload: str, arguments: Payload, options: JobOptions
) -> NewTemplate:
    """A template to be stored."""
    return NewTemplate(
        id=template_id,
        name=name,
        task=task,
        queue=_queue(options),
        payload=payload,
        options=stored_options(without_queue(options), arguments, TemplateOptions),
    )


def stored_options(
    options: JobOptions, arguments: Payload, kind: type[O], elsewhere: Collection[str] = ("subject",)
) -> O:
    """The given options, checked as those of a task are, in the form of the store.

    `elsewhere` are fields that the template may have, and that options may need."""
    check_together(options, elsewhere=elsewhere)
    fields = checked(options)
    if "subject" in fields:
        fields["subject"] = rule_table.check("subject", fill(fields["subject"], arguments))
    for name in options:
        if OPTIONS[name].wire not in kind.__struct_fields__:
            raise InvalidInput(f"{name!r} belongs to one job, not to a template or schedule")
    return kind(**fields)


def lacks_event(options: Mapping[str, Any]) -> bool:
    """Whether the event that `where` belongs to can only be that of a template."""
    return bool(options.get("where")) and options.get("on_event") is None


def check_event_of(
    template: Template, options: Mapping[str, Any], word_of: Callable[[str], str] = NAMES.__getitem__
) -> None:
    """Refuse `where` if the template has no event. The store would say it in the words of HTTP."""
    values = {"event_attributes": options["where"], "wait_for_event": template.options.wait_for_event}
    check_pairs(JOB, values.get, word_of)


def kept_over(below: O, above: O) -> O:
    """Stored options with others laid over them."""
    given = {name: getattr(above, name) for name in above.__struct_fields__}
    if above.wait_for_event is not None:
        below = msgspec.structs.replace(below, event_attributes=None)
    return msgspec.structs.replace(below, **{name: value for name, value in given.items() if value is not None})


def without_queue(options: JobOptions) -> JobOptions:
    """The options without the queue, which a template has beside them."""
    return cast(JobOptions, {name: value for name, value in options.items() if name != "queue"})


def _queue(options: JobOptions) -> str | None:
    return rule_table.check("queue", options["queue"]) if "queue" in options else None


def handle_of(client: Templates, answer: Enqueued) -> JobHandle[Any]:
    """The handle of a job whose task only the store knows."""
    task = None if answer.id is None else client._access.read(read_jobs.find_job, answer.id).task
    return JobHandle(client._access, answer, None if task is None else client._schema_of(task))


async def ahandle_of(client: Templates, answer: Enqueued) -> JobHandle[Any]:
    """The awaitable twin of `handle_of`."""
    task = None if answer.id is None else (await client._access.aread(read_jobs.find_job, answer.id)).task
    return JobHandle(client._access, answer, None if task is None else client._schema_of(task))


def _ref(name: str) -> str:
    return rule_table.check("ref", name, "template")
