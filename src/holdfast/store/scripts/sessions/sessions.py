"""Sessions: one life of a process that claims jobs."""

from __future__ import annotations

import msgspec

from holdfast.core.errors import NotFound
from holdfast.core.job import Millis, SessionId
from holdfast.core.machine.attendance import Span, merged
from holdfast.core.messages import telemetry
from holdfast.core.messages.sessions import EndedSession, EndedSessionPage, NewSession, Offer, SessionRow
from holdfast.core.messages.telemetry import RaisedError
from holdfast.core.rules.limits import MAX_INT
from holdfast.store.engine import Tx, urgent
from holdfast.store.scripts.access import session_holders
from holdfast.store.scripts.apps import app_owners
from holdfast.store.scripts.machines import nodes
from holdfast.store.scripts.machines.tokens import note_tokens
from holdfast.store.scripts.sessions import left_behind
from holdfast.store.scripts.tasks import declared_tasks
from holdfast.store.scripts.telling.wake_ups import wake_held_back
from holdfast.store.statements import sql


def open_session(tx: Tx, session: NewSession, offer: Offer | None, now: Millis) -> None:
    """Store a session that begins to claim. Its process holds its lock already."""
    row = msgspec.structs.asdict(session)
    del row["tokens"], row["secret"]
    row["host"] = host = session.host or session.node
    # A worker may be in a container with a name of its own, on the machine of its daemon.
    nodes.note_node(tx, session.node, host, now, may_rename=session.kind != "worker")
    if session.tokens is not None:
        note_tokens(tx, session.node, session.tokens, session.kind == "daemon", now)
    if not tx.run(sql.insert_session, now=now, secret_hash=session_holders.hash_of(session.secret), **row):
        session_holders.check_holder(tx, session.id, session.secret)
    if offer is not None:
        tx.run(
            sql.insert_worker,
            id=offer.worker_id,
            session_id=session.id,
            name=offer.name,
            tasks=msgspec.json.encode(_tasks(offer)).decode(),
            queues=msgspec.json.encode(_queues(offer)).decode(),
            slots=offer.slots,
            now=now,
        )
        declared_tasks.declare_tasks(tx, offer.worker_id, offer.declared, offer.tasks, now)
        if offer.apps:
            app_owners.take_apps(tx, session.id, offer.apps, now, session.secret)


def _tasks(offer: Offer) -> tuple[str, ...] | dict[str, bool]:
    """The names of the tasks. If the worker says it, also whether each is taken from queues that are not named."""
    if offer.wild_tasks is None:
        return offer.tasks
    return {task: task in offer.wild_tasks for task in offer.tasks}


def _queues(offer: Offer) -> tuple[str, ...] | dict[str, int]:
    """The names of the queues. If the worker says it, also the slots of each."""
    if not offer.queue_slots:
        return offer.queues
    return dict.fromkeys(offer.queues, offer.slots) | {item.queue: item.slots for item in offer.queue_slots}


def attendance(tx: Tx, limit: int = 1000) -> list[Span]:
    """The times in which a session was there to start jobs, as far back as so many sessions go."""
    return merged((row["started_at"], row["until"]) for row in tx.rows(sql.attendance, limit=limit))


@urgent
def beat(tx: Tx, session_id: SessionId, now: Millis, secret: str | None = None) -> bool:
    """Note that a session lives. False: it was settled as dead, and must not go on."""
    if tx.run(sql.beat, id=session_id, now=now, secret_hash=session_holders.hash_of(secret)):
        return True
    session_holders.check_holder(tx, session_id, secret)
    return False


def note_stop_request(tx: Tx, session_id: SessionId, now: Millis) -> None:
    """Note that a session stops in order. What it still runs at its end is no crash."""
    tx.run(sql.note_stop_request, id=session_id, now=now)
    wake_held_back(tx)


def close_session(
    tx: Tx,
    session_id: SessionId,
    status: str,
    now: Millis,
    secret: str | None = None,
    error: RaisedError | None = None,
) -> bool:
    """End a session in order, or by an exception. Refused (False) while it still owns a run."""
    session_holders.check_holder(tx, session_id, secret)
    if not tx.run(sql.close_session, id=session_id, status=status, stopped_at=now, **telemetry.columns_of(error)):
        return False
    left_behind.free(tx, session_id, now)
    return True


def ended_sessions(tx: Tx, since: Millis | None = None, limit: int = 50, cursor: str | None = None) -> EndedSessionPage:
    """A page of the sessions that have ended, newest first. `unknown`: their process died."""
    below = MAX_INT if cursor is None else tx.value(sql.session_number, session_id=cursor)
    if below is None:
        raise NotFound(f"there is no session {cursor!r}, so the list cannot go on behind it; start without a cursor")
    found = tx.all(sql.ended_sessions, EndedSession, below=below, since=since, limit=limit + 1)
    return EndedSessionPage(found[:limit], found[limit - 1].id if len(found) > limit else None)


def running_sessions(tx: Tx) -> list[SessionRow]:
    """Every session that has not ended."""
    return tx.all(sql.running_sessions, SessionRow)
