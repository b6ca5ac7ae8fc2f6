"""`holdfast sessions`: every process that claims jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from holdfast.cli.frame import output, times
from holdfast.cli.frame.clients import client
from holdfast.cli.frame.options import CursorOption, LimitOption
from holdfast.cli.frame.output import GREEN, RED, YELLOW, Coloured, Output
from holdfast.cli.frame.words import Option
from holdfast.core.errors import InvalidInput

if TYPE_CHECKING:
    from holdfast.core.messages.sessions import EndedSession, EndedSessionPage, SessionRow, Worker

HEAD = ("session", "pid", "node", "heartbeat", "running", "queues", "tasks", "")
ENDED = ("number", "session", "pid", "node", "began", "ended", "status", "detail")
COLOURS = {"success": GREEN, "error": RED, "unknown": YELLOW}


def sessions(
    ended: Annotated[bool, Option("--ended", help="Those that have ended instead, newest first.")] = False,
    since: Annotated[
        str | None, Option(metavar="TIME", help="With --ended: only those that ended within this time: 90s, 2h, 7d.")
    ] = None,
    limit: LimitOption = 20,
    cursor: CursorOption = None,
) -> Output:
    """List the processes that live.

    The daemon, its workers, and programs that work on the same database. With --ended: how each life of a process
    ended. `success`: in order; `error`: by an exception; `unknown`: the process died.

    \b
    Examples:
      holdfast sessions
      holdfast sessions --ended --since 24h
    """
    if since is not None and not ended:
        raise InvalidInput("--since is for sessions that have ended; say --ended too")
    hf = client()
    if ended:
        page = hf.ended_sessions(since=times.before("since", since), limit=limit, cursor=cursor)
        return Output(page, lambda: _show_ended(page, limit))
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


def _show_ended(page: EndedSessionPage, limit: int) -> None:
    output.show_table(ENDED, [_ended_row(session) for session in page.sessions], right=("number", "pid"))
    output.say_more(page.cursor, f"newest {limit}", limit)


def _ended_row(session: EndedSession) -> list[str]:
    details = [
        "" if session.error_type is None else f"{session.error_type}: {session.error_message}",
        f"{session.runs_lost} runs lost" if session.runs_lost else "",
        f"{session.rows_dropped} calls not recorded" if session.rows_dropped else "",
    ]
    return [
        str(session.number),
        session.kind,
        str(session.pid),
        session.node,
        times.ago(session.started_at),
        times.ago(session.stopped_at),
        Coloured(session.status, COLOURS[session.status]),
        "; ".join(detail for detail in details if detail),
    ]
