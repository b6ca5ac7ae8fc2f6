"""Sessions of processes that run jobs, and what they offer to run."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.job import Millis, SessionId
from holdfast.core.jobs.requests import QueueSlots
from holdfast.core.messages.apps import OfferedApp
from holdfast.core.messages.machines import TokenSetting
from holdfast.core.tasks.task import DeclaredTask


class Offer(Struct, frozen=True):
    """What the worker of a session offers to run: `slots` jobs at once.

    `queue_slots` says how many of them each queue has; without it, every queue may take all of them. `wild_tasks` are
    those that it takes from queues that it does not name; None: all of them. `declared` says how the jobs of a task are
    to be run and what arguments it takes, for requests that know only its name. `apps` are those whose
    handlers it would call.
    """

    worker_id: str
    name: str
    tasks: tuple[str, ...]
    queues: tuple[str, ...]
    slots: int
    queue_slots: tuple[QueueSlots, ...] = ()
    wild_tasks: tuple[str, ...] | None = None
    declared: tuple[DeclaredTask, ...] = ()
    apps: tuple[OfferedApp, ...] = ()


class NewSession(Struct, frozen=True):
    """A session that is about to claim jobs. `node` is the id of its machine, `host` the name of that, if it has one.

    `secret` is random, and made by the caller. From then on, only callers that know it act for the session. A repeat of
    the call has the same.
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


class EndedSession(Struct, frozen=True):
    """A session that has ended: in order (`success`), by an exception (`error`), or with its process (`unknown`).

    `rows_dropped` are calls of handlers and timers that could not be recorded.
    """

    id: SessionId
    number: int
    kind: str
    status: str
    node: str
    pid: int
    started_at: Millis
    last_heartbeat_at: Millis
    stopped_at: Millis
    runs_lost: int | None
    rows_dropped: int
    error_type: str | None
    error_message: str | None
    error_traceback: str | None


class EndedSessionPage(Struct, frozen=True):
    """Some sessions that have ended, newest first, and the cursor of the next page if there is one."""

    sessions: list[EndedSession]
    cursor: str | None


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
