"""The columns of workspaces, and of what apps have registered and called, read from the structs that show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct, structs

from holdfast.core.messages.telemetry import NewCall, NewExecution, NewInvocation, NewListener, NewTimer
from holdfast.core.messages.workspaces import WorkspaceView

_PLACE = {"app_key": "TEXT", "instance_index": "BIGINT"}
_TYPES = {int: "BIGINT", bool: "BIGINT", float: "DOUBLE PRECISION"}


def _columns(kind: type[Struct], *without: str) -> dict[str, str]:
    return {field.name: _type_of(field.type) for field in structs.fields(kind) if field.name not in without}


def _type_of(hint: Any) -> str:
    return next((_TYPES[kind] for kind in (hint, *get_args(hint)) if kind in _TYPES), "TEXT")


LISTENER, TIMER = _columns(NewListener), _columns(NewTimer)
_CALL = {"id": "BIGINT", "session_number": "BIGINT", **_columns(NewCall, "counter")}
RECORD_LISTS: Mapping[str, Mapping[str, str]] = {
    "new_listener": {**_PLACE, **LISTENER, "first_registered_at": "BIGINT", "last_registered_at": "BIGINT"},
    "new_timer": {**_PLACE, **TIMER, "first_registered_at": "BIGINT", "last_registered_at": "BIGINT"},
    "new_invocation": {**_CALL, **_columns(NewInvocation, *_CALL, "counter", "listener"), "listener_id": "BIGINT"},
    "new_execution": {**_CALL, **_columns(NewExecution, *_CALL, "counter", "job_name"), "job_id": "BIGINT"},
    # What people see of a workspace, but for what follows from other columns or rows.
    "workspace": _columns(WorkspaceView, "owner", "node_name", "op_job_number", "home", "address", "steps", "sleep"),
}


def _set(columns: Mapping[str, str], *without: str) -> str:
    return ",\n".join(f"{column} = excluded.{column}" for column in columns if column not in without)


RECORD_PARTS: Mapping[str, str] = {
    "set_listener": _set(LISTENER, "name"),
    "set_timer": _set(TIMER, "job_name"),
}


def as_row(record: Struct) -> dict[str, Any]:
    """A record as parameters of a statement."""
    fields = structs.asdict(record).items()
    return {name: int(value) if isinstance(value, bool) else value for name, value in fields}
