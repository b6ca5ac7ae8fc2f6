"""The handle of a group."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from holdfast.client.resources.handle import JobHandle
from holdfast.client.store_access import StoreAccess
from holdfast.client.waiting import LOOK_AGAIN_S, Countdown, refuse_to_block
from holdfast.core.errors import JobError, StillRunning
from holdfast.core.jobs.requests import Enqueued
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.groups import GroupView
from holdfast.core.messages.jobs import Cancelling
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION
from holdfast.core.values.group import GroupStatus
from holdfast.store.engine import Changes
from holdfast.store.script_names import cancel, group_jobs, groups
from holdfast.store.topics import FOREIGN, UNKNOWN

if TYPE_CHECKING:
    from holdfast.tasks.schema import PayloadSchema

AT_ONCE = 500  # in one step, so that others can write in between
PAGE = 100


class GroupHandle:
    """A group: look at it, wait for it, take its results, cancel it, try it again. Members mean their last links.

    Every blocking call has an awaitable twin with the prefix `a`; that of `wait` is `await_`.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> group = hf.group(double.call(x=1), double.call(x=2), name="doubles")
    >>> hf.drain()
    2
    >>> group.results()
    [2, 4]
    >>> hf.find_group("doubles").view().status
    <GroupStatus.COMPLETED: 'COMPLETED'>
    """

    def __init__(
        self,
        access: StoreAccess,
        group_id: str,
        schema_of: Callable[[str], PayloadSchema | None] = lambda task: None,
    ) -> None:
        self._access = access
        self._schema_of = schema_of
        self.id = group_id

    def __repr__(self) -> str:
        return f"<GroupHandle {self.id}>"

    def view(self) -> GroupView:
        """The group: its status, the last link of each member, how many are in each state, how far the whole is."""
        return self._access.read(groups.view_group, self.id)

    async def aview(self) -> GroupView:
        """The awaitable twin of `view`."""
        return await self._access.aread(groups.view_group, self.id)

    @property
    def jobs(self) -> list[JobHandle[Any]]:
        """The members, in the order in which they joined."""
        return [self._handle(job) for job in self.members()]

    async def ajobs(self) -> list[JobHandle[Any]]:
        """The awaitable twin of `jobs`."""
        return [self._handle(job) for job in await self.amembers()]

    def wait(self, timeout: Duration | None = None) -> GroupStatus:
        """Wait until every member has ended, and say how. Raises StillRunning after `timeout` seconds."""
        refuse_to_block("the group")
        told, left = threading.Event(), Countdown(_seconds(timeout))
        leave = self._access.engine.listen(lambda changes: told.set() if _matters(changes) else None)
        try:
            while True:
                told.clear()
                if not self._access.read(groups.head_of_group, self.id).is_live:
                    return self.view().status
                if left.seconds() == 0:
                    raise _still_running(self.view(), timeout)
                told.wait(min(LOOK_AGAIN_S, left.seconds()))
        finally:
            leave()

    async def await_(self, timeout: Duration | None = None) -> GroupStatus:
        """The awaitable twin of `wait`; without the underscore it would be a keyword."""
        import asyncio
        from contextlib import suppress

        loop, told, left = asyncio.get_running_loop(), asyncio.Event(), Countdown(_seconds(timeout))

        def hear(changes: Changes) -> None:
            if _matters(changes):
                with suppress(RuntimeError):  # The loop is closed, and nothing waits.
                    loop.call_soon_threadsafe(told.set)

        leave = await asyncio.to_thread(self._access.engine.listen, hear)
        try:
            while True:
                told.clear()
                if not (await self._access.aread(groups.head_of_group, self.id)).is_live:
                    return (await self.aview()).status
                if left.seconds() == 0:
                    raise _still_running(await self.aview(), timeout)
                with suppress(TimeoutError):
                    await asyncio.wait_for(told.wait(), min(LOOK_AGAIN_S, left.seconds()))
        finally:
            await asyncio.to_thread(leave)

    def results(self, timeout: Duration | None = None, *, return_errors: bool = False) -> list[Any]:
        """Wait for what the members returned, in their order.

        Raises the error of the first one that has no result, as `JobHandle.result` does. With `return_errors`, errors
        are in the list instead.
        """
        self.wait(timeout)
        return [self._result(job, return_errors) for job in self.members(payloads=True)]

    async def aresults(self, timeout: Duration | None = None, *, return_errors: bool = False) -> list[Any]:
        """The awaitable twin of `results`."""
        await self.await_(timeout)
        return [self._result(job, return_errors) for job in await self.amembers(payloads=True)]

    def cancel(self) -> Cancelling:
        """Cancel every member that has not ended."""
        done = Cancelling()
        while True:
            step = self._access.write(cancel.cancel_group, self.id, self._access.now(), AT_ONCE)
            done = _sum(done, step)
            if step.cancelled + step.requested + step.ended < AT_ONCE:
                return done

    async def acancel(self) -> Cancelling:
        """The awaitable twin of `cancel`."""
        done = Cancelling()
        while True:
            step = await self._access.awrite(cancel.cancel_group, self.id, await self._access.anow(), AT_ONCE)
            done = _sum(done, step)
            if step.cancelled + step.requested + step.ended < AT_ONCE:
                return done

    def retry(self, *, rest: bool = False) -> list[JobHandle[Any]]:
        """Make a new job for every member that has ended without being done. Return the new jobs, in order.

        They take the places of the old ones, in the same order and by the same rules. Raises Conflict for a sequential
        group that still goes on. With `rest`, only members that were cancelled because one before them failed are made
        anew, behind those that still go on.
        """
        answers = self._access.write(group_jobs.retry_group, self.id, self._access.now(), rest)
        self._access.enqueued()
        return self._anew(answers, self.jobs)

    async def aretry(self, *, rest: bool = False) -> list[JobHandle[Any]]:
        """The awaitable twin of `retry`."""
        answers = await self._access.awrite(group_jobs.retry_group, self.id, await self._access.anow(), rest)
        await self._access.aenqueued()
        return self._anew(answers, await self.ajobs())

    def _anew(self, answers: list[Enqueued], jobs: list[JobHandle[Any]]) -> list[JobHandle[Any]]:
        known = {handle.id: handle for handle in jobs}
        return [known.get(answer.id or "") or JobHandle(self._access, answer) for answer in answers]

    def members(self, *, payloads: bool = False) -> list[Job]:
        """The members as they are now, in the order in which they joined; long documents with `payloads=True`."""
        page = self._access.read(groups.members_of_group, self.id, PAGE, None, payloads)
        jobs = page.jobs
        while page.cursor is not None:
            page = self._access.read(groups.members_of_group, self.id, PAGE, page.cursor, payloads)
            jobs += page.jobs
        return jobs

    async def amembers(self, *, payloads: bool = False) -> list[Job]:
        """The awaitable twin of `members`."""
        page = await self._access.aread(groups.members_of_group, self.id, PAGE, None, payloads)
        jobs = page.jobs
        while page.cursor is not None:
            page = await self._access.aread(groups.members_of_group, self.id, PAGE, page.cursor, payloads)
            jobs += page.jobs
        return jobs

    def _handle(self, job: Job) -> JobHandle[Any]:
        answer = Enqueued(job.id, job.state.name, job.generation, number=job.number)
        return JobHandle(self._access, answer, self._schema_of(job.task))

    def _result(self, job: Job, return_errors: bool) -> Any:
        try:
            return self._handle(job)._result(job)
        except JobError as error:
            if not return_errors:
                raise
            return error


def _sum(one: Cancelling, other: Cancelling) -> Cancelling:
    return Cancelling(one.cancelled + other.cancelled, one.requested + other.requested, one.ended + other.ended)


def _matters(changes: Changes) -> bool:
    return bool(changes.ended or changes.topics & {UNKNOWN, FOREIGN})


def _seconds(timeout: Duration | None) -> float | None:
    return None if timeout is None else DURATION.millis("timeout", timeout) / 1000


def _still_running(view: GroupView, timeout: Duration | None) -> StillRunning:
    counted = ", ".join(f"{count} {state}" for state, count in view.counts.items())
    return StillRunning(f"group {view.group.id} has not ended within {_seconds(timeout):g} s: {counted}")
