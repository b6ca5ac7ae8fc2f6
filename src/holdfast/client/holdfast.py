"""`Holdfast`: a database of jobs, and the tasks that this program offers to run."""

from __future__ import annotations

import inspect
import sys
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from msgspec import structs

from holdfast.client.commands import Commands
from holdfast.client.crons import Crons, Declarations
from holdfast.client.database import clock_for, make_engine, name_of
from holdfast.client.dead_letters import DeadLetterCalls
from holdfast.client.declaring import declare
from holdfast.client.durations import Duration, to_millis
from holdfast.client.isolated import Isolated
from holdfast.client.kept import Kept
from holdfast.client.operations import Operations
from holdfast.client.options import Options, check_bool, make_options
from holdfast.client.patience import PATIENCE_S
from holdfast.client.retry import Retry
from holdfast.client.running import Running
from holdfast.client.schedules import Schedules
from holdfast.client.shift import Shift
from holdfast.client.store_access import StoreAccess
from holdfast.client.task import Task, TaskDecorator
from holdfast.client.watches import Watches
from holdfast.client.webhooks import Webhooks, make_policy
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import check_int, check_name, shown
from holdfast.core.requests import ANY_QUEUE, COMMAND
from holdfast.core.reserved import refuse_reserved
from holdfast.core.webhook import WEBHOOK, WEBHOOK_QUEUE
from holdfast.runtime.clock import Clock
from holdfast.runtime.simulated import SimulatedMachine
from holdfast.store.engine import Engine, Ids, new_uuid
from holdfast.store.forks import forget_after_fork
from holdfast.wire.remote import RemoteEngine
from holdfast.workers import command
from holdfast.workers.context import Context
from holdfast.workers.files import USUAL
from holdfast.workers.isolation import refuse_while_loading
from holdfast.workers.schema import PayloadSchema
from holdfast.workers.spec import TaskSpec, wants_context
from holdfast.workers.webhook import Deliverer

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_SLOTS = 10


class Holdfast(Running, Operations, Commands, DeadLetterCalls, Schedules, Crons, Webhooks, Watches):
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
    last moments before a power loss for speed; `keep` is how long ended jobs are remembered. `commands` says whether
    what `hf.command` queues runs here too, from the queue `default` and those named. `machine` is what tests put in
    place of the machine that this runs on, for jobs that wait until it is idle or charging. `wait_for_room` is how long
    an enqueue waits while its queue is full, or the machine has no room for more, before it raises; 0: not at all.
    `ca` is a file with the certificates to trust at a daemon's `https://` address; by default `HOLDFAST_CA` names it,
    or the system's count.
    """

    def __init__(
        self,
        path_or_url: str | Path | None = None,
        *,
        durability: str = "full",
        concurrency: int | Mapping[str, int] = 10,
        keep: Duration = timedelta(days=7),
        schema: str = "holdfast",
        clock: Clock | None = None,
        ids: Ids = new_uuid,
        commands: bool | None = None,
        webhook_allow: Iterable[str] | None = None,
        machine: SimulatedMachine | None = None,
        wait_for_room: Duration = PATIENCE_S,
        ca: str | Path | None = None,
    ) -> None:
        if durability not in ("full", "normal"):
            raise InvalidInput(f"durability {shown(durability)} is not valid: use 'full' or 'normal'")
        super().__init__()
        self._concurrency = _check_concurrency(concurrency)
        self._keep_ms = to_millis("keep", keep)
        clock = clock_for(path_or_url) if clock is None else _check_clock(clock)
        engine = make_engine(path_or_url, durability, schema, clock, ids, ca=ca)
        self._name = name_of(engine, schema)
        self._access = StoreAccess(engine, clock, ids, to_millis("wait_for_room", wait_for_room) / 1000)
        self._specs: dict[str, TaskSpec] = {}
        self._options: dict[str, Options] = {}
        self._declarations = Declarations(sys._getframe(1).f_globals)
        # Behind a daemon, commands have a worker of their own.
        offers_commands = not isinstance(engine, RemoteEngine) if commands is None else check_bool("commands", commands)
        self._built_in = {COMMAND: command.SPEC} if offers_commands else {}
        if not isinstance(engine, RemoteEngine):
            self._targets = make_policy(webhook_allow)
            self._built_in[WEBHOOK] = Deliverer(engine, clock, self._targets).spec
        self._machine = None if machine is None else _check_machine(machine, engine)
        self._kept: Kept | None = None
        # The settings of a daemon may say otherwise for its workers.
        self._log_limits = USUAL
        self._close = weakref.finalize(self, engine.close)
        forget_after_fork(self)

    def __repr__(self) -> str:
        return f"<Holdfast {self._name}>"

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
        **options: Any,
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
        **options: Any,
    ) -> Any:
        """Make a function or coroutine a task: `@hf.task`, or `@hf.task(queue="build", retry=Retry(5), …)`.

        Takes the options of `Task.options`; a `subject` may name arguments: `subject="editor::{repo}::{path}"`. With
        `subprocess=True` each run has a process of its own, which may crash alone; it loads the task's module anew.
        `memory_mb` bounds its address space, `cpu` its seconds of CPU time, and `grace` is how long it has after it was
        asked to stop before it is killed.
        """
        chosen = make_options(options)
        module = sys._getframe(1).f_globals
        isolated = Isolated.of(module, subprocess, memory_mb, cpu, grace)
        self._declarations.claim(module)
        for once in ("generation", "at", "deadline", "idempotency_key", "after", "after_ended", "group"):
            if getattr(chosen, once) is not None:
                raise InvalidInput(f"{once!r} belongs to one job, not to a task; use task.options({once}=…)")

        def decorate(function: Callable[..., Any]) -> Task[Any, Any]:
            return self._register(function, name, chosen, isolated)

        return decorate if function is None else decorate(function)

    def _register(
        self,
        function: Callable[..., Any],
        name: str | None,
        options: Options,
        isolated: Isolated | None = None,
        *,
        is_system: bool = False,
    ) -> Task[Any, Any]:
        _check_function(function)
        if self._room is not None:
            # What a session offers is settled when it begins; a job of this task would wait for ever.
            raise InvalidInput("this Holdfast runs already: define its tasks before it starts, or stop it first")
        called = check_name("task", function.__name__.strip("<>") if name is None else name)
        queue = check_name("queue", "default" if options.queue is None else options.queue)
        if not is_system:
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
            permanent=() if options.retry is None else Retry.of(options.retry).permanent,
        )
        if isolated is not None:
            spec = isolated.spec(spec)
        task: Task[Any, Any] = Task(self._access, spec, options)
        task.prepare()
        if not is_system:
            spec = structs.replace(spec, declared=declare(called, function, schema, options))
        self._specs[called], self._options[called] = spec, options
        return task

    def _adopt(self, other: Holdfast, who: str) -> None:
        """Run the tasks of another Holdfast here too; `who` names both where a task is in both."""
        twice = sorted(self._specs.keys() & other._specs.keys())
        if twice:
            raise InvalidInput(f"{who} both have a task {twice[0]!r}; give one of them another name=")
        self._specs |= other._specs
        self._options |= other._options
        self._declarations.adopt(other._declarations, who)

    def _schema_of(self, task: str) -> PayloadSchema | None:
        spec = command.SPEC if task == COMMAND else self._specs.get(task)
        return None if spec is None else spec.schema

    def _options_of(self, task: str) -> Options | None:
        return self._options.get(task) or super()._options_of(task)

    def _make_shift(self, on_lost: Callable[[], None]) -> Shift:
        refuse_while_loading("running jobs")
        return Shift(
            self._access,
            self._specs | self._built_in,
            self._slots(),
            self._keep_ms,
            on_lost,
            self._log_limits,
            self._kept,
            is_guest=not self._is_for_jobs,
            machine=self._machine,
            declarations=self._declarations,
        )

    def _slots(self) -> dict[str, int]:
        queues = {spec.queue for spec in self._specs.values()}
        if isinstance(self._concurrency, int) or ANY_QUEUE not in self._concurrency:
            queues |= {spec.queue for spec in self._built_in.values()}
        if WEBHOOK in self._built_in:
            queues.add(WEBHOOK_QUEUE)
        if isinstance(self._concurrency, int):
            return dict.fromkeys(sorted(queues), self._concurrency)
        return {queue: self._concurrency.get(queue, DEFAULT_SLOTS) for queue in sorted(queues | set(self._concurrency))}


def _check_clock(clock: Clock) -> Clock:
    if isinstance(clock, type) or not callable(getattr(clock, "now", None)):
        raise InvalidInput(f"clock {shown(clock)} is not a clock: give an object like ManualClock()")
    return clock


def _check_machine(machine: SimulatedMachine, engine: Engine) -> SimulatedMachine:
    if not isinstance(machine, SimulatedMachine):
        raise InvalidInput(f"machine {shown(machine)} is not valid: give a SimulatedMachine(…) of holdfast.testing")
    if isinstance(engine, RemoteEngine):
        raise InvalidInput("the machine of a daemon is not this program's to simulate: use `holdfast simulate`")
    return machine


def _check_function(function: Callable[..., Any]) -> None:
    if isinstance(function, Task):
        raise InvalidInput(f"{function!r} is a task already; other decorators, such as @hf.cron, stand above @hf.task")
    if not inspect.isroutine(function):
        raise InvalidInput(f"{shown(function)} is not a function; use @hf.task on a function or coroutine")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidInput(f"{function.__name__!r} is a generator; a task returns one result, so use `return`")
    try:
        inspect.signature(function)
    except ValueError as error:
        raise InvalidInput(f"{shown(function)} does not tell its parameters ({error}); wrap it in a function") from None


def _check_concurrency(value: int | Mapping[str, int]) -> int | dict[str, int]:
    if isinstance(value, Mapping):
        return {
            queue if queue == ANY_QUEUE else check_name("queue", queue): check_int("concurrency", slots, 0, 10_000)
            for queue, slots in value.items()
        }
    return check_int("concurrency", value, 1, 10_000)
