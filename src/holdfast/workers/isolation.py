"""Python tasks that run in processes of their own: where a new process finds the task, and what it is started as."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.requests import Claimed
from holdfast.runtime.processes import GRACE_S
from holdfast.workers.environment import identity
from holdfast.workers.files import RunFiles
from holdfast.workers.launching import Program

CHILD = "holdfast.workers.child"


class ModulePlace(Struct, frozen=True):
    """A module as another process finds it."""

    name: str
    file: str | None


class TaskPlace(Struct, frozen=True):
    """The task's name, the module that made the function a task, and the one that has the function."""

    task: str
    made_in: ModulePlace
    function_in: ModulePlace


class Isolation(Struct, frozen=True, kw_only=True):
    """How a Python task runs in a process of its own."""

    place: TaskPlace
    grace_s: float = GRACE_S
    memory_mb: int | None = None
    cpu_s: int | None = None

    def program(self, arguments: Mapping[str, Any], claimed: Claimed, files: RunFiles) -> Program:
        """The process of one run. It is code of this program, so it has this program's environment."""
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        return Program(
            # -P: a file in the present folder must not stand in for ours.
            argv=(sys.executable, *flags, *(() if "-P" in flags else ("-P",)), "-m", CHILD),
            env=dict(os.environ) | identity(claimed, files.make_artifact_folder()),
            grace_s=self.grace_s,
            memory_mb=self.memory_mb,
            cpu_s=self.cpu_s,
        )


def place_of(task: str, made_in: Mapping[str, Any], function_in: Mapping[str, Any]) -> TaskPlace:
    """Where another process finds a task, by the globals of its modules; InvalidInput if it cannot."""
    return TaskPlace(task, _module_place(task, made_in), _module_place(task, function_in))


def _module_place(task: str, module: Mapping[str, Any]) -> ModulePlace:
    name, file = str(module.get("__name__")), module.get("__file__")
    if name == "__main__":
        # Started as `python -m package.module`, it has a name that others can import it by.
        spec = module.get("__spec__")
        if spec is not None:
            name = spec.name
        elif file is None:
            raise InvalidInput(
                f"task {task!r} cannot run in a process of its own: it is defined in no file that one could load"
            )
    return ModulePlace(name, None if file is None else os.path.abspath(file))


_is_loading = False


@contextmanager
def loading() -> Iterator[None]:
    """While a process of a task loads the module: what a program does when it is started must not happen again."""
    global _is_loading
    _is_loading = True
    try:
        yield
    finally:
        _is_loading = False


def refuse_while_loading(what: str) -> None:
    """InvalidInput if the module is being loaded for one of its tasks."""
    if _is_loading:
        raise InvalidInput(
            f"{what} would happen again with every run of a task in a process of its own: "
            "put it below `if __name__ == '__main__':`"
        )
