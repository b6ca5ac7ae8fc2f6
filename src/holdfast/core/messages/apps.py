"""Apps: what a process offers, and what people see."""

from __future__ import annotations

from msgspec import Struct, field

from holdfast.core.apps.status import AppStatus, Wanted
from holdfast.core.job import Millis, SessionId
from holdfast.core.messages.telemetry import AskedTimer
from holdfast.core.values.event import Event


class OfferedApp(Struct, frozen=True):
    """An app of the code of a process, which it would call the handlers of."""

    app_key: str
    class_name: str = field(name="class")
    instance_index: int = 0


class AppState(Struct, frozen=True):
    """An app as the processes that offer it see it. `session_id` is its owner."""

    app_key: str
    instance_index: int
    wanted: Wanted
    status: AppStatus
    session_id: SessionId | None


class TakenApps(Struct, frozen=True):
    """The apps that were offered, the number of the newest event by then, and the number of the session."""

    apps: list[AppState]
    number: int
    session_number: int


class HeardEvents(Struct, frozen=True):
    """Events that somebody listens to, oldest first. `number`: no event up to here was left out.

    `has_more`: there may be more behind that. `apps` are those that were asked about, and `asked` are the timers of
    which something is wanted.
    """

    events: list[Event]
    number: int
    has_more: bool
    apps: list[AppState]
    asked: list[AskedTimer]


class AppView(Struct, frozen=True, kw_only=True):
    """An app: what is wanted of it, how it is, and the process that calls its handlers."""

    app_key: str
    instance_index: int
    class_name: str = field(name="class")
    wanted: Wanted
    status: AppStatus
    session_id: SessionId | None
    pid: int | None
    node: str | None
    started_at: Millis | None
    error_type: str | None
    error_message: str | None
    error_traceback: str | None
