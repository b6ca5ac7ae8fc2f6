"""Sessions: one life of a process that claims jobs."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from holdfast.core.attendance import Span, merged
from holdfast.core.job import Millis, SessionId
from holdfast.core.requests import QueueSlots
from holdfast.core.task import DeclaredTask
from holdfast.store.engine import Tx, urgent
from holdfast.store.scripts.holders import check_holder, hash_of
from holdfast.store.scripts.nodes import note_node
from holdfast.store.scripts.scopes import expire_of_session
from holdfast.store.scripts.tasks import declare_tasks, withdraw_tasks
from holdfast.store.scripts.tokens import TokenSetting, note_tokens
from holdfast.store.scripts.waking import wake_held_back
from holdfast.store.statements import sql


class NewSession(Struct, frozen=True):
    """Who is about to claim jobs. `node` is the id of its machine, `host` what that calls itself, if not by its id.

    `secret` is made by the caller, at random: from then on only who knows it speaks for the session. A repeat of the
    call carries the same.
    """

    id: SessionId
    kind: str
    node: str
    boot_id: str
    pid: int
    lock_path: str | None
    tokens: TokenSetting | None = None
    host: str | None = None
    secret: str | None = None

    def __repr__(self) -> str:
        return f"<NewSession {self.id}>"  # A secret belongs in no log.


class SessionRow(Struct, frozen=True):
    """A session that has not ended, as far as the store knows. `node` is the name of its machine."""

    id: SessionId
    kind: str
    node: str
    node_id: str
    host: str
    boot_id: str
    pid: int
    lock_path: str | None
    heartbeat: int
    last_heartbeat_at: Millis
    stop_requested_at: Millis | None
    runs_lost: int | None


class Offer(Struct, frozen=True):
    """What the worker of a session offers to run: `slots` jobs at once.

    `queue_slots` says how many of them each queue has; without it, every queue may take all of them. `wild_tasks` are
    those that it takes from queues that it does not name; None: all of them. `declared` says how the jobs of a task are
    to be run and what arguments it takes, for requests that know only its name.
    """

    worker_id: str
    name: str
    tasks: tuple[str, ...]
    queues: tuple[str, ...]
    slots: int
    queue_slots: tuple[QueueSlots, ...] = ()
    wild_tasks: tuple[str, ...] | None = None
    declared: tuple[DeclaredTask, ...] = ()


def open_session(tx: Tx, session: NewSession, offer: Offer | None, now: Millis) -> None:
    """Write down that a process begins to claim. Its lock is held before this is stored."""
    row = msgspec.structs.asdict(session)
    del row["tokens"], row["secret"]
    row["host"] = host = session.host or session.node
    # A worker may be in a container with a name of its own, on the machine of its daemon.
    note_node(tx, session.node, host, now, may_rename=session.kind != "worker")
    if session.tokens is not None:
        note_tokens(tx, session.node, session.tokens, session.kind == "daemon", now)
    if not tx.run(sql.insert_session, now=now, secret_hash=hash_of(session.secret), **row):
        check_holder(tx, session.id, session.secret)
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
        declare_tasks(tx, offer.worker_id, offer.declared, offer.tasks, now)


def _tasks(offer: Offer) -> tuple[str, ...] | dict[str, bool]:
    """Their names; or whether each is taken from queues that are not named, where the worker says so."""
    if offer.wild_tasks is None:
        return offer.tasks
    return {task: task in offer.wild_tasks for task in offer.tasks}


def _queues(offer: Offer) -> tuple[str, ...] | dict[str, int]:
    """Their names; or the slots of each, where the worker says so."""
    if not offer.queue_slots:
        return offer.queues
    return dict.fromkeys(offer.queues, offer.slots) | {item.queue: item.slots for item in offer.queue_slots}


def attendance(tx: Tx, limit: int = 1000) -> list[Span]:
    """When somebody was there to start jobs, as far back as so many sessions go."""
    return merged((row["started_at"], row["until"]) for row in tx.rows(sql.attendance, limit=limit))


@urgent
def beat(tx: Tx, session_id: SessionId, now: Millis, secret: str | None = None) -> bool:
    """Say "I live". False: somebody has settled this session; it must not go on as if nothing had happened."""
    if tx.run(sql.beat, id=session_id, now=now, secret_hash=hash_of(secret)):
        return True
    check_holder(tx, session_id, secret)
    return False


def note_stop_request(tx: Tx, session_id: SessionId, now: Millis) -> None:
    """The session stops in order: whatever it still runs when it is gone was not a crash."""
    tx.run(sql.note_stop_request, id=session_id, now=now)
    wake_held_back(tx)


def close_session(tx: Tx, session_id: SessionId, status: str, now: Millis, secret: str | None = None) -> bool:
    """End a session in order. Refused (False) while it still owns a run."""
    check_holder(tx, session_id, secret)
    if not tx.run(sql.close_session, id=session_id, status=status, stopped_at=now):
        return False
    withdraw_tasks(tx, session_id, now)
    tx.run(sql.delete_workers_of_session, session_id=session_id)
    expire_of_session(tx, session_id, now)
    wake_held_back(tx)
    return True


def running_sessions(tx: Tx) -> list[SessionRow]:
    """Every session that has not ended."""
    return tx.all(sql.running_sessions, SessionRow)
