"""The queues and tasks of the system, which no caller may use. The reserved events are in `event`."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.errors import Conflict, Reserved
from holdfast.core.jobs import requests
from holdfast.core.jobs.requests import SYSTEM_QUEUE
from holdfast.core.rules import limits
from holdfast.core.webhooks.webhook import WEBHOOK

SYSTEM_TASKS = f"{SYSTEM_QUEUE}."  # the tasks of the system begin with this
BEHIND_SYSTEM_TASKS = SYSTEM_TASKS[:-1] + chr(ord(SYSTEM_TASKS[-1]) + 1)  # the first text after all of them

CANARY = f"{SYSTEM_TASKS}canary"
BENCH = f"{SYSTEM_TASKS}bench"  # the queue and the task of jobs that only measure
WORKSPACE = f"{SYSTEM_TASKS}workspace"  # the task of an operation of a workspace
WORKSPACE_QUEUE = f"{SYSTEM_TASKS}workspaces"
OFFERED_TASKS = frozenset({CANARY, BENCH, WEBHOOK, WORKSPACE})  # the tasks of the system that workers run


def refuse_operation(queue: str, number: int) -> None:
    """Refuse to cancel or retry the job of an operation of a workspace: its controller decides what comes next."""
    if queue == WORKSPACE_QUEUE:
        raise Conflict(
            f"job {number} is an operation of a workspace; say what the workspace shall be instead: "
            "holdfast workspace start, stop, recover or delete"
        )


def is_reserved(task: str | None, queue: str) -> bool:
    """Whether a task or a queue belongs to the system."""
    return requests.is_system_queue(queue) or (task is not None and task.startswith(SYSTEM_TASKS))


def refuse_offers(tasks: Iterable[str]) -> None:
    """Refuse a worker that offers a task with a reserved name that the system does not have."""
    for task in tasks:
        if task not in OFFERED_TASKS:
            refuse_reserved(task, None)


def refuse_reserved(task: str | None, queue: str | None) -> None:
    """Refuse a task or a queue of the system in a request. Such a queue may be set and paused."""
    if queue is not None and requests.is_system_queue(queue):
        raise Reserved(
            f"queue {limits.shown(queue)} is reserved: {SYSTEM_QUEUE} and what begins with {SYSTEM_TASKS} are for the "
            "system's own jobs; choose another queue"
        )
    if task is not None and task.startswith(SYSTEM_TASKS):
        raise Reserved(
            f"task {limits.shown(task)} is reserved: what begins with {SYSTEM_TASKS} is for the system's own "
            "jobs; choose another name"
        )
