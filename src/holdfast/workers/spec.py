"""A task as a worker knows it: what to call, how to read its payload, what its failures mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from holdfast.workers.schema import PayloadSchema


class TaskSpec(Struct, frozen=True):
    """What a worker needs to run the jobs of one task."""

    name: str
    queue: str
    function: Callable[..., Any]
    schema: PayloadSchema
    wants_context: bool
    permanent: tuple[type[BaseException], ...]

    @property
    def is_coroutine(self) -> bool:
        """Coroutines run on the worker's event loop, plain functions in threads."""
        return inspect.iscoroutinefunction(self.function)


def wants_context(function: Callable[..., Any]) -> bool:
    """Whether the first parameter is the run's context: it is called `ctx`, or hinted as one."""
    first = next(iter(inspect.signature(function).parameters.values()), None)
    if first is None:
        return False
    hint = first.annotation
    name = hint if isinstance(hint, str) else getattr(hint, "__name__", "")
    return first.name == "ctx" or name.rpartition(".")[2] == "Context"
