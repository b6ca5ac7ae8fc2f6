"""Schedules: jobs that are made by the clock. Every blocking call has an awaitable twin with the prefix `a`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Unpack

from holdfast.client.options import given
from holdfast.client.resources import schedule_handle, templates
from holdfast.client.resources.schedule_handle import ScheduleHandle
from holdfast.client.resources.templates import Payload, TaskRef, Templates
from holdfast.core.declared.options import JobOptions
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.messages.schedules import NewSchedule, Schedule
from holdfast.core.rules.pairs import OF_TEMPLATES
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import FLAG
from holdfast.core.schedules.cron import UTC, parse
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.settings import rule_table
from holdfast.core.settings.rule_table import RULES
from holdfast.core.tasks.task import ScheduleOptions
from holdfast.core.values.filling import gaps
from holdfast.core.values.payload import check_arguments
from holdfast.store.script_names import declaring, schedules

if TYPE_CHECKING:
    from holdfast.tasks.schema import PayloadSchema


class Schedules(Templates):
    """The part of `Holdfast` that keeps schedules."""

    def create_schedule(
        self,
        name: str,
        *,
        cron: str,
        tz: str = UTC,
        template: str | None = None,
        task: TaskRef | None = None,
        payload: Payload | None = None,
        misfire: str = Misfire.LATEST,
        overlap: str = Overlap.SKIP,
        jitter: Duration = 0,
        must_exist: bool = False,
        **options: Unpack[JobOptions],
    ) -> ScheduleHandle:
        """Make jobs by the clock: `hf.create_schedule("nightly", cron="30 2 * * *", tz="Europe/Berlin", task=clean)`.

        `cron` has five fields, six with the seconds last, or is a name such as `@daily`. Jobs are made from a
        `template`, with `payload` and options in place of its own, or of a `task`, for which a template of that name
        is made. `misfire` says what happens to ticks while no daemon was there: `"latest"`, `"skip"` or `"all"`;
        `overlap` what happens to a tick while an earlier job has not ended: `"skip"`, `"allow"` or `"supersede"`. With
        `jitter`, each job comes up to so much later, always the same for one tick. With `must_exist`, a `task` that no
        worker has declared raises UnknownTask.
        """
        when = timing(name, cron, tz, misfire, overlap, jitter)
        if template is not None:
            self._check_event(template, options)
        now = self._access.now()
        script, values, named = self._schedule_call(now, when, template, task, payload, options, must_exist)
        made = self._access.write(script, *values, **named)
        return ScheduleHandle(self, made)

    async def acreate_schedule(
        self,
        name: str,
        *,
        cron: str,
        tz: str = UTC,
        template: str | None = None,
        task: TaskRef | None = None,
        payload: Payload | None = None,
        misfire: str = Misfire.LATEST,
        overlap: str = Overlap.SKIP,
        jitter: Duration = 0,
        must_exist: bool = False,
        **options: Unpack[JobOptions],
    ) -> ScheduleHandle:
        """The awaitable twin of `create_schedule`."""
        when = timing(name, cron, tz, misfire, overlap, jitter)
        if template is not None:
            await self._acheck_event(template, options)
        now = await self._access.anow()
        script, values, named = self._schedule_call(now, when, template, task, payload, options, must_exist)
        made = await self._access.awrite(script, *values, **named)
        return ScheduleHandle(self, made)

    def schedules(self) -> list[Schedule]:
        """Every schedule, by name."""
        return self._access.read(schedules.list_schedules)

    async def aschedules(self) -> list[Schedule]:
        """The awaitable twin of `schedules`."""
        return await self._access.aread(schedules.list_schedules)

    def schedule(self, name: str) -> ScheduleHandle:
        """A schedule by its name, or by its id."""
        return ScheduleHandle(
            self, self._access.read(schedules.find_schedule, rule_table.check("ref", name, "schedule"))
        )

    async def aschedule(self, name: str) -> ScheduleHandle:
        """The awaitable twin of `schedule`."""
        return ScheduleHandle(
            self, await self._access.aread(schedules.find_schedule, rule_table.check("ref", name, "schedule"))
        )

    def preview_cron(self, expression: str, tz: str = UTC, count: int = 5) -> list[datetime]:
        """The next moments that a cron expression means, in its time zone; nothing is stored."""
        return schedule_handle.upcoming(expression, tz, self._access.now(), count)

    def _schedule_call(
        self,
        now: Millis,
        when: dict[str, Any],
        template: str | None,
        task: TaskRef | None,
        payload: Payload | None,
        options: JobOptions,
        must_exist: bool,
    ) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """The script, its arguments, and those that it takes by name. A template has no task to require."""
        is_required = FLAG.check("must_exist", must_exist)
        name, schedule_id = when["name"], self._access.new_id()
        if (template is None) == (task is None):
            raise InvalidInput(f"schedule {name!r} needs something to make jobs of: give either template= or task=")
        if task is None:
            text, arguments = templates.encoded(name, payload, None)
            own_options = templates.stored_options(given(options), arguments, ScheduleOptions, OF_TEMPLATES)
            made = NewSchedule(
                id=schedule_id,
                template=RULES["NewSchedule.template"].check("template", template),
                payload=text,
                options=own_options,
                **when,
            )
            return schedules.put_schedule, (made, now), {}
        called, chosen = templates.task_and_options(task, options)
        schema = self._schema_of(called) if isinstance(task, str) else task._spec.schema
        text, arguments = (
            templates.encoded(called, payload, None) if schema is None else complete_payload(schema, payload)
        )
        own = templates.new_template(schedule_id, name, called, text, arguments, chosen)
        made = NewSchedule(id=schedule_id, template=name, **when)
        return declaring.schedule_task, (own, made, now), {"must_exist": is_required}


def timing(name: str, cron: str, tz: str, misfire: str, overlap: str, jitter: Duration) -> dict[str, Any]:
    """The name of a schedule and when it fires, checked."""
    parse(cron, rule_table.check("timezone", tz, "tz"))
    return {
        "name": rule_table.check("name", name, "schedule"),
        "cron": cron,
        "timezone": tz,
        "misfire": schedule_handle.one_of("misfire", misfire, Misfire),
        "overlap": schedule_handle.one_of("overlap", overlap, Overlap),
        "jitter_ms": schedule_handle.to_jitter(jitter),
    }


def complete_payload(schema: PayloadSchema, payload: Payload | None) -> tuple[str, Payload]:
    """A complete payload that fits the hints of its task, as JSON and by name."""
    text, arguments = schema.encode((), {} if payload is None else check_arguments(payload))
    for name in gaps(text):
        raise InvalidInput(f"argument {name!r} is PREVIOUS, but nothing comes before the job of a schedule")
    return text, schema.with_defaults(arguments)
