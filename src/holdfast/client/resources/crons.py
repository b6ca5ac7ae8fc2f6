"""`@hf.cron(…)`: schedules in the code, which are stored when the program begins to run jobs."""

from __future__ import annotations

import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from holdfast.client.resources import schedules, templates
from holdfast.client.resources.task import Task
from holdfast.client.resources.templates import Payload
from holdfast.client.store_access import StoreAccess
from holdfast.core.declared.options import JobOptions
from holdfast.core.errors import InvalidInput
from holdfast.core.messages.schedules import DeclaredSchedule, NewSchedule, Origin
from holdfast.core.rules import limits
from holdfast.core.rules.units import Duration
from holdfast.core.schedules.cron import UTC
from holdfast.core.schedules.schedule import Misfire, Overlap
from holdfast.hosting.declarations import Declarations
from holdfast.tasks.context import Context

if TYPE_CHECKING:
    pass

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("holdfast.cron")


class CronDecorator(Protocol):
    """`@hf.cron(...)` above `@hf.task`, or on a function or coroutine, which it makes a task."""

    @overload
    def __call__(self, function: Task[P, R], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Task[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


class Crons:
    """The part of `Holdfast` that reads schedules from the code."""

    _access: StoreAccess
    _declarations: Declarations

    if TYPE_CHECKING:

        def _register(
            self, function: Callable[..., Any], name: str | None, options: JobOptions, module: Mapping[str, Any]
        ) -> Task[Any, Any]: ...

        @property
        def is_running(self) -> bool: ...

    def cron(
        self,
        expression: str,
        *,
        tz: str = UTC,
        name: str | None = None,
        misfire: str = Misfire.LATEST,
        overlap: str = Overlap.SKIP,
        jitter: Duration = 0,
        payload: Payload | None = None,
    ) -> CronDecorator:
        """Run a task by the clock: `@hf.cron("0 7 * * *", tz="Asia/Seoul")` above `@hf.task`, or without it.

        The schedule is stored when this program begins to run jobs. Its `name` is that of the task by default. One that
        the code no longer has is disabled, and one that a person has paused stays paused. Five fields, or six with the
        seconds last; the rest is as for `create_schedule`. A task may have several, each with a name.
        """
        when = schedules.timing("cron" if name is None else name, expression, tz, misfire, overlap, jitter)
        module = sys._getframe(1).f_globals
        owner = self._declarations.claim(module)

        def decorate(function: Any) -> Task[Any, Any]:
            if self.is_running:
                raise InvalidInput(
                    "this Holdfast runs already: define its schedules before it starts, or stop it first"
                )
            task = function if isinstance(function, Task) else self._register(function, None, {}, module)
            if task._access is not self._access:
                raise InvalidInput(f"{limits.shown(task)} belongs to another Holdfast; use that one's cron")
            called = task.name if name is None else name
            text, arguments = schedules.complete_payload(task._spec.schema, payload)
            # A trace belongs to one job.
            options = cast(JobOptions, {name: value for name, value in task._options.items() if name != "trace_id"})
            template = templates.new_template(self._access.new_id(), called, task.name, text, arguments, options)
            schedule = NewSchedule(
                id=template.id, template=called, origin=Origin.CODE, owner=owner, **{**when, "name": called}
            )
            self._declarations.add(DeclaredSchedule(template=template, schedule=schedule))
            return task

        return decorate
