"""A task: call it directly, or enqueue it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, Unpack, overload

import msgspec

from holdfast.client.options import Prepared, check_fields, given, laid_over
from holdfast.client.resources import calls
from holdfast.client.resources.calls import Call
from holdfast.client.resources.handle import JobHandle
from holdfast.client.store_access import StoreAccess
from holdfast.core.declared.options import JobOptions
from holdfast.core.errors import InvalidInput
from holdfast.core.jobs.requests import Claimed, Enqueued, NewJob
from holdfast.core.jobs.trigger import by_parent
from holdfast.core.rules import limits
from holdfast.core.settings.rule_table import RULES
from holdfast.core.values.payload import check_arguments
from holdfast.core.values.retry_option import Retry
from holdfast.observe.redact import redacted
from holdfast.tasks.context import Context
from holdfast.tasks.isolation import refuse_while_loading
from holdfast.tasks.spec import TaskSpec, check_execution

P = ParamSpec("P")
R = TypeVar("R")


class Enqueuing(Generic[P, R]):
    """A task with the options its next jobs get."""

    def __init__(self, access: StoreAccess, spec: TaskSpec, options: JobOptions) -> None:
        self._access = access
        self._spec = spec
        self._options = options
        self._prepared: Prepared | None = None

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={limits.shown(redacted(value))}" for name, value in self._options.items())
        return f"<Task {self.name} with {said or 'no options'}>"

    @property
    def name(self) -> str:
        """The task's name, as stored with its jobs."""
        return self._spec.name

    def options(self, **options: Unpack[JobOptions]) -> Enqueuing[P, R]:
        """The same task with these options laid over its own.

        Durations are seconds, timedeltas or texts such as "1h30m". `on_event="git:*", where={"branch": "main"}` waits
        for such an event, emitted from now on. `tokens={"cpu": 2, "gpu": 1}` is what a run takes of the machine: no
        more of them start than it has. `node` is the machine that alone may run it, by name or id; `node=hf.here` is
        this one.
        """
        chosen = given(options)
        retry = chosen.get("retry")
        if isinstance(retry, Retry) and set(retry.permanent) - set(self._spec.permanent):
            raise InvalidInput(
                "permanent= belongs to a task, not to one job; use @hf.task(retry=Retry(…, permanent=…))"
            )
        return Enqueuing(self._access, self._spec, laid_over(chosen, self._options))

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Store a job that calls the task with these arguments. Durable when it returns."""
        return self._enqueue([_complete(self._job(args, kwargs))])[0]

    async def aenqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """The awaitable twin of `enqueue`."""
        return (await self._aenqueue([_complete(self._job(args, kwargs))]))[0]

    def call(self, /, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """The task with these arguments, for `hf.group` and `hf.chain`. Nothing is stored yet."""
        return Call(self._access.engine, self._job(args, kwargs))

    def enqueue_many(self, payloads: Iterable[Mapping[str, Any]]) -> list[JobHandle[R]]:
        """Store many jobs in one transaction: all of them, or none if one does not fit."""
        return self._enqueue(self._jobs(payloads))

    async def aenqueue_many(self, payloads: Iterable[Mapping[str, Any]]) -> list[JobHandle[R]]:
        """The awaitable twin of `enqueue_many`."""
        return await self._aenqueue(self._jobs(payloads))

    def enqueue_from(self, parent: Claimed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JobHandle[R]:
        """Store a job as a child of a running one; `ctx.enqueue` calls this."""
        return self._enqueue([self._job(args, kwargs, parent)])[0]

    async def aenqueue_from(self, parent: Claimed, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JobHandle[R]:
        """The awaitable twin of `enqueue_from`."""
        return (await self._aenqueue([self._job(args, kwargs, parent)]))[0]

    def _enqueue(self, jobs: list[NewJob]) -> list[JobHandle[R]]:
        answers = self._access.enqueue(jobs) if jobs else []
        self._access.enqueued()
        return self._handles(answers)

    async def _aenqueue(self, jobs: list[NewJob]) -> list[JobHandle[R]]:
        answers = await self._access.aenqueue(jobs) if jobs else []
        await self._access.aenqueued()
        return self._handles(answers)

    def _handles(self, answers: list[Enqueued]) -> list[JobHandle[R]]:
        return [JobHandle(self._access, answer, self._spec.schema) for answer in answers]

    def _jobs(self, payloads: Iterable[Mapping[str, Any]]) -> list[NewJob]:
        if not isinstance(payloads, Iterable) or isinstance(payloads, str | bytes | Mapping):
            raise InvalidInput(f"{limits.shown(payloads)} is not a list of payloads: give one dictionary for each job")
        given = [check_arguments(payload, f"payload {number}") for number, payload in enumerate(payloads, 1)]
        jobs = [_complete(self._job((), arguments)) for arguments in given]
        RULES["jobs"].check_count("payloads", jobs)
        return jobs

    def _job(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], parent: Claimed | None = None) -> NewJob:
        refuse_while_loading("enqueuing a job")
        prepared = self._prepared or self._prepare()
        payload, arguments = self._spec.schema.encode(args, kwargs)
        if prepared.subject is not None:
            arguments = self._spec.schema.with_defaults(arguments)
        if parent is None:
            return prepared.job(self._access.new_id(), payload, arguments)
        trigger = by_parent(parent.job_id, parent.run_id)
        job = prepared.job(self._access.new_id(), payload, arguments, parent_job_id=parent.job_id, trigger=trigger)
        return job if job.trace_id else msgspec.structs.replace(job, trace_id=parent.trace_id)

    def _prepare(self) -> Prepared:
        prepared = self._prepared = Prepared(self._spec.name, self._options)
        check_execution(self._spec, prepared.fields.get("execution"))
        return prepared


def _complete(job: NewJob) -> NewJob:
    """Check that a job with `PREVIOUS` comes after another one, or is in a group."""
    if not (job.after or job.group_id):
        calls.check_gaps(job)
    return job


class Task(Enqueuing[P, R]):
    """A function that can be run as a job. Called like a function, it is the function.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task(queue="maths", timeout=60)
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> add(1, 2)
    3
    >>> add.options(priority=5, delay=1).enqueue(a=1, b=2).state
    <StateName.SCHEDULED: 'SCHEDULED'>
    """

    def __init__(self, access: StoreAccess, spec: TaskSpec, options: JobOptions) -> None:
        subject = options.get("subject")
        if subject is not None and spec.schema.names is not None:
            check_fields(subject, spec.schema.names)
        super().__init__(access, spec, options)
        self.__wrapped__ = spec.function
        self.__doc__ = spec.function.__doc__ or type(self).__doc__
        self.__name__ = spec.function.__name__
        self.__module__ = spec.function.__module__

    def prepare(self) -> None:
        """Check the options now, so that a mistake shows where the task is defined."""
        self._prepare()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, here and now."""
        return self._spec.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Task {self.name}>"


class TaskDecorator(Protocol):
    """`@hf.task(...)` on a coroutine or a function, with or without a context."""

    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...
