"""`@hf.cron(…)`: schedules that stand in the code, and are stored when the program begins to run jobs."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from msgspec import structs

from holdfast.client.durations import Duration
from holdfast.client.options import NOTHING, Options
from holdfast.client.schedules import complete_payload, timing
from holdfast.client.store_access import StoreAccess
from holdfast.client.task import Task
from holdfast.client.templates import Payload, new_template
from holdfast.core.cron import UTC
from holdfast.core.errors import InvalidInput
from holdfast.core.limits import MAX_NAME, shown
from holdfast.core.schedule import Misfire, Overlap
from holdfast.store.scripts.declaring import DeclaredSchedule, declare_schedules
from holdfast.store.scripts.schedule_rows import NewSchedule, Origin
from holdfast.store.scripts.schedules import list_schedules
from holdfast.workers.context import Context

if TYPE_CHECKING:
    from holdfast.client.isolated import Isolated

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger("holdfast.cron")


class Declarations:
    """The schedules that the code of a program asks for, and the modules whose code it is."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        self._owners: set[str] = set()
        self._wanted: dict[str, DeclaredSchedule] = {}
        self._is_stored = False
        self.claim(module)

    def claim(self, module: Mapping[str, Any]) -> str | None:
        """A module belongs to the program: what it no longer asks for is to be disabled. The name it goes by."""
        owner = owner_of(module)
        if owner is not None:
            self._owners.add(owner)
        return owner

    def add(self, wanted: DeclaredSchedule) -> None:
        """One more; each has a name of its own."""
        name = wanted.schedule.name
        if name in self._wanted:
            raise InvalidInput(f"there is a schedule {name!r} in this code already; give this one another name=")
        self._wanted[name] = wanted

    def adopt(self, other: Declarations, who: str) -> None:
        """Ask for the schedules of another program too; `who` names both where both have one."""
        twice = sorted(self._wanted.keys() & other._wanted.keys())
        if twice:
            raise InvalidInput(f"{who} both have a schedule {twice[0]!r}; give one of them another name=")
        self._wanted |= other._wanted
        self._owners |= other._owners

    async def store(self, access: StoreAccess, *, again: bool = True) -> None:
        """Have the database know them. With `again=False`, once for this program is enough."""
        if self._is_stored and not again:
            return
        if self._wanted or await self._has_left_some(access):
            wanted, owners = list(self._wanted.values()), sorted(self._owners)
            told = await access.awrite(declare_schedules, wanted, owners, await access.anow())
            for trouble in told.troubles:
                log.error("%s", trouble, extra={"event": "schedule_refused"})
            for name in told.disabled:
                log.warning("schedule %r is disabled: the code no longer asks for it", name)
        self._is_stored = True

    async def _has_left_some(self, access: StoreAccess) -> bool:
        """Whether schedules fire that this code asked for once. Most programs have none, and need write nothing."""
        found = await access.aread(list_schedules)
        return any(one.enabled and one.origin is Origin.CODE and one.owner in self._owners for one in found)


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
            self, function: Callable[..., Any], name: str | None, options: Options, isolated: Isolated | None
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

        The schedule is stored when this program begins to run jobs, under `name`, by default that of the task; one that
        the code no longer has is disabled, and one that a person has paused stays paused. Five fields, or six with the
        seconds last; the rest is as for `create_schedule`. A task may have several, each with a name.
        """
        when = timing("cron" if name is None else name, expression, tz, misfire, overlap, jitter)
        owner = self._declarations.claim(sys._getframe(1).f_globals)

        def decorate(function: Any) -> Task[Any, Any]:
            if self.is_running:
                raise InvalidInput(
                    "this Holdfast runs already: define its schedules before it starts, or stop it first"
                )
            task = function if isinstance(function, Task) else self._register(function, None, NOTHING, None)
            if task._access is not self._access:
                raise InvalidInput(f"{shown(task)} belongs to another Holdfast; use that one's cron")
            called = task.name if name is None else name
            text, arguments = complete_payload(task._spec.schema, payload)
            # A trace is that of one job.
            options = structs.replace(task._options, trace_id=None)
            template = new_template(self._access.new_id(), called, task.name, text, arguments, options)
            schedule = NewSchedule(
                id=template.id, template=called, origin=Origin.CODE, owner=owner, **{**when, "name": called}
            )
            self._declarations.add(DeclaredSchedule(template=template, schedule=schedule))
            return task

        return decorate


def owner_of(module: Mapping[str, Any]) -> str | None:
    """How the code of a module is known: by its name within a package, otherwise by its file."""
    name = str(module.get("__name__"))
    spec = module.get("__spec__")
    if name == "__main__" and spec is not None:
        name = spec.name
    if "." in name:
        return name[-MAX_NAME:]
    file = module.get("__file__")
    if file is None:
        return None
    text = os.path.abspath(file).encode("utf-8", "replace").decode()
    return "".join(letter if letter.isprintable() else "?" for letter in text)[-MAX_NAME:]
