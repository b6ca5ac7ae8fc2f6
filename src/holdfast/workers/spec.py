"""A task as a worker knows it: what to call, how to read its payload, what its failures mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias, get_type_hints

from msgspec import Struct

from holdfast.core.requests import Claimed
from holdfast.core.task import DeclaredTask
from holdfast.workers.files import RunFiles
from holdfast.workers.isolation import TaskPlace
from holdfast.workers.launching import Program
from holdfast.workers.schema import PayloadSchema, is_context

MakeProgram: TypeAlias = Callable[[Mapping[str, Any], Claimed, RunFiles], Program]


class TaskSpec(Struct, frozen=True, dict=True):
    """What a worker needs to run the jobs of one task. With a `program` they run in processes of their own.

    Where a worker serves all queues, it takes those that do not roam from the queues it names only. `declared` is what
    the worker tells of it; the system's own tasks are not told of.
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

    @cached_property
    def is_coroutine(self) -> bool:
        """Coroutines run on the worker's event loop, plain functions in threads."""
        return inspect.iscoroutinefunction(self.function)


def wants_context(function: Callable[..., Any]) -> bool:
    """Whether the first parameter is the run's context."""
    first = next(iter(inspect.signature(function).parameters.values()), None)
    if first is None:
        return False
    try:
        hints = get_type_hints(function)
    except Exception:
        # They cannot be read; whoever makes the schema says why.
        hints = {}
    return is_context(first.name, hints)


_by_place: dict[tuple[str, str], TaskSpec] = {}


def remember(spec: TaskSpec) -> None:
    """Let a process of this task's own find it by the module that made it and its name."""
    assert spec.place is not None
    _by_place[spec.place.made_in.name, spec.place.task] = spec


def recall(module: str, task: str) -> TaskSpec | None:
    """The task that this module made, once it is loaded."""
    return _by_place.get((module, task))
