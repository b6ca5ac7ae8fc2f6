"""A task as a worker knows it: what to call, how to read its payload, what its failures mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from msgspec import Struct

from holdfast.workers.schema import PayloadSchema, is_context


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
