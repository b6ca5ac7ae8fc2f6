"""Calls about the programs that run jobs, and the tasks that they have."""

from __future__ import annotations

from holdfast.core.access import Role
from holdfast.store.script_names import declared_tasks, sessions, workers
from holdfast.wire.call import WORKERS, ApiCall

CALLS: tuple[ApiCall, ...] = (
    ApiCall(Role.READ, "sessions", "GET", "/v1/sessions", sessions.running_sessions),
    ApiCall(Role.READ, "sessions", "GET", "/v1/sessions/ended", sessions.ended_sessions),
    ApiCall(Role.READ, WORKERS, "GET", "/v1/workers", workers.list_workers),
    ApiCall(Role.READ, "tasks", "GET", "/v1/tasks", declared_tasks.list_tasks),
    ApiCall(Role.READ, "tasks", "GET", "/v1/tasks/{name}", declared_tasks.find_task),
    ApiCall(Role.READ, "tasks", "GET", "/v1/undeclared-tasks", declared_tasks.list_undeclared),
)
