"""The handle of a schedule."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar, Unpack

import msgspec

from holdfast.client.options import given
from holdfast.client.resources import templates
from holdfast.client.resources.handle import JobHandle
from holdfast.client.resources.templates import Payload, Templates
from holdfast.core.declared.options import JobOptions
from holdfast.core.job import Millis
from holdfast.core.jobs.requests import JobFilter
from holdfast.core.messages.jobs import Page
from holdfast.core.messages.schedules import Schedule, ScheduleChanges
from holdfast.core.rules.pairs import OF_TEMPLATES
from holdfast.core.rules.rule import ChoiceRule
from holdfast.core.rules.units import Duration
from holdfast.core.schedules.cron import UTC, parse, zone_of
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.core.settings import rule_table
from holdfast.core.tasks.task import ScheduleOptions
from holdfast.store.script_names import firing, read_jobs, schedules

E = TypeVar("E", bound=StrEnum)


class ScheduleHandle:
    """A schedule: look at it, change it, pause it, run it.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def clean(days: int) -> str:
    ...     return f"nothing is older than {days} days"
    >>> nightly = hf.create_schedule("nightly", cron="30 2 * * *", tz="Europe/Berlin", task=clean, payload={"days": 30})
    >>> nightly.view().words
    'At 02:30 every day, Europe/Berlin time'
    >>> nightly.preview(1)[0].strftime("%H:%M %Z")[:5]
    '02:30'
    >>> job = nightly.run_now()
    >>> hf.drain()
    1
    >>> job.result()
    'nothing is older than 30 days'
    """

    def __init__(self, client: Templates, schedule: Schedule) -> None:
        self._client = client
        self._access = client._access
        self.id = schedule.id
        self.name = schedule.name

    def __repr__(self) -> str:
        return f"<ScheduleHandle {self.name}>"

    def view(self) -> Schedule:
        """The schedule as it is now: when it fires next, what it skipped and why, and whether it is disabled."""
        return self._access.read(schedules.find_schedule, self.id)

    async def aview(self) -> Schedule:
        """The awaitable twin of `view`."""
        return await self._access.aread(schedules.find_schedule, self.id)

    def edit(
        self,
        *,
        name: str | None = None,
        cron: str | None = None,
        tz: str | None = None,
        template: str | None = None,
        payload: Payload | None = None,
        misfire: str | None = None,
        overlap: str | None = None,
        jitter: Duration | None = None,
        **options: Unpack[JobOptions],
    ) -> Schedule:
        """Change what is given. Jobs that exist keep what they have, and a new time counts from now on."""
        changes = _changes(name, cron, tz, template, payload, misfire, overlap, jitter)
        given = _given(self.name, options, payload)
        if given is not None:
            now = self.view()
            laid = templates.kept_over(now.options, given)
            if options.keys() & EVENT_OPTIONS:
                self._client._check_event(template or now.template, _about_event(laid))
            changes = msgspec.structs.replace(changes, options=laid)
        return self._changed(self._access.write(schedules.edit_schedule, self.id, changes, self._access.now()))

    async def aedit(
        self,
        *,
        name: str | None = None,
        cron: str | None = None,
        tz: str | None = None,
        template: str | None = None,
        payload: Payload | None = None,
        misfire: str | None = None,
        overlap: str | None = None,
        jitter: Duration | None = None,
        **options: Unpack[JobOptions],
    ) -> Schedule:
        """The awaitable twin of `edit`."""
        changes = _changes(name, cron, tz, template, payload, misfire, overlap, jitter)
        given = _given(self.name, options, payload)
        if given is not None:
            now = await self.aview()
            laid = templates.kept_over(now.options, given)
            if options.keys() & EVENT_OPTIONS:
                await self._client._acheck_event(template or now.template, _about_event(laid))
            changes = msgspec.structs.replace(changes, options=laid)
        return self._changed(
            await self._access.awrite(schedules.edit_schedule, self.id, changes, await self._access.anow())
        )

    def pause(self, reason: str | None = None) -> Schedule:
        """Fire no more until it is resumed. No tick is missed meanwhile."""
        return self._access.write(schedules.pause_schedule, self.id, self._access.now(), _reason(reason))

    async def apause(self, reason: str | None = None) -> Schedule:
        """The awaitable twin of `pause`."""
        return await self._access.awrite(schedules.pause_schedule, self.id, await self._access.anow(), _reason(reason))

    def resume(self) -> Schedule:
        """Fire again, from the next tick on."""
        return self._access.write(schedules.resume_schedule, self.id, self._access.now())

    async def aresume(self) -> Schedule:
        """The awaitable twin of `resume`."""
        return await self._access.awrite(schedules.resume_schedule, self.id, await self._access.anow())

    def delete(self) -> None:
        """Delete it. The jobs that it made stay; a template that was made for it alone is archived."""
        self._access.write(schedules.delete_schedule, self.id, self._access.now())

    async def adelete(self) -> None:
        """The awaitable twin of `delete`."""
        await self._access.awrite(schedules.delete_schedule, self.id, await self._access.anow())

    def run_now(self) -> JobHandle[Any]:
        """Make a job of it now, paused or not. That is no tick: neither waits for the other."""
        answer = self._access.write(firing.run_schedule_now, self.id, self._access.new_id(), self._access.now())
        self._access.enqueued()
        return templates.handle_of(self._client, answer)

    async def arun_now(self) -> JobHandle[Any]:
        """The awaitable twin of `run_now`."""
        answer = await self._access.awrite(
            firing.run_schedule_now, self.id, self._access.new_id(), await self._access.anow()
        )
        await self._access.aenqueued()
        return await templates.ahandle_of(self._client, answer)

    def preview(self, count: int = 5) -> list[datetime]:
        """The next moments at which it fires, in its time zone, also if it is paused."""
        return _moments(self.view(), self._access.now(), count)

    async def apreview(self, count: int = 5) -> list[datetime]:
        """The awaitable twin of `preview`."""
        return _moments(await self.aview(), await self._access.anow(), count)

    def jobs(self, *, limit: int = 50, cursor: str | None = None, payloads: bool = False) -> Page:
        """A page of the jobs that it made, newest first, bounded as that of `hf.jobs`."""
        return self._access.read(read_jobs.list_jobs, *self._page(limit, cursor), payloads)

    async def ajobs(self, *, limit: int = 50, cursor: str | None = None, payloads: bool = False) -> Page:
        """The awaitable twin of `jobs`."""
        return await self._access.aread(read_jobs.list_jobs, *self._page(limit, cursor), payloads)

    def _page(self, limit: int, cursor: str | None) -> tuple[JobFilter, int, str | None]:
        below = None if cursor is None else rule_table.check("cursor", cursor)
        return JobFilter(schedule_id=self.id), rule_table.check("limit", limit), below

    def _changed(self, schedule: Schedule) -> Schedule:
        self.name = schedule.name
        return schedule


EVENT_OPTIONS = {"on_event", "where"}


def _about_event(options: ScheduleOptions) -> dict[str, Any]:
    return {"where": options.event_attributes, "on_event": options.wait_for_event}


def _changes(
    name: str | None,
    cron: str | None,
    tz: str | None,
    template: str | None,
    payload: Payload | None,
    misfire: str | None,
    overlap: str | None,
    jitter: Duration | None,
) -> ScheduleChanges:
    if cron is not None:
        parse(cron, UTC if tz is None else rule_table.check("timezone", tz, "tz"))
    return ScheduleChanges(
        name=None if name is None else rule_table.check("name", name, "schedule"),
        template=None if template is None else rule_table.check("ScheduleChanges.template", template, "template"),
        cron=cron,
        timezone=None if tz is None else zone_of(rule_table.check("timezone", tz, "tz")).key,
        payload=None if payload is None else templates.encoded("schedule", payload, None)[0],
        misfire=None if misfire is None else one_of("misfire", misfire, Misfire),
        overlap=None if overlap is None else one_of("overlap", overlap, Overlap),
        jitter_ms=None if jitter is None else to_jitter(jitter),
    )


def _given(name: str, options: JobOptions, payload: Payload | None) -> ScheduleOptions | None:
    return templates.stored_options(given(options), payload or {}, ScheduleOptions, OF_TEMPLATES) if options else None


def to_jitter(value: Duration) -> Millis:
    """How much later a job may come."""
    return rule_table.millis("jitter_ms", value)


def one_of(what: str, value: str, kind: type[E]) -> E:
    """One of the words of a kind, or InvalidInput that names them all."""
    return kind(ChoiceRule(kind).check(what, value))


def _moments(schedule: Schedule, now: Millis, count: int) -> list[datetime]:
    return upcoming(schedule.cron, schedule.timezone, max(now, schedule.settled_until), count)


def upcoming(expression: str, tz: str, after: Millis, count: int) -> list[datetime]:
    """The next ticks after a moment, in their time zone."""
    ticks = parse(expression, rule_table.check("timezone", tz, "tz")).upcoming(after, rule_table.check("count", count))
    return [datetime.fromtimestamp(tick / 1000, zone_of(tz)) for tick in ticks]


def _reason(reason: str | None) -> str | None:
    return None if reason is None else rule_table.check("reason", reason)
