"""Durable background jobs inside a Python program, kept in a SQLite file or in PostgreSQL."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.apps.app import App
    from holdfast.client.holdfast import Holdfast
    from holdfast.client.receiving import verify_webhook
    from holdfast.client.resources.calls import Call
    from holdfast.client.resources.group_handle import GroupHandle
    from holdfast.client.resources.handle import JobHandle
    from holdfast.client.resources.schedule_handle import ScheduleHandle
    from holdfast.client.resources.task import Task
    from holdfast.client.workspaces.handle import WorkspaceHandle
    from holdfast.core.apps.predicates import P
    from holdfast.core.errors import (
        Busy,
        Conflict,
        Elsewhere,
        HoldfastError,
        InvalidInput,
        InvalidPayload,
        InvalidToken,
        JobCancelled,
        JobError,
        JobFailed,
        NoDaemon,
        NotAllowed,
        NotFound,
        NotHolder,
        OutcomeUnknown,
        QueueFull,
        Reserved,
        SchemaMismatch,
        StillRunning,
        StoreBusy,
        StoreCorrupt,
        StoreError,
        StoreFull,
        StoreUnavailable,
        TooManyRunning,
        UnknownTask,
        WorkspaceFailed,
    )
    from holdfast.core.job import StateName
    from holdfast.core.jobs.run import Run, RunStatus
    from holdfast.core.jobs.stored_job import Job
    from holdfast.core.messages.watches import Watch
    from holdfast.core.values.event import Event
    from holdfast.core.values.filling import PREVIOUS
    from holdfast.core.values.retry_option import Retry
    from holdfast.tasks.context import Context
    from holdfast.tasks.raising import Infra, Permanent, Skip, Snooze, Transient

__all__ = [
    "PREVIOUS",
    "App",
    "Busy",
    "Call",
    "Conflict",
    "Context",
    "Elsewhere",
    "Event",
    "GroupHandle",
    "Holdfast",
    "HoldfastError",
    "Infra",
    "InvalidInput",
    "InvalidPayload",
    "InvalidToken",
    "Job",
    "JobCancelled",
    "JobError",
    "JobFailed",
    "JobHandle",
    "NoDaemon",
    "NotAllowed",
    "NotFound",
    "NotHolder",
    "OutcomeUnknown",
    "P",
    "Permanent",
    "QueueFull",
    "Reserved",
    "Retry",
    "Run",
    "RunStatus",
    "ScheduleHandle",
    "SchemaMismatch",
    "Skip",
    "Snooze",
    "StateName",
    "StillRunning",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreUnavailable",
    "Task",
    "TooManyRunning",
    "Transient",
    "UnknownTask",
    "Watch",
    "WorkspaceFailed",
    "WorkspaceHandle",
    "verify_webhook",
]


# Each is imported when it is first used: a program that needs one of them need not wait for all.
_MODULES = {
    "holdfast.apps.app": ("App",),
    "holdfast.core.apps.predicates": ("P",),
    "holdfast.client.resources.calls": ("Call",),
    "holdfast.client.resources.group_handle": ("GroupHandle",),
    "holdfast.client.resources.handle": ("JobHandle",),
    "holdfast.client.holdfast": ("Holdfast",),
    "holdfast.client.receiving": ("verify_webhook",),
    "holdfast.core.values.retry_option": ("Retry",),
    "holdfast.client.resources.schedule_handle": ("ScheduleHandle",),
    "holdfast.client.resources.task": ("Task",),
    "holdfast.client.workspaces.handle": ("WorkspaceHandle",),
    "holdfast.core.errors": (
        "Busy",
        "Conflict",
        "Elsewhere",
        "HoldfastError",
        "InvalidInput",
        "InvalidPayload",
        "InvalidToken",
        "JobCancelled",
        "JobError",
        "JobFailed",
        "NoDaemon",
        "NotAllowed",
        "NotFound",
        "NotHolder",
        "OutcomeUnknown",
        "QueueFull",
        "Reserved",
        "SchemaMismatch",
        "StillRunning",
        "StoreBusy",
        "StoreCorrupt",
        "StoreError",
        "StoreFull",
        "StoreUnavailable",
        "TooManyRunning",
        "UnknownTask",
        "WorkspaceFailed",
    ),
    "holdfast.core.values.event": ("Event",),
    "holdfast.core.values.filling": ("PREVIOUS",),
    "holdfast.core.job": ("StateName",),
    "holdfast.core.messages.watches": ("Watch",),
    "holdfast.core.jobs.run": (
        "Run",
        "RunStatus",
    ),
    "holdfast.core.jobs.stored_job": ("Job",),
    "holdfast.tasks.context": ("Context",),
    "holdfast.tasks.raising": (
        "Infra",
        "Permanent",
        "Skip",
        "Snooze",
        "Transient",
    ),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        from importlib import import_module

        value = globals()[name] = getattr(import_module(_WHERE[name]), name)
        return value
    # Read only if it is asked for: that costs more than all other imports of this file.
    if name == "__version__":
        from importlib.metadata import version

        return version("holdfast")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
