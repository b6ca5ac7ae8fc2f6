"""The handle of a job."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from holdfast.client.resources.outputs import Outputs
from holdfast.client.store_access import StoreAccess
from holdfast.core.declared import option_kinds
from holdfast.core.declared.option_kinds import JobRef
from holdfast.core.errors import InvalidInput, JobCancelled, JobFailed, NotFound, StillRunning
from holdfast.core.job import Done, Failed, Millis, StateName
from holdfast.core.jobs.requests import Enqueued
from holdfast.core.jobs.run import Run
from holdfast.core.jobs.stored_job import Job
from holdfast.core.messages.conditions import Condition
from holdfast.core.messages.jobs import Cancelling, Retried
from holdfast.core.messages.watches import ChangedFiles
from holdfast.core.messages.why import Why
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION
from holdfast.core.settings import rule_table
from holdfast.store.script_names import cancel, changed_files, conditions, read_jobs, reorder, retry, why

if TYPE_CHECKING:
    from holdfast.tasks.schema import PayloadSchema

R = TypeVar("R")

Where: TypeAlias = Literal["top", "bottom"] | tuple[Literal["before", "after"], JobRef]


class JobHandle(Outputs, Generic[R]):
    """One job: look at it, wait for it, stop it, run it again. In a retry chain it means the last link.

    Every blocking call has an awaitable twin with the prefix `a`, and `await job` is `await job.aresult()`.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> job = double.enqueue(x=21)
    >>> job.state
    <StateName.QUEUED: 'QUEUED'>
    >>> with hf:
    ...     job.result(timeout=10)
    42
    >>> again = job.retry(priority=5)
    >>> again.edit(x=5)
    >>> again.cancel()
    Cancelling(cancelled=1, requested=0, ended=0)
    """

    def __init__(self, access: StoreAccess, answer: Enqueued, schema: PayloadSchema | None = None) -> None:
        self._access = access
        self._answer = answer
        self._schema = schema

    def __repr__(self) -> str:
        return f"<JobHandle {self._answer.id or 'already done'}>"

    @property
    def id(self) -> str:
        """The job's id."""
        if self._answer.id is None:
            raise NotFound("an earlier job with this generation was done, and is gone by retention")
        return self._answer.id

    @property
    def number(self) -> int:
        """The job's number, which is easier to say than its id; `hf.job(number)` finds it."""
        known = self._answer.number
        return self._access.read(read_jobs.find_job, self.id).number if known is None else known

    async def anumber(self) -> int:
        """The awaitable twin of `number`."""
        known = self._answer.number
        return (await self._access.aread(read_jobs.find_job, self.id)).number if known is None else known

    @property
    def known(self) -> bool:
        """Whether a worker had declared the task when the job was stored; otherwise it waits for one that does."""
        return self._answer.known

    @property
    def was_existing(self) -> bool:
        """Whether an earlier job stands for this request: the same generation, or the same idempotency key."""
        return self._answer.existing

    @property
    def generation(self) -> int | None:
        """Which version of its subject the job is about."""
        return self._answer.generation

    @property
    def job(self) -> Job:
        """The whole job as it is stored now."""
        return self._access.read(read_jobs.find_last, self.id)

    async def ajob(self) -> Job:
        """The awaitable twin of `job`."""
        return await self._access.aread(read_jobs.find_last, self.id)

    @property
    def state(self) -> StateName:
        """The state the job is in now."""
        return self._answer.state if self._answer.id is None else self.job.state.name

    async def astate(self) -> StateName:
        """The awaitable twin of `state`."""
        return self._answer.state if self._answer.id is None else (await self.ajob()).state.name

    @property
    def runs(self) -> list[Run]:
        """Every run so far, oldest first."""
        return self._access.read(read_jobs.runs_of, self.id)

    async def aruns(self) -> list[Run]:
        """The awaitable twin of `runs`."""
        return await self._access.aread(read_jobs.runs_of, self.id)

    def why(self) -> Why:
        """Why the job does not run yet: what each gate says. `print(job.why())` says it in words."""
        return self._access.read(why.why, self.id, self._access.now())

    async def awhy(self) -> Why:
        """The awaitable twin of `why`."""
        return await self._access.aread(why.why, self.id, await self._access.anow())

    def conditions(self) -> list[Condition]:
        """What the job waits for or has waited for: times, events, other jobs, the machine; which of it came true."""
        return self._access.read(conditions.conditions_of, self.id, self._access.now())

    async def aconditions(self) -> list[Condition]:
        """The awaitable twin of `conditions`."""
        return await self._access.aread(conditions.conditions_of, self.id, await self._access.anow())

    def changed_files(self) -> ChangedFiles:
        """The files that a job of a watch is about."""
        return self._access.read(changed_files.changed_files, self.id)

    async def achanged_files(self) -> ChangedFiles:
        """The awaitable twin of `changed_files`."""
        return await self._access.aread(changed_files.changed_files, self.id)

    def retries(self) -> list[Retried]:
        """The jobs that retries by hand have made of this one, oldest first."""
        return self._access.read(retry.retries_of, self.id)

    async def aretries(self) -> list[Retried]:
        """The awaitable twin of `retries`."""
        return await self._access.aread(retry.retries_of, self.id)

    def wait(self, timeout: Duration | None = None) -> StateName:
        """Wait until the job has ended, and say how. Raises StillRunning after `timeout` seconds."""
        return self._wait(timeout).state.name

    async def await_(self, timeout: Duration | None = None) -> StateName:
        """The awaitable twin of `wait`; without the underscore it would be a keyword."""
        return (await self._await(timeout)).state.name

    def result(self, timeout: Duration | None = None) -> R:
        """Wait for what the task returned. Raises JobFailed, JobCancelled, or StillRunning after `timeout` seconds."""
        return self._result(self._wait(timeout))

    async def aresult(self, timeout: Duration | None = None) -> R:
        """The awaitable twin of `result`."""
        return self._result(await self._await(timeout))

    def __await__(self) -> Generator[Any, None, R]:
        """`await handle` is `await handle.aresult()`."""
        return self.aresult().__await__()

    def cancel(self) -> Cancelling:
        """Cancel: at once if it waits, by a request if it runs."""
        return self._access.write(cancel.cancel_job, self.id, self._access.now())

    async def acancel(self) -> Cancelling:
        """The awaitable twin of `cancel`."""
        return await self._access.awrite(cancel.cancel_job, self.id, await self._access.anow())

    def retry(self, priority: int | None = None) -> JobHandle[R]:
        """A new job with what this one last ran with. Always allowed, whatever state this one is in."""
        answer = self._access.write(retry.retry_job, *self._again(self._access.now(), priority))
        self._access.enqueued()
        return JobHandle(self._access, answer, self._schema)

    def _again(self, now: Millis, priority: int | None) -> tuple[Any, ...]:
        # The id is made here, so that a repeat of the call finds what the first one stored.
        return (self.id, now, _priority(priority), self._access.new_id())

    async def aretry(self, priority: int | None = None) -> JobHandle[R]:
        """The awaitable twin of `retry`."""
        answer = await self._access.awrite(retry.retry_job, *self._again(await self._access.anow(), priority))
        await self._access.aenqueued()
        return JobHandle(self._access, answer, self._schema)

    def move(self, where: Where) -> None:
        """Change its place among the waiting jobs of its queue.

        `where` is `"top"`, `"bottom"`, `("before", other)` or `("after", other)`.
        """
        script, *args = _move(where, self.id)
        self._access.write(script, *args)

    async def amove(self, where: Where) -> None:
        """The awaitable twin of `move`."""
        script, *args = _move(where, self.id)
        await self._access.awrite(script, *args)

    def set_priority(self, priority: int) -> None:
        """Change the priority of a waiting job."""
        self._access.write(reorder.set_priority, self.id, rule_table.check("priority", priority))

    async def aset_priority(self, priority: int) -> None:
        """The awaitable twin of `set_priority`."""
        await self._access.awrite(reorder.set_priority, self.id, rule_table.check("priority", priority))

    def set_node(self, node: str | None) -> None:
        """Have a waiting job run on one machine alone, by name or id; None: on any. Its place in the queue stays."""
        self._access.write(reorder.tie_job, self.id, _node(node))

    async def aset_node(self, node: str | None) -> None:
        """The awaitable twin of `set_node`."""
        await self._access.awrite(reorder.tie_job, self.id, _node(node))

    def edit(self, /, **arguments: Any) -> None:
        """Change what a waiting job will run with; the whole payload is replaced."""
        self._access.write(reorder.edit_payload, self.id, self._payload(arguments))

    async def aedit(self, /, **arguments: Any) -> None:
        """The awaitable twin of `edit`."""
        await self._access.awrite(reorder.edit_payload, self.id, self._payload(arguments))

    def _payload(self, arguments: dict[str, Any]) -> str:
        if self._schema is None:
            raise InvalidInput("the task of this job is not known here; edit it where the task is defined")
        return self._schema.encode((), arguments)[0]

    def _wait(self, timeout: Duration | None) -> Job:
        job = self._access.waiters.wait(self.id, _seconds(timeout))
        if job is None:
            raise _still_running(self.why(), timeout)
        return job

    async def _await(self, timeout: Duration | None) -> Job:
        job = await self._access.waiters.await_(self.id, _seconds(timeout))
        if job is None:
            raise _still_running(await self.awhy(), timeout)
        return job

    def _result(self, job: Job) -> R:
        state = job.state
        if isinstance(state, Done):
            text = state.result_summary or "null"
            value: R = msgspec.json.decode(text) if self._schema is None else self._schema.decode_result(text)
            return value
        if isinstance(state, Failed):
            said = f"job {job.id} ({job.task}) failed: {state.reason}"
            raise JobFailed(said, job_id=job.id, state=state.name, error_code=state.error_code)
        reason = getattr(state, "reason", None)
        said = f"job {job.id} ({job.task}) has no result, it is {state.name}: {reason}"
        raise JobCancelled(said, job_id=job.id, state=state.name, error_code=getattr(state, "error_code", None))


def _still_running(why: Why, timeout: Duration | None) -> StillRunning:
    said = f"job {why.job_id} has not ended within {_seconds(timeout):g} s"
    held = [gate.reason if gate.now in gate.reason else f"{gate.reason} ({gate.now})" for gate in why.closed]
    if not held:
        held = ["nothing holds it, it runs when a slot is free" if why.gates else "it goes on"]
    return StillRunning(f"{said}: {'; '.join(held)}")


def _move(where: Where, job_id: str) -> tuple[Any, ...]:
    place, other = where if isinstance(where, tuple | list) and len(where) == 2 else (where, None)
    rule_table.check_place(place, other)
    if other is None:
        return (reorder.move_to_top if place == "top" else reorder.move_to_bottom, job_id)
    return (reorder.move_before if place == "before" else reorder.move_after, job_id, option_kinds.id_of(other))


def _priority(value: int | None) -> int | None:
    return None if value is None else rule_table.check("priority", value)


def _node(value: str | None) -> str | None:
    return None if value is None else rule_table.check("node", value)


def _seconds(timeout: Duration | None) -> float | None:
    return None if timeout is None else DURATION.millis("timeout", timeout) / 1000
