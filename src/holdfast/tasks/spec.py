"""What a worker knows of a task: what to call, how to read its payload, what its failures mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_type_hints

from msgspec import Struct

from holdfast.core.computed_once import computed_once
from holdfast.core.errors import InvalidInput
from holdfast.core.jobs.requests import Claimed
from holdfast.core.tasks.task import DeclaredTask
from holdfast.tasks.isolation import Isolation, TaskPlace, is_loading
from holdfast.tasks.program import Program
from holdfast.tasks.schema import PayloadSchema, is_context

MakeProgram: TypeAlias = Callable[[Mapping[str, Any], Claimed], Program]


class TaskSpec(Struct, frozen=True, dict=True):
    """What a worker needs to run the jobs of one task. With a `program` they run in processes of their own.

    `place` is where another process finds a Python task. It is None for one that no other process can load.

    If a worker serves all queues, it takes tasks that do not roam only from the queues that it names. `declared` is
    what the worker declares of it. Tasks of the system are not declared.
    """

    name: str
    queue: str
    function: Callable[..., Any]
    schema: PayloadSchema
    wants_context: bool
    permanent: tuple[type[BaseException], ...]
    program: MakeProgram | None = None
    place: TaskPlace | None = None
    roams: bool = True
    declared: DeclaredTask | None = None

    @computed_once
    def is_coroutine(self) -> bool:
        """Whether it is a coroutine. Coroutines run on the event loop of the worker, plain functions in threads."""
        return inspect.iscoroutinefunction(self.function)


def wants_context(function: Callable[..., Any]) -> bool:
    """Whether the first parameter is the context of the run."""
    first = next(iter(inspect.signature(function).parameters.values()), None)
    if first is None:
        return False
    try:
        hints = get_type_hints(function)
    except Exception:
        # They cannot be read. The code that makes the schema says why.
        hints = {}
    return is_context(first.name, hints)


def check_place(spec: TaskSpec) -> TaskPlace:
    """Where another process finds the task. InvalidInput if it cannot."""
    if spec.place is None:
        raise InvalidInput(
            f"task {spec.name!r} cannot run in a process of its own: it is defined in no file that one could load"
        )
    return spec.place


def program_of(spec: TaskSpec) -> MakeProgram:
    """What runs in a process of its own. InvalidInput if no other process can load the task."""
    return spec.program or Isolation(place=check_place(spec)).program


def check_execution(spec: TaskSpec, execution: str | None) -> None:
    """Refuse an execution that jobs of the task cannot have."""
    if execution == "subprocess":
        program_of(spec)
    elif execution == "in_process" and spec.program is not None:
        raise InvalidInput(f"task {spec.name!r} always runs in a process of its own: leave out execution='in_process'")


_by_place: dict[tuple[str, str], list[TaskSpec]] = {}


def remember(spec: TaskSpec) -> None:
    """Remember a task by the module that made it and its name. Only the process of a task asks for it again."""
    if is_loading():
        assert spec.place is not None
        _by_place.setdefault((spec.place.made_in.name, spec.place.task), []).append(spec)


def recall(module: str, place: TaskPlace) -> TaskSpec | None:
    """The task that this module made, once it is loaded. In a file that was changed meanwhile: the last of its name."""
    named = _by_place.get((module, place.task), [])
    of_function = (spec for spec in named if spec.place is not None and spec.place.function == place.function)
    return next(of_function, named[-1] if named else None)
