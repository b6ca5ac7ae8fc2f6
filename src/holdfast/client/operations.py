"""What a person or program can ask of the whole database: lists, counts, bulk actions, pauses, the doctor.

Every blocking call has an awaitable twin with the prefix `a`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from holdfast.client.durations import to_moment
from holdfast.client.handle import JobHandle
from holdfast.client.options import HasId, id_of
from holdfast.client.store_access import StoreAccess
from holdfast.core.errors import InvalidInput
from holdfast.core.group import GroupMode, OnFailure
from holdfast.core.job import Job, StateName
from holdfast.core.limits import MAX_PRIORITY, check_int, check_label, check_name, shown
from holdfast.core.requests import Enqueued, JobFilter
from holdfast.store.scripts import bulk, cancel, doctor, groups, look, queues
from holdfast.store.scripts.bulk import BulkAction, BulkResult
from holdfast.store.scripts.cancel import Cancelling
from holdfast.store.scripts.doctor import Violation
from holdfast.store.scripts.groups import GroupView
from holdfast.store.scripts.look import Page

MOST_PER_PAGE = 1_000
MOST_PER_ACTION = 10_000


class GroupHandle:
    """A group that jobs join by `task.options(group=…)`."""

    def __init__(self, access: StoreAccess, group_id: str) -> None:
        self._access = access
        self.id = group_id

    def view(self) -> GroupView:
        """The group, how it stands, and the last link of each member."""
        return self._access.read(groups.view_group, self.id)

    async def aview(self) -> GroupView:
        """The awaitable twin of `view`."""
        return await self._access.aread(groups.view_group, self.id)

    def cancel(self) -> Cancelling:
        """Cancel every member that has not ended."""
        return self._access.write(cancel.cancel_group, self.id, self._access.now(), MOST_PER_ACTION)

    async def acancel(self) -> Cancelling:
        """The awaitable twin of `cancel`."""
        return await self._access.awrite(cancel.cancel_group, self.id, self._access.now(), MOST_PER_ACTION)


class Operations:
    """The part of `Holdfast` that looks at jobs and moves them, whoever runs them."""

    _access: StoreAccess

    def job(self, ref: str | int) -> JobHandle[Any]:
        """The handle of a job by its id or number."""
        return self._handle(self._access.read(look.find_job, ref))

    async def ajob(self, ref: str | int) -> JobHandle[Any]:
        """The awaitable twin of `job`."""
        return self._handle(await self._access.aread(look.find_job, ref))

    def jobs(self, *, limit: int = 50, cursor: str | None = None, **filters: Any) -> Page:
        """A page of jobs, newest first.

        Filters: `state` (one or several), `queue`, `task`, `tag`, `group`, `subject_prefix`, `created_after` and
        `error_text`.
        """
        return self._access.read(look.list_jobs, make_filter(**filters), _limit(limit, MOST_PER_PAGE), cursor)

    async def ajobs(self, *, limit: int = 50, cursor: str | None = None, **filters: Any) -> Page:
        """The awaitable twin of `jobs`."""
        return await self._access.aread(look.list_jobs, make_filter(**filters), _limit(limit, MOST_PER_PAGE), cursor)

    def counts(self) -> dict[str, dict[StateName, int]]:
        """How many jobs each queue has in each state."""
        return _by_queue(self._access.read(look.counts))

    async def acounts(self) -> dict[str, dict[StateName, int]]:
        """The awaitable twin of `counts`."""
        return _by_queue(await self._access.aread(look.counts))

    def cancel(self, *, tag: str) -> Cancelling:
        """Cancel every job that carries a tag."""
        return self._access.write(cancel.cancel_tag, check_label("tag", tag), self._access.now(), MOST_PER_ACTION)

    async def acancel(self, *, tag: str) -> Cancelling:
        """The awaitable twin of `cancel`."""
        return await self._access.awrite(
            cancel.cancel_tag, check_label("tag", tag), self._access.now(), MOST_PER_ACTION
        )

    def bulk(
        self, action: str, *, dry_run: bool = False, limit: int = 1_000, priority: int | None = None, **filters: Any
    ) -> BulkResult:
        """`cancel`, `retry` or `priority` for every job that fits; `dry_run` only counts them."""
        wanted, options = make_filter(**filters), _bulk_options(limit, dry_run, priority)
        return self._access.write(bulk.bulk, _action(action), wanted, self._access.now(), **options)

    async def abulk(
        self, action: str, *, dry_run: bool = False, limit: int = 1_000, priority: int | None = None, **filters: Any
    ) -> BulkResult:
        """The awaitable twin of `bulk`."""
        wanted, options = make_filter(**filters), _bulk_options(limit, dry_run, priority)
        return await self._access.awrite(bulk.bulk, _action(action), wanted, self._access.now(), **options)

    def create_group(self, name: str | None = None, *, mode: str = "parallel", on_failure: str = "stop") -> GroupHandle:
        """A group for jobs that belong together; a sequential one runs its members one after the other."""
        return GroupHandle(self._access, self._access.write(*self._group(name, mode, on_failure)))

    async def acreate_group(
        self, name: str | None = None, *, mode: str = "parallel", on_failure: str = "stop"
    ) -> GroupHandle:
        """The awaitable twin of `create_group`."""
        return GroupHandle(self._access, await self._access.awrite(*self._group(name, mode, on_failure)))

    def group(self, ref: HasId | str) -> GroupHandle:
        """The handle of a group by its id."""
        return GroupHandle(self._access, id_of(ref))

    def pause(self, queue: str, reason: str | None = None) -> None:
        """Start nothing new from a queue. What runs goes on."""
        self._access.write(queues.pause, check_name("queue", queue), reason, self._access.now())

    async def apause(self, queue: str, reason: str | None = None) -> None:
        """The awaitable twin of `pause`."""
        await self._access.awrite(queues.pause, check_name("queue", queue), reason, self._access.now())

    def resume(self, queue: str) -> None:
        """Start jobs of a paused queue again."""
        self._access.write(queues.resume, check_name("queue", queue))

    async def aresume(self, queue: str) -> None:
        """The awaitable twin of `resume`."""
        await self._access.awrite(queues.resume, check_name("queue", queue))

    def limit(self, queue: str, concurrency: int | None) -> None:
        """How many jobs of a queue may run at once over all processes; None lifts the limit."""
        self._access.write(queues.set_limit, check_name("queue", queue), _concurrency(concurrency))

    async def alimit(self, queue: str, concurrency: int | None) -> None:
        """The awaitable twin of `limit`."""
        await self._access.awrite(queues.set_limit, check_name("queue", queue), _concurrency(concurrency))

    def doctor(self) -> list[Violation]:
        """What must never be, with the rows that show it. Empty: all is well."""
        return doctor.examine(self._access.engine)

    async def adoctor(self) -> list[Violation]:
        """The awaitable twin of `doctor`."""
        return await asyncio.to_thread(self.doctor)

    def _group(self, name: str | None, mode: str, on_failure: str) -> tuple[Any, ...]:
        if mode not in tuple(GroupMode):
            raise InvalidInput(f"mode {shown(mode)} is not valid: use 'parallel' or 'sequential'")
        if on_failure not in tuple(OnFailure):
            raise InvalidInput(f"on_failure {shown(on_failure)} is not valid: use 'stop', 'continue' or 'skip'")
        label = None if name is None else check_label("name", name)
        return (
            groups.create_group,
            self._access.new_id(),
            label,
            GroupMode(mode),
            OnFailure(on_failure),
            self._access.now(),
        )

    def _handle(self, job: Job) -> JobHandle[Any]:
        return JobHandle(self._access, Enqueued(job.id, job.state.name, job.generation))


def make_filter(
    *,
    state: str | Iterable[str] | None = None,
    queue: str | None = None,
    task: str | None = None,
    tag: str | None = None,
    group: HasId | str | None = None,
    subject_prefix: str | None = None,
    created_after: datetime | None = None,
    error_text: str | None = None,
) -> JobFilter:
    """The filter that these words mean."""
    return JobFilter(
        states=() if state is None else tuple(map(_state, [state] if isinstance(state, str) else state)),
        queue=queue,
        task=task,
        tag=tag,
        group_id=None if group is None else id_of(group),
        subject_prefix=subject_prefix,
        created_after=None if created_after is None else to_moment("created_after", created_after),
        error_text=error_text,
    )


def _state(name: str) -> StateName:
    if name not in tuple(StateName):
        raise InvalidInput(f"state {shown(name)} does not exist; use one of {', '.join(StateName)}")
    return StateName(name)


def _by_queue(counts: list[look.Count]) -> dict[str, dict[StateName, int]]:
    found: dict[str, dict[StateName, int]] = {}
    for count in counts:
        found.setdefault(count.queue, {})[StateName(count.state)] = count.jobs
    return found


def _action(action: str) -> BulkAction:
    if action not in tuple(BulkAction):
        raise InvalidInput(f"{shown(action)} is not a bulk action; use 'cancel', 'retry' or 'priority'")
    return BulkAction(action)


def _bulk_options(limit: int, dry_run: bool, priority: int | None) -> dict[str, Any]:
    wanted = None if priority is None else check_int("priority", priority, -MAX_PRIORITY, MAX_PRIORITY)
    return {"limit": _limit(limit, MOST_PER_ACTION), "dry_run": dry_run, "priority": wanted}


def _limit(value: int, most: int) -> int:
    return check_int("limit", value, 1, most)


def _concurrency(value: int | None) -> int | None:
    return None if value is None else check_int("concurrency", value, 0, 1_000_000)
