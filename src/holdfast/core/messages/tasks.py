"""Tasks that workers have declared, and those that none has."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from holdfast.core.job import Millis
from holdfast.core.tasks.task import TaskOptions


class TaskVersion(Struct, frozen=True, kw_only=True):
    """One version of a task: its options, and the JSON schema of its arguments. `workers` offer it now.

    `offered_at` is when it was last offered, if none does. In a list, long `arguments` are null.
    """

    digest: str
    options: TaskOptions
    arguments: dict[str, Any] | None
    source: str | None
    doc: str | None
    workers: int
    declared_at: Millis
    offered_at: Millis


class KnownTask(Struct, frozen=True, kw_only=True):
    """A task that workers have declared, with its versions; the first gives the options of requests by name."""

    name: str
    workers: int
    versions: list[TaskVersion]


class UndeclaredTask(Struct, frozen=True):
    """A task that jobs wait for and no worker has declared: how many jobs, the oldest number, and the nearest name."""

    task: str
    jobs: int
    example: int
    nearest: str | None
