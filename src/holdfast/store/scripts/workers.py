"""Who offers to run what."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.job import Millis, SessionId
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


class Worker(Struct, frozen=True, kw_only=True):
    """A worker that lives: where it is, what it offers, how much of that is in use."""

    id: str
    name: str
    session_id: SessionId
    kind: str
    node: str
    pid: int
    tasks: list[str]
    queues: list[str]
    slots: int
    running: int
    connected_at: Millis
    last_heartbeat_at: Millis
    stop_requested_at: Millis | None


class WorkerRow(Struct, frozen=True):
    """A row of `list_workers`."""

    id: str
    name: str
    session_id: SessionId
    kind: str
    node: str
    pid: int
    tasks: str
    queues: str
    slots: int
    running: int
    connected_at: Millis
    last_heartbeat_at: Millis
    stop_requested_at: Millis | None


def list_workers(tx: Tx) -> list[Worker]:
    """Every worker whose session has not ended, in the order in which they came."""
    return [_worker(row) for row in tx.all(sql.list_workers, WorkerRow)]


def _worker(row: WorkerRow) -> Worker:
    fields = msgspec.structs.asdict(row)
    for name in ("tasks", "queues"):
        # Queues have their slots beside them, if the worker told them, and tasks where they are taken: names are shown.
        fields[name] = list(msgspec.json.decode(fields[name]))
    return Worker(**fields)
