"""`holdfast sessions`: every process that claims jobs."""

from __future__ import annotations

from holdfast.cli.options import HomeOption, JsonOption, client
from holdfast.cli.output import YELLOW, Coloured, show_json, show_table
from holdfast.cli.times import ago


def sessions(home: HomeOption = None, json: JsonOption = False) -> None:
    """List the processes that live.

    The daemon, its workers, and programs that work on the same database.

    \b
    Examples:
      holdfast sessions
    """
    hf = client(home)
    rows, workers = hf.sessions(), {worker.session_id: worker for worker in hf.workers()}
    if json:
        show_json([{"session": row, "worker": workers.get(row.id)} for row in rows])
        return
    lines = []
    for row in rows:
        worker = workers.get(row.id)
        lines.append(
            [
                row.kind,
                str(row.pid),
                row.node,
                ago(row.last_heartbeat_at),
                "" if worker is None else f"{worker.running} of {worker.slots}",
                "" if worker is None else " ".join(sorted(worker.queues)),
                "" if worker is None else " ".join(sorted(worker.tasks)),
                Coloured("stopping", YELLOW) if row.stop_requested_at is not None else "",
            ]
        )
    show_table(["session", "pid", "node", "heartbeat", "running", "queues", "tasks", ""], lines)
