"""Python tasks that run in processes of their own: where a process finds the task, and how it is started."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.jobs.requests import Claimed
from holdfast.runtime.sessions.processes import GRACE_S
from holdfast.tasks.program import Program

CHILD = "holdfast.workers.process.child"


class ModulePlace(Struct, frozen=True):
    """A module as another process finds it."""

    name: str
    file: str | None


class TaskPlace(Struct, frozen=True):
    """The task's name, the module that made the function a task, the one that has the function, and the function.

    Two `Holdfast` of one module may each have a task of the same name. The function tells them apart.
    """

    task: str
    made_in: ModulePlace
    function_in: ModulePlace
    function: str


class Isolation(Struct, frozen=True, kw_only=True):
    """How a Python task runs in a process of its own."""

    place: TaskPlace
    grace_s: float = GRACE_S
    memory_mb: int | None = None
    cpu_s: int | None = None

    def program(self, arguments: Mapping[str, Any], claimed: Claimed) -> Program:
        """The process of one run. It runs code of this program, so it has the environment of this program."""
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        return Program(
            # -P: a file in the current folder must not replace ours.
            argv=(sys.executable, *flags, *(() if "-P" in flags else ("-P",)), "-m", CHILD),
            env=dict(os.environ),
            own=claimed.env or {},
            grace_s=self.grace_s,
            memory_mb=self.memory_mb,
            cpu_s=self.cpu_s,
        )


def place_of(task: str, made_in: Mapping[str, Any], function: Callable[..., Any]) -> TaskPlace | None:
    """Where another process finds a task, by the globals of its modules. None if it is defined in no file."""
    made, has = _module_place(made_in), _module_place(getattr(function, "__globals__", made_in))
    return None if made is None or has is None else TaskPlace(task, made, has, _name_and_line(function))


def _name_and_line(function: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{getattr(function, '__qualname__', '')}:{getattr(code, 'co_firstlineno', 0)}"


def _module_place(module: Mapping[str, Any]) -> ModulePlace | None:
    name, file = str(module.get("__name__")), module.get("__file__")
    if name == "__main__":
        # Started as `python -m package.module`, it can be imported by that name.
        spec = module.get("__spec__")
        if spec is not None:
            name = spec.name
        elif file is None:
            return None
    return ModulePlace(name, None if file is None else os.path.abspath(file))


_is_loading = False


@contextmanager
def loading() -> Iterator[None]:
    """In the block, a process of a task loads its module. What a program does at its start must not happen again."""
    global _is_loading
    _is_loading = True
    try:
        yield
    finally:
        _is_loading = False


def is_loading() -> bool:
    """Whether this is the process of a task, which loads its module."""
    return _is_loading


def refuse_while_loading(what: str) -> None:
    """InvalidInput if the module is being loaded for one of its tasks."""
    if _is_loading:
        raise InvalidInput(
            f"{what} would happen again with every run of a task in a process of its own: "
            "put it below `if __name__ == '__main__':`"
        )
