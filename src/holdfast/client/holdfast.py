"""`Holdfast`: a database of jobs, and the tasks that this program offers to run."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, Unpack, overload

from msgspec import structs

from holdfast.apps.app import App
from holdfast.client.declaring import declare
from holdfast.client.isolated import Isolated, placed
from holdfast.client.operations import Operations
from holdfast.client.options import given
from holdfast.client.patience import PATIENCE_S
from holdfast.client.resources import webhooks
from holdfast.client.resources.commands import Commands
from holdfast.client.resources.crons import Crons
from holdfast.client.resources.dead_letters import DeadLetterCalls
from holdfast.client.resources.schedules import Schedules
from holdfast.client.resources.task import Task, TaskDecorator
from holdfast.client.resources.watches import Watches
from holdfast.client.resources.webhooks import Webhooks
from holdfast.client.store_access import StoreAccess
from holdfast.core.declared.option import SaidIn
from holdfast.core.declared.options import OPTIONS, JobOptions
from holdfast.core.errors import InvalidInput
from holdfast.core.jobs.requests import COMMAND, DEFAULT_QUEUE
from holdfast.core.machine.maintenance import KeepTimes
from holdfast.core.rules import limits
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import DURATION, FLAG
from holdfast.core.settings import rule_table
from holdfast.core.tasks.reserved import refuse_reserved
from holdfast.core.values.retry_option import Retry
from holdfast.hosting.database import clock_for, make_engine
from holdfast.hosting.declarations import Declarations
from holdfast.hosting.task_host import DEFAULT_SLOTS, TaskHost
from holdfast.runtime.clock import Clock
from holdfast.runtime.machine.simulated import SimulatedMachine
from holdfast.store.engine import Engine, Ids, new_uuid
from holdfast.tasks.context import Context
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec, wants_context
from holdfast.workers.builtin import command

P = ParamSpec("P")
R = TypeVar("R")
AppType = TypeVar("AppType", bound=type[App])


class Holdfast(TaskHost[StoreAccess], Operations, Commands, DeadLetterCalls, Schedules, Crons, Webhooks, Watches):
    """A durable queue in a SQLite file or a PostgreSQL database, embedded in this program.

    >>> from holdfast import Holdfast
    >>> hf = Holdfast("work.db")
    >>> @hf.task
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> with hf:
    ...     double.enqueue(x=21).result(timeout=10)
    42

    The database is opened by its first use. Jobs run while this program is inside `async with hf:` or `with hf:`, or in
    `hf.run()`; they can be enqueued and looked at before, inside and after. `concurrency` is how many jobs of each
    queue run at once here: a number, or one for each queue by name. A queue is served here if a task of this program
    has it (`@hf.task(queue=…)`), or if `concurrency` names it; `"*"` names all others. `durability="normal"` trades the
    last moments before a power loss for speed; `keep` is how long ended jobs are remembered, and `keep_telemetry` how
    long the calls of handlers and timers of apps are. `commands` says whether what `hf.command` queues runs here too,
    from the queue `default` and those named. `machine` is what tests put in place of the machine that this runs on, for
    jobs that wait until it is idle or charging. `wait_for_room` is how long an enqueue waits while its queue is full,
    or the machine has no room for more, before it raises; 0: not at all.
    `ca` is a file with the certificates to trust at a daemon's `https://` address; by default `HOLDFAST_CA` names it,
    or the system's count. `token` is for a daemon at an address; by default it is that in `HOLDFAST_TOKEN`, or that of
    the home folder for the daemon which runs there.
    """

    def __init__(
        self,
        path_or_url: str | Path | None = None,
        *,
        durability: str = "full",
        concurrency: int | Mapping[str, int] = DEFAULT_SLOTS,
        keep: Duration = timedelta(days=7),
        keep_telemetry: Duration = timedelta(days=7),
        schema: str = "holdfast",
        clock: Clock | None = None,
        ids: Ids = new_uuid,
        commands: bool | None = None,
        webhook_allow: Iterable[str] | None = None,
        machine: SimulatedMachine | None = None,
        wait_for_room: Duration = PATIENCE_S,
        ca: str | Path | None = None,
        token: str | None = None,
    ) -> None:
        rule_table.check("durability", durability)
        slots = rule_table.check_slots("concurrency", concurrency)
        clock = clock_for(path_or_url) if clock is None else _check_clock(clock)
        engine = make_engine(path_or_url, durability, schema, clock, ids, ca=ca, token=token)
        super().__init__(
            StoreAccess(engine, clock, ids, DURATION.millis("wait_for_room", wait_for_room) / 1000),
            slots,
            # With a daemon, commands have a worker of their own.
            commands=not engine.is_remote if commands is None else FLAG.check("commands", commands),
            keep=KeepTimes(DURATION.millis("keep", keep), DURATION.millis("keep_telemetry", keep_telemetry)),
            machine=None if machine is None else _check_machine(machine, engine),
            declarations=Declarations(sys._getframe(1).f_globals),
        )
        self._options: dict[str, JobOptions] = {}
        if not engine.is_remote:
            self._targets = webhooks.make_policy(webhook_allow)
            self._deliver_webhooks(self._targets)

    def __repr__(self) -> str:
        return f"<Holdfast {self._access.engine.title}>"

    @overload
    def task(self, function: Callable[Concatenate[Context, P], Awaitable[R]]) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[Concatenate[Context, P], R]) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, Awaitable[R]]) -> Task[P, R]: ...
    @overload
    def task(self, function: Callable[P, R]) -> Task[P, R]: ...
    @overload
    def task(
        self,
        *,
        name: str | None = None,
        subprocess: bool = False,
        memory_mb: int | None = None,
        cpu: int | None = None,
        grace: Duration | None = None,
        **options: Unpack[JobOptions],
    ) -> TaskDecorator: ...

    def task(
        self,
        function: Any = None,
        *,
        name: str | None = None,
        subprocess: bool = False,
        memory_mb: int | None = None,
        cpu: int | None = None,
        grace: Duration | None = None,
        **options: Unpack[JobOptions],
    ) -> Any:
        """Make a function or coroutine a task: `@hf.task`, or `@hf.task(queue="build", retry=Retry(5), …)`.

        Takes the options of `Task.options`; a `subject` may name arguments: `subject="editor::{repo}::{path}"`. With
        `subprocess=True` each run has a process of its own, which may crash alone; it loads the task's module anew.
        `memory_mb` bounds its address space, `cpu` its seconds of CPU time, and `grace` is how long it has after it was
        asked to stop before it is killed.
        """
        chosen = given(options)
        module = sys._getframe(1).f_globals
        isolated = Isolated.of(module, subprocess, memory_mb, cpu, grace)
        if isolated is not None:
            chosen.setdefault("execution", "subprocess")
        self._declarations.claim(module)
        for once in chosen:
            if SaidIn.TASK not in OPTIONS[once].said:
                raise InvalidInput(f"{once!r} belongs to one job, not to a task; use task.options({once}=…)")

        def decorate(function: Callable[..., Any]) -> Task[Any, Any]:
            return self._register(function, name, chosen, module, isolated)

        return decorate if function is None else decorate(function)

    def _register(
        self,
        function: Callable[..., Any],
        name: str | None,
        options: JobOptions,
        module: Mapping[str, Any],
        isolated: Isolated | None = None,
    ) -> Task[Any, Any]:
        _check_function(function)
        if self._thread is not None:
            # A session offers its tasks when it begins, so a job of this task would wait for ever.
            raise InvalidInput("this Holdfast runs already: define its tasks before it starts, or stop it first")
        called = rule_table.check("task", function.__name__.strip("<>") if name is None else name)
        named = options.get("queue")
        queue = rule_table.check("queue", DEFAULT_QUEUE if named is None else named)
        refuse_reserved(called, queue)
        if called in self._specs or called == COMMAND:
            raise InvalidInput(f"there is a task {called!r} already; give this one another name=")
        with_context = wants_context(function)
        schema = PayloadSchema(called, function, skip_first=with_context)
        spec = TaskSpec(
            name=called,
            queue=queue,
            function=function,
            schema=schema,
            wants_context=with_context,
            permanent=Retry.of(options.get("retry") or 0).permanent,
        )
        spec = placed(spec, module) if isolated is None else isolated.spec(spec)
        task: Task[Any, Any] = Task(self._access, spec, options)
        task.prepare()
        spec = structs.replace(spec, declared=declare(called, function, schema, options))
        self._specs[called], self._options[called] = spec, options
        return task

    def app(self, key: str) -> Callable[[AppType], AppType]:
        """Make a class an app: `@hf.app("kitchen")` above `class Kitchen(App)`.

        While this program runs jobs, its handlers are called here, unless another process has the app.
        """
        if not isinstance(key, str):
            raise InvalidInput(f'an app needs a key: write @hf.app("{getattr(key, "__name__", "kitchen").lower()}")')
        key = rule_table.check("app_key", key, "app")

        def decorate(kind: AppType) -> AppType:
            if not (isinstance(kind, type) and issubclass(kind, App)):
                raise InvalidInput(f"{limits.shown(kind)} is no app: write `class {key.title()}(App)`")
            if self._thread is not None:
                raise InvalidInput("this Holdfast runs already: define its apps before it starts, or stop it first")
            if key in self._apps:
                raise InvalidInput(f"there is an app {key!r} in this code already; give this one another key")
            self._apps[key] = kind
            return kind

        return decorate

    def _adopt(self, other: TaskHost[Any], who: str) -> None:
        super()._adopt(other, who)
        if isinstance(other, Holdfast):
            self._options |= other._options

    def _schema_of(self, task: str) -> PayloadSchema | None:
        spec = command.SPEC if task == COMMAND else self._specs.get(task)
        return None if spec is None else spec.schema

    def _options_of(self, task: str) -> JobOptions | None:
        return self._options[task] if task in self._options else super()._options_of(task)


def _check_clock(clock: Clock) -> Clock:
    if isinstance(clock, type) or not callable(getattr(clock, "now", None)):
        raise InvalidInput(f"clock {limits.shown(clock)} is not a clock: give an object like ManualClock()")
    return clock


def _check_machine(machine: SimulatedMachine, engine: Engine) -> SimulatedMachine:
    if not isinstance(machine, SimulatedMachine):
        raise InvalidInput(
            f"machine {limits.shown(machine)} is not valid: give a SimulatedMachine(…) of holdfast.testing"
        )
    if engine.is_remote:
        raise InvalidInput("the machine of a daemon is not this program's to simulate: use `holdfast simulate`")
    return machine


def _check_function(function: Callable[..., Any]) -> None:
    if isinstance(function, Task):
        raise InvalidInput(f"{function!r} is a task already; other decorators, such as @hf.cron, stand above @hf.task")
    if not inspect.isroutine(function):
        raise InvalidInput(f"{limits.shown(function)} is not a function; use @hf.task on a function or coroutine")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidInput(f"{function.__name__!r} is a generator; a task returns one result, so use `return`")
    try:
        inspect.signature(function)
    except ValueError as error:
        raise InvalidInput(
            f"{limits.shown(function)} does not tell its parameters ({error}); wrap it in a function"
        ) from None
