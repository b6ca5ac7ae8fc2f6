"""What apps have registered, and the calls of it: as their process tells it, and as people see it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from holdfast.core.apps.call import CallStatus
from holdfast.core.apps.listening import CallMode, Per
from holdfast.core.job import Millis


class RaisedError(Struct, frozen=True):
    """An exception that ended something: its type, its message, and its traceback."""

    error_type: str
    error_message: str
    error_traceback: str | None = None


def columns_of(error: RaisedError | None) -> dict[str, str | None]:
    """An exception, or none, as the columns that keep it."""
    return {name: getattr(error, name, None) for name in RaisedError.__struct_fields__}


class NewListener(Struct, frozen=True, kw_only=True):
    """A handler of events that an app has registered."""

    name: str
    handler_method: str
    topic: str
    debounce_ms: Millis | None
    throttle_ms: Millis | None
    once: bool
    per: Per
    mode: CallMode
    priority: int
    timeout_ms: Millis
    predicate_description: str | None
    source_location: str
    registration_source: str | None


class NewTimer(Struct, frozen=True, kw_only=True):
    """A timer that an app has registered."""

    job_name: str
    handler_method: str
    trigger_type: str | None
    trigger_value: str
    repeat: bool
    args_json: str
    kwargs_json: str
    timeout_ms: Millis
    next_run_at: Millis | None
    source_location: str
    registration_source: str | None


class NewCall(Struct, frozen=True, kw_only=True):
    """A call that has ended. `counter` is its number in its session."""

    counter: int
    started_at: Millis
    duration_ms: float
    status: CallStatus
    fingerprint: str | None = None
    error_type: str | None = None
    error_message: str | None = None
    error_traceback: str | None = None


class NewInvocation(NewCall, frozen=True, kw_only=True):
    """A call of a handler of events, by the name of its listener."""

    listener: str
    event_id: str
    event_number: int
    event_name: str


class NewExecution(NewCall, frozen=True, kw_only=True):
    """A call of a timer, by its name. `fire_time` is the moment that it was due."""

    job_name: str
    fire_time: Millis | None


class Registrations(Struct, frozen=True):
    """What an app has registered."""

    listeners: tuple[NewListener, ...] = ()
    timers: tuple[NewTimer, ...] = ()


class AppRecord(Struct, frozen=True, kw_only=True):
    """What is to be written down of an app: what is new, what is gone, and calls.

    `events_dropped` are by the names of listeners, `next_runs` by the names of timers.
    """

    app_key: str
    instance_index: int = 0
    registered: Registrations = Registrations()
    retired_listeners: tuple[str, ...] = ()
    retired_timers: tuple[str, ...] = ()
    events_dropped: dict[str, int] = {}
    next_runs: dict[str, Millis | None] = {}
    invocations: tuple[NewInvocation, ...] = ()
    executions: tuple[NewExecution, ...] = ()


class TimerWish(StrEnum):
    """What a person may ask of a timer."""

    RUN = "run"
    CANCEL = "cancel"


class AskedTimer(Struct, frozen=True):
    """A timer of which something is asked."""

    app_key: str
    instance_index: int
    job_name: str
    asked: TimerWish


class ListenerView(NewListener, frozen=True, kw_only=True):
    """A registered handler of events, with figures about its calls. `counts` are by how they ended."""

    id: int
    app_key: str
    instance_index: int
    first_registered_at: Millis
    last_registered_at: Millis
    retired_at: Millis | None
    events_dropped: int
    last_run_at: Millis | None
    counts: dict[CallStatus, int]
    mean_ms: float | None
    longest_ms: float | None


class TimerView(NewTimer, frozen=True, kw_only=True):
    """A registered timer, with figures about its calls. `counts` are by how they ended."""

    id: int
    app_key: str
    instance_index: int
    asked: TimerWish | None
    first_registered_at: Millis
    last_registered_at: Millis
    retired_at: Millis | None
    last_run_at: Millis | None
    counts: dict[CallStatus, int]
    mean_ms: float | None
    longest_ms: float | None


class CallView(Struct, frozen=True, kw_only=True):
    """A call of a handler or a timer. The id is a text, as it may pass 2^53."""

    id: str
    session_number: int
    started_at: Millis
    duration_ms: float
    status: CallStatus
    fingerprint: str | None
    error_type: str | None
    error_message: str | None
    error_traceback: str | None


class InvocationView(CallView, frozen=True, kw_only=True):
    """A call of a handler of events."""

    listener_id: int
    event_id: str
    event_number: int
    event_name: str


class ExecutionView(CallView, frozen=True, kw_only=True):
    """A call of a timer. `fire_time` is the moment that it was due; None: it was called by hand."""

    job_id: int
    fire_time: Millis | None


class FailedCall(CallView, frozen=True, kw_only=True):
    """A call that failed or took too long, of a listener or of a timer."""

    app_key: str
    instance_index: int
    name: str
    handler_method: str
    listener_id: int | None
    job_id: int | None


class InvocationPage(Struct, frozen=True):
    """Some calls of a handler, newest first, and the cursor of the next page if there is one."""

    invocations: list[InvocationView]
    cursor: str | None


class ExecutionPage(Struct, frozen=True):
    """Some calls of a timer, newest first, and the cursor of the next page if there is one."""

    executions: list[ExecutionView]
    cursor: str | None


class FailedCallPage(Struct, frozen=True):
    """Some calls that failed, newest first, and the cursor of the next page if there is one."""

    errors: list[FailedCall]
    cursor: str | None
