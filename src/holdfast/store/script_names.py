"""Modules of scripts by their names. They are imported when an engine is made that runs them.

A program that uses a daemon runs no script, so it need not import any.
"""

# Other modules import these from here.
# mypy: implicit-reexport
# ruff: noqa: F401

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from holdfast.core.computed_once import computed_once

T = TypeVar("T")

SCRIPTS = "holdfast.store.scripts."
STATEMENTS = "holdfast.store.column_lists"  # what statements are made with

if TYPE_CHECKING:
    from holdfast.store.scripts.access import users
    from holdfast.store.scripts.apps import app_owners, apps, calls, hearing, records
    from holdfast.store.scripts.claiming import why
    from holdfast.store.scripts.events import events
    from holdfast.store.scripts.groups import groups
    from holdfast.store.scripts.jobs import (
        bulk,
        cancel,
        conditions,
        dead_letter_rows,
        dead_letters,
        enqueue,
        group_jobs,
        predecessors,
        reorder,
        retry,
    )
    from holdfast.store.scripts.machines import machines, nodes, tokens
    from holdfast.store.scripts.maintenance import doctor, maintenance, probed_machines, reserved, retention, stats
    from holdfast.store.scripts.queues import queues, reservations, reserve, tenants
    from holdfast.store.scripts.reading import read_jobs
    from holdfast.store.scripts.runs import exchange, finish, output, progress
    from holdfast.store.scripts.schedules import declaring, firing, schedules, templates
    from holdfast.store.scripts.sessions import sessions, workers
    from holdfast.store.scripts.tasks import declared_tasks
    from holdfast.store.scripts.watches import changed_files, watches
    from holdfast.store.scripts.webhooks import deliveries, webhooks
    from holdfast.store.scripts.workspaces import operating, reconcile, resting, workspaces
else:

    def __getattr__(name: str) -> ScriptModule:
        folder = _folders().get(name)
        if folder is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = ScriptModule(f"{SCRIPTS}{folder}.{name}")
        return found


@cache
def _folders() -> dict[str, str]:
    """The folder of each module of scripts."""
    scripts = Path(__file__).with_name("scripts")
    folders = [place.name for place in os.scandir(scripts) if place.is_dir() and place.name.isidentifier()]
    files = [(file.name, folder) for folder in folders for file in os.scandir(scripts / folder)]
    names = [(name.removesuffix(".py"), folder) for name, folder in files if name.endswith(".py")]
    return {name: folder for name, folder in names if name.isidentifier() and name[0] != "_"}


def load_all() -> None:
    """Import every script, and what statements are made with.

    An engine does this when it is made, not when it is used. A thread that imports a module holds a lock. If another
    thread forks at that moment, the child has the lock, but not the thread, and waits for ever.
    """
    from importlib.resources import files

    for module in (STATEMENTS, *(f"{SCRIPTS}{folder}.{name}" for name, folder in _folders().items())):
        import_module(module)
    files("holdfast.store")  # It imports what the files of statements are read with.


class Script:
    """Stands for a script, and has the names of its function."""

    def __init__(self, module: str, name: str) -> None:
        self.__module__ = module
        self.__name__ = name

    @computed_once
    def function(self) -> Callable[..., Any]:
        """The script itself."""
        found: Callable[..., Any] = getattr(import_module(self.__module__), self.__name__)
        return found

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return self.function(*args, **kw)

    def __repr__(self) -> str:
        return f"<Script {full_name(self)}>"


class ScriptModule:
    """Stands for a module of scripts."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Script:
        if name.startswith("_"):
            raise AttributeError(name)
        found = Script(self._module, name)
        setattr(self, name, found)
        return found


def full_name(script: Callable[..., Any]) -> str:
    """The name of a script with its module: `jobs.cancel.cancel_job`."""
    return f"{script.__module__}.{script.__name__}".removeprefix(SCRIPTS)


def function_of(script: Callable[..., T]) -> Callable[..., T]:
    """The script itself, whether it was imported or named. Engines ask for it before a transaction begins."""
    return script.function if isinstance(script, Script) else script
