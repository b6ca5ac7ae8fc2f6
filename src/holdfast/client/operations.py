"""What a person or program can ask of the whole database: lists, counts, bulk actions, the doctor.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any, Unpack

from holdfast.client.access import AccessCalls
from holdfast.client.apps import Apps, page_of
from holdfast.client.options import Prepared, given, laid_over
from holdfast.client.resources.calls import Call
from holdfast.client.resources.events import Events
from holdfast.client.resources.filters import JobFilters, make_filter
from holdfast.client.resources.groups import Groups
from holdfast.client.resources.handle import JobHandle
from holdfast.client.resources.known_tasks import TaskCalls
from holdfast.client.resources.maintenance import Maintaining
from holdfast.client.resources.nodes import NodeCalls
from holdfast.client.resources.overview import Overview
from holdfast.client.resources.queues import Queues
from holdfast.client.resources.tenants import Tenants
from holdfast.client.resources.tokens import TokenCalls
from holdfast.client.workspaces.workspaces import WorkspaceCalls
from holdfast.core.declared import option_kinds
from holdfast.core.declared.option_kinds import JobRef
from holdfast.core.declared.options import JobOptions
from holdfast.core.job import StateName
from holdfast.core.jobs.requests import COMMAND, OF_COMMANDS, Enqueued, JobFilter, NewJob
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.jobs import BulkAction, BulkResult, Cancelling, Count, Page
from holdfast.core.messages.maintenance import Violation
from holdfast.core.messages.sessions import EndedSessionPage, SessionRow
from holdfast.core.rules.limits import MOST_PER_ACTION
from holdfast.core.rules.rule import ChoiceRule
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import FLAG
from holdfast.core.settings import rule_table
from holdfast.core.tasks.command import check_command
from holdfast.core.values.payload import check_arguments
from holdfast.store.script_names import bulk, cancel, doctor, read_jobs, sessions


class Operations(
    Groups,
    Events,
    Apps,
    WorkspaceCalls,
    Maintaining,
    NodeCalls,
    Overview,
    Queues,
    Tenants,
    TokenCalls,
    TaskCalls,
    AccessCalls,
):
    """The part of `Holdfast` that looks at all jobs, and changes them."""

    def job(self, ref: JobRef | int) -> JobHandle[Any]:
        """The handle of a job by its id or number, or of another handle's job."""
        return self._handle(self._access.read(read_jobs.find_job, _check_ref(ref)))

    async def ajob(self, ref: JobRef | int) -> JobHandle[Any]:
        """The awaitable twin of `job`."""
        return self._handle(await self._access.aread(read_jobs.find_job, _check_ref(ref)))

    def enqueue(
        self,
        task: str,
        payload: Mapping[str, Any] | None = None,
        /,
        *,
        must_exist: bool = False,
        **options: Unpack[JobOptions],
    ) -> JobHandle[Any]:
        """Store a job of any task, by its name. Takes the options of `Task.options`.

        What is left open is as the task declares. With `must_exist`, a task that no worker has declared raises
        UnknownTask; without it the job waits for a worker that has it, and `known` of the handle says so.
        """
        job = self._new_job(task, payload, options)
        is_required = FLAG.check("must_exist", must_exist) and self._options_of(task) is None
        [answer] = self._access.enqueue([job], must_exist=is_required)
        self._access.enqueued()
        return JobHandle(self._access, answer, self._schema_of(task))

    async def aenqueue(
        self,
        task: str,
        payload: Mapping[str, Any] | None = None,
        /,
        *,
        must_exist: bool = False,
        **options: Unpack[JobOptions],
    ) -> JobHandle[Any]:
        """The awaitable twin of `enqueue`."""
        import asyncio

        return await asyncio.to_thread(partial(self.enqueue, task, payload, must_exist=must_exist, **options))

    def call(self, task: str, payload: Mapping[str, Any] | None = None, **options: Unpack[JobOptions]) -> Call[Any]:
        """A task that need not be known here, with its arguments, for `group` and `chain`. Nothing is stored yet."""
        return Call(self._access.engine, self._new_job(task, payload, options))

    def jobs(
        self, *, limit: int = 50, cursor: str | None = None, payloads: bool = False, **filters: Unpack[JobFilters]
    ) -> Page:
        """A page of jobs, newest first. It ends at `limit` jobs, or sooner at 2 MiB; `cursor` says where to go on.

        A payload, result, checkpoint or `env` of more than 4 KiB is None in it, and `cut` has its size and how it
        begins; `hf.job(…)` has it whole, and `payloads=True` asks for all of them. The filters are those of
        `JobFilters`: `hf.jobs(state="FAILED", queue="mail")`.
        """
        return self._access.read(read_jobs.list_jobs, *_page(filters, limit, cursor, payloads))

    async def ajobs(
        self, *, limit: int = 50, cursor: str | None = None, payloads: bool = False, **filters: Unpack[JobFilters]
    ) -> Page:
        """The awaitable twin of `jobs`."""
        return await self._access.aread(read_jobs.list_jobs, *_page(filters, limit, cursor, payloads))

    def counts(self) -> dict[str, dict[StateName, int]]:
        """How many jobs each queue has in each state."""
        return _by_queue(self._access.read(read_jobs.counts))

    async def acounts(self) -> dict[str, dict[StateName, int]]:
        """The awaitable twin of `counts`."""
        return _by_queue(await self._access.aread(read_jobs.counts))

    def cancel(self, *, tag: str) -> Cancelling:
        """Cancel every job that has a tag."""
        return self._access.write(cancel.cancel_tag, rule_table.check("tag", tag), self._access.now(), MOST_PER_ACTION)

    async def acancel(self, *, tag: str) -> Cancelling:
        """The awaitable twin of `cancel`."""
        return await self._access.awrite(
            cancel.cancel_tag, rule_table.check("tag", tag), self._access.now(), MOST_PER_ACTION
        )

    def bulk(
        self,
        action: str,
        *,
        dry_run: bool = False,
        limit: int = 1_000,
        priority: int | None = None,
        **filters: Unpack[JobFilters],
    ) -> BulkResult:
        """`cancel`, `retry` or `priority` for every job that fits `JobFilters`; `dry_run` only counts them."""
        wanted, options = make_filter(filters), _bulk_options(limit, dry_run, priority)
        access = self._access
        run = access.read if options["dry_run"] else access.write
        return run(bulk.bulk, _action(action), wanted, access.now(), **options)

    async def abulk(
        self,
        action: str,
        *,
        dry_run: bool = False,
        limit: int = 1_000,
        priority: int | None = None,
        **filters: Unpack[JobFilters],
    ) -> BulkResult:
        """The awaitable twin of `bulk`."""
        wanted, options = make_filter(filters), _bulk_options(limit, dry_run, priority)
        access = self._access
        run = access.aread if options["dry_run"] else access.awrite
        return await run(bulk.bulk, _action(action), wanted, await access.anow(), **options)

    def ended_sessions(
        self, *, since: datetime | Duration | None = None, limit: int = 50, cursor: str | None = None
    ) -> EndedSessionPage:
        """A page of the lives of processes that have ended, newest first: in order, by an exception, or killed."""
        return self._access.read(sessions.ended_sessions, *page_of(self._access.now(), since, limit, cursor))

    async def aended_sessions(
        self, *, since: datetime | Duration | None = None, limit: int = 50, cursor: str | None = None
    ) -> EndedSessionPage:
        """The awaitable twin of `ended_sessions`."""
        page = page_of(await self._access.anow(), since, limit, cursor)
        return await self._access.aread(sessions.ended_sessions, *page)

    def sessions(self) -> list[SessionRow]:
        """Every process that claims jobs now: the daemon, its workers, embedded programs."""
        return self._access.read(sessions.running_sessions)

    async def asessions(self) -> list[SessionRow]:
        """The awaitable twin of `sessions`."""
        return await self._access.aread(sessions.running_sessions)

    def doctor(self) -> list[Violation]:
        """The broken invariants of the database, with their rows. Empty: all is well."""
        return self._access.ask(doctor.examine)

    async def adoctor(self) -> list[Violation]:
        """The awaitable twin of `doctor`."""
        import asyncio

        return await asyncio.to_thread(self.doctor)

    def _new_job(self, task: str, payload: Mapping[str, Any] | None, options: JobOptions) -> NewJob:
        from holdfast.tasks.schema import encode_payload

        arguments = {} if payload is None else check_arguments(payload)
        schema, chosen = self._schema_of(rule_table.check("task", task)), given(options)
        own = self._options_of(task)
        if schema is not None:
            text, arguments = schema.encode((), arguments)
            arguments = schema.with_defaults(arguments)
        else:
            text = encode_payload(task, arguments)
        if task == COMMAND:
            check_command(arguments)
        prepared = Prepared(task, chosen if own is None else laid_over(chosen, own), by_name=own is None)
        return prepared.job(self._access.new_id(), text, arguments)

    def _options_of(self, task: str) -> JobOptions | None:
        """The options of a task of this program."""
        return OF_COMMANDS if task == COMMAND else None

    def _handle(self, job: Job) -> JobHandle[Any]:
        answer = Enqueued(job.id, job.state.name, job.generation, number=job.number)
        return JobHandle(self._access, answer, self._schema_of(job.task))


def _page(
    filters: Mapping[str, Any], limit: int, cursor: str | None, payloads: bool
) -> tuple[JobFilter, int, str | None, bool]:
    below = None if cursor is None else rule_table.check("cursor", cursor)
    return make_filter(filters), rule_table.check("limit", limit), below, FLAG.check("payloads", payloads)


def _check_ref(ref: JobRef | int) -> str | int:
    return rule_table.check("job_id", ref if isinstance(ref, str | int) else option_kinds.id_of(ref), "job")


def _by_queue(counts: list[Count]) -> dict[str, dict[StateName, int]]:
    found: dict[str, dict[StateName, int]] = {}
    for count in counts:
        found.setdefault(count.queue, {})[StateName(count.state)] = count.jobs
    return found


def _action(action: str) -> BulkAction:
    return BulkAction(ChoiceRule(BulkAction).check("action", action))


def _bulk_options(limit: int, dry_run: bool, priority: int | None) -> dict[str, Any]:
    wanted = None if priority is None else rule_table.check("priority", priority)
    return {
        "limit": rule_table.check("bulk.limit", limit, "limit"),
        "dry_run": FLAG.check("dry_run", dry_run),
        "priority": wanted,
    }
