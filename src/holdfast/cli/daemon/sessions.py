"""`holdfast sessions`: every process that claims jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.cli.frame import output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.output import YELLOW, Coloured, Output

if TYPE_CHECKING:
    from holdfast.core.messages.sessions import SessionRow, Worker

HEAD = ("session", "pid", "node", "heartbeat", "running", "queues", "tasks", "")


def sessions() -> Output:
    """List the processes that live.

    The daemon, its workers, and programs that work on the same database.

    \b
    Examples:
      holdfast sessions
    """
    hf = client()
    rows, workers = hf.sessions(), {worker.session_id: worker for worker in hf.workers()}
    found = [{"session": row, "worker": workers.get(row.id)} for row in rows]
    return output.listed(found, HEAD, (_row(row, workers.get(row.id)) for row in rows))


def _row(row: SessionRow, worker: Worker | None) -> list[str]:
    return [
        row.kind,
        str(row.pid),
        row.node,
        times.ago(row.last_heartbeat_at),
        "" if worker is None else f"{worker.running} of {worker.slots}",
        "" if worker is None else " ".join(sorted(worker.queues)),
        "" if worker is None else " ".join(sorted(worker.tasks)),
        Coloured("stopping", YELLOW) if row.stop_requested_at is not None else "",
    ]
