"""The workers, and what each offers to run."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.job import Millis, SessionId
from holdfast.core.messages.sessions import Worker
from holdfast.store.engine import Tx
from holdfast.store.statements import sql


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
    """Every worker whose session has not ended, oldest first."""
    return [_worker(row) for row in tx.all(sql.list_workers, WorkerRow)]


def _worker(row: WorkerRow) -> Worker:
    fields = msgspec.structs.asdict(row)
    for name in ("tasks", "queues"):
        # A worker may have said more about its queues and tasks. Only their names are shown.
        fields[name] = list(msgspec.json.decode(fields[name]))
    return Worker(**fields)
