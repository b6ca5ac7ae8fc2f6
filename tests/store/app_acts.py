"""What tests tell the store of apps, each in one short call."""

from __future__ import annotations

from typing import Any

from holdfast.core.apps.call import CallStatus
from holdfast.core.apps.listening import CallMode, Per
from holdfast.core.messages.telemetry import (
    AppRecord,
    NewExecution,
    NewInvocation,
    NewListener,
    NewTimer,
    Registrations,
)
from tests.store.acts import NOW

SOURCE = {"source_location": "home.py:7", "registration_source": "self.bus.on(…)"}


def listener(name: str = "on_light", **options: Any) -> NewListener:
    """A handler of events."""
    usual = {
        "handler_method": name,
        "topic": "light.*",
        "debounce_ms": None,
        "throttle_ms": None,
        "once": False,
        "per": Per.NAME,
        "mode": CallMode.QUEUED,
        "priority": 0,
        "timeout_ms": 600_000,
        "predicate_description": None,
    }
    return NewListener(name=name, **{**usual, **SOURCE, **options})


def timer(name: str = "tick", **options: Any) -> NewTimer:
    """A timer that is due each second."""
    usual = {
        "handler_method": name,
        "trigger_type": "interval",
        "trigger_value": "1s",
        "repeat": True,
        "args_json": "[]",
        "kwargs_json": "{}",
        "timeout_ms": 600_000,
        "next_run_at": NOW + 1_000,
    }
    return NewTimer(job_name=name, **{**usual, **SOURCE, **options})


def registered() -> Registrations:
    """One of each."""
    return Registrations((listener(),), (timer(),))


def invocation(counter: int, **options: Any) -> NewInvocation:
    """A call of the handler."""
    usual = {
        "listener": "on_light",
        "started_at": NOW + counter,
        "duration_ms": 1.5,
        "status": CallStatus.SUCCESS,
        "event_id": f"e{counter}",
        "event_number": counter,
        "event_name": "light.sink",
    }
    return NewInvocation(counter=counter, **{**usual, **options})


def execution(counter: int, **options: Any) -> NewExecution:
    """A call of the timer."""
    usual = {
        "job_name": "tick",
        "started_at": NOW + counter,
        "duration_ms": 2.5,
        "status": CallStatus.SUCCESS,
        "fire_time": NOW + counter,
    }
    return NewExecution(counter=counter, **{**usual, **options})


def failed(counter: int, **options: Any) -> NewInvocation:
    """A call of the handler that raised."""
    about = {"error_type": "ValueError", "error_message": "kaputt", "error_traceback": "…", "fingerprint": "f1"}
    return invocation(counter, status=CallStatus.ERROR, **{**about, **options})


def record(app_key: str = "kitchen") -> AppRecord:
    """A bit of everything."""
    return AppRecord(
        app_key=app_key,
        registered=Registrations((listener("late"),), (timer("later"),)),
        retired_timers=("later",),
        events_dropped={"on_light": 7},
        next_runs={"tick": NOW + 2_000},
        invocations=(invocation(1 if app_key == "kitchen" else 11), failed(2 if app_key == "kitchen" else 12)),
        executions=(execution(3 if app_key == "kitchen" else 13),),
    )
