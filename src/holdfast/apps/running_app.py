"""An app that this process has: its object, its handlers, and its life from `on_start` to `on_stop`.

It lives on the event loop of the apps, so that user code never runs where we talk to the store. What has become of it
is told to the host by `report`, what it has registered and called to the recorder.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, structs

from holdfast.apps.app import App, AppLog
from holdfast.apps.bus import Bus
from holdfast.apps.calling import CallResult, HandlerCaller, error_of
from holdfast.apps.listener import ActiveListener, ListenerRules
from holdfast.apps.recorder import AppBuffer, Recorder, fingerprint
from holdfast.apps.scheduler import Scheduler
from holdfast.apps.timer import ActiveTimer, TimerRules
from holdfast.core.apps.call import COUNTER_BITS, HandlerCall
from holdfast.core.job import Millis
from holdfast.core.messages.telemetry import (
    AskedTimer,
    NewExecution,
    NewInvocation,
    NewListener,
    NewTimer,
    RaisedError,
    Registrations,
    TimerWish,
)
from holdfast.core.values.event import Event
from holdfast.tasks.raising import storable

STOP_LIMIT_S = 10.0
# Of these, no more is shown.
LONGEST_ARGUMENTS = 1_000

log = logging.getLogger("holdfast.app")


class Started(Struct, frozen=True):
    """`on_start` has ended. What it has registered is stored before a handler is called."""

    registered: Registrations
    patterns: list[str]


class Begun(Struct, frozen=True):
    """Its timers may fire."""


class StartFailed(Struct, frozen=True):
    """`on_start` has raised."""

    error: RaisedError


class ListenersChanged(Struct, frozen=True):
    """The app listens to other events than before."""


class AskedDone(Struct, frozen=True):
    """A timer has done what was asked of it."""

    asked: AskedTimer


class Ended(Struct, frozen=True):
    """The app has stopped in order: nothing of it runs any more."""


AppReport: TypeAlias = Started | Begun | StartFailed | ListenersChanged | AskedDone | Ended


class RunningApp:
    """One object of an app. Handlers and timers are registered in any thread, all else is on the event loop."""

    def __init__(
        self,
        app_key: str,
        kind: type[App],
        caller: HandlerCaller,
        recorder: Recorder,
        call_ids: count[int],
        report: Callable[[RunningApp, AppReport], None],
    ) -> None:
        self.app_key = app_key
        self.bus = Bus(
            app_key, self._make_listener, self._listener_added, self._listener_removed, self._listeners_changed
        )
        self.scheduler = Scheduler(
            self._make_timer, self._timer_added, self._timer_ready, self._retire_timer, self._timer_removed
        )
        self._kind = kind
        self._caller = caller
        self._recorder = recorder
        self._buffer: AppBuffer = recorder.begin(app_key, self._next_run)
        self._call_ids = call_ids
        self._report = report
        self._app: App | None = None
        self._starting: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        # When `on_start` began, by the monotonic clock.
        self.began: float | None = None
        self._is_begun = False
        self._is_over = False

    def start(self) -> None:
        """Make the object, and begin its `on_start`."""
        self._starting = asyncio.get_running_loop().create_task(self._start())

    def begin(self) -> None:
        """The app runs: its timers may fire."""
        if not self._is_over:
            self._is_begun = True
            for timer in self.scheduler.timers:
                timer.start()
        self._report(self, Begun())

    def hear(self, events: Iterable[Event]) -> None:
        """Give events to the listeners that they are for."""
        for event in events:
            if self._is_over:
                return
            for listener in self.bus.for_event(event.name):
                try:
                    listener.hear(event)
                except Exception:
                    log.exception("app %s: listener %s failed", self.app_key, listener.rules.name)

    def do_asked(self, asked: AskedTimer) -> None:
        """Do what a person asks of a timer, and say that it is done."""
        for timer in self.scheduler.of_name(asked.job_name)[:1]:
            match asked.asked:
                case TimerWish.RUN:
                    timer.run_now()
                case TimerWish.CANCEL:
                    self.scheduler.cancel_all(asked.job_name)
        self._report(self, AskedDone(asked))

    def end(self, patience: float, *, is_process_ending: bool = False) -> None:
        """Begin no call any more, let those that run end, and call `on_stop`. Its end is reported.

        If the process goes on, it is reported when no function runs any more: another process may take the app then.
        """
        self._is_over = True
        self._ending = asyncio.get_running_loop().create_task(self._end(patience, is_process_ending))

    def abandon(self) -> None:
        """Cancel everything: the app belongs to another process, or to nobody."""
        self._is_over = True
        if self._starting is not None:
            self._starting.cancel()
        self._close_all()
        self._caller.cancel_all(self.app_key)

    def new_call(self, handler: str) -> HandlerCall:
        """A call that begins, with an id of its own."""
        return HandlerCall(self.app_key, handler, next(self._call_ids))

    def add_invocation(self, rules: ListenerRules, call: HandlerCall, event: Event, result: CallResult) -> None:
        """A call of a handler has a result."""
        invocation = NewInvocation(
            listener=rules.name,
            event_id=event.id,
            event_number=event.number,
            event_name=event.name,
            **self._record_of(rules.name, call, result),
        )
        self._recorder.add_call(self._buffer, invocation)

    def add_execution(self, rules: TimerRules, call: HandlerCall, fire_time: Millis | None, result: CallResult) -> None:
        """A call of a timer has a result."""
        execution = NewExecution(job_name=rules.name, fire_time=fire_time, **self._record_of(rules.name, call, result))
        self._recorder.add_call(self._buffer, execution)

    def add_dropped(self, rules: ListenerRules, count: int) -> None:
        """So many events are lost, since too many wait."""

        def add(buffer: AppBuffer) -> None:
            buffer.events_dropped[rules.name] = buffer.events_dropped.get(rules.name, 0) + count

        self._change(add)

    def note_next_run(self, rules: TimerRules) -> None:
        """A timer is due at another moment than before, or never more."""
        self._change(lambda buffer: buffer.next_runs.add(rules.name))

    def _next_run(self, name: str) -> Millis | None:
        """When the first of those that share a row is due."""
        moments = [timer.next_run_at for timer in self.scheduler.of_name(name)]
        return min((moment for moment in moments if moment is not None), default=None)

    async def _start(self) -> None:
        self.began = self._caller.clock.monotonic()
        try:
            app = self._kind.__new__(self._kind)
            app.key, app.bus, app.scheduler, app.log = self.app_key, self.bus, self.scheduler, AppLog(self.app_key)
            app.__init__()  # type: ignore[misc]  # Its attributes are there before.
            self._app = app
            await self._caller.run(app.on_start)
        except BaseException as error:
            if self._is_over:  # It was ended or abandoned meanwhile.
                return
            self._is_over = True
            self._close_all()
            self._report(self, StartFailed(error_of(error)))
        else:
            self._report(self, Started(self._registrations(), self.bus.patterns))

    def _registrations(self) -> Registrations:
        """What is there by now. What is registered later goes to the recorder."""
        listeners = {listener.rules.name: _new_listener(listener.rules) for listener in self.bus.listeners}
        timers = {timer.rules.name: timer for timer in self.scheduler.timers}
        return Registrations(
            tuple(listeners.values()), tuple(_new_timer(one, self._next_run(name)) for name, one in timers.items())
        )

    async def _end(self, patience: float, is_process_ending: bool) -> None:
        if self._starting is not None:
            self._starting.cancel()
        self._close_all()
        await self._caller.end(self.app_key, patience)
        if not is_process_ending:
            await self._caller.all_ended(self.app_key)
        if self._app is not None:
            stopping = asyncio.get_running_loop().create_task(self._caller.run(self._app.on_stop))
            # It may ignore that it is cancelled, so it is left behind then.
            await asyncio.wait({stopping}, timeout=STOP_LIMIT_S)
            self._tell_of_stop(stopping)
        self._report(self, Ended())

    def _tell_of_stop(self, stopping: asyncio.Task[None]) -> None:
        if not stopping.done():
            stopping.cancel()
            why = f"it takes longer than {STOP_LIMIT_S:g} s"
        elif stopping.cancelled():
            why = "it was cancelled"
        elif (error := stopping.exception()) is not None:
            about = error_of(error)
            why = f"{about.error_type}: {about.error_message}"
        else:
            return
        log.warning("app %s: on_stop: %s", self.app_key, why, extra={"event": "app_stop_failed"})

    def _make_listener(self, rules: ListenerRules, bus: Bus) -> ActiveListener:
        return ActiveListener(rules, self._caller, self, bus._remove)

    def _listener_added(self, listener: ActiveListener) -> None:
        new = _new_listener(listener.rules)

        def add(buffer: AppBuffer) -> None:
            buffer.listeners[new.name] = new
            buffer.retired_listeners.discard(new.name)

        self._change(add)

    def _listener_removed(self, listener: ActiveListener) -> None:
        self._change(lambda buffer: buffer.retired_listeners.add(listener.rules.name))

    def _listeners_changed(self) -> None:
        self._report(self, ListenersChanged())

    def _make_timer(self, rules: TimerRules, scheduler: Scheduler) -> ActiveTimer:
        return ActiveTimer(rules, self._caller, self, scheduler.finish)

    def _timer_added(self, timer: ActiveTimer) -> None:
        new = _new_timer(timer, timer.next_run_at)

        def add(buffer: AppBuffer) -> None:
            buffer.timers[new.job_name] = new
            buffer.next_runs.add(new.job_name)
            buffer.retired_timers.discard(new.job_name)

        self._change(add)

    def _timer_ready(self, timer: ActiveTimer) -> None:
        self._caller.call(lambda: self._start_timer(timer))

    def _start_timer(self, timer: ActiveTimer) -> None:
        """A timer that is made while the app ends never fires."""
        if self._is_over:
            timer.close()
        elif self._is_begun:
            timer.start()

    def _timer_removed(self, timer: ActiveTimer) -> None:
        self._caller.call(timer.close)
        self.note_next_run(timer.rules)

    def _retire_timer(self, timer: ActiveTimer) -> None:
        """Its row is in use while others share it."""
        if not self.scheduler.of_name(timer.rules.name):
            self._change(lambda buffer: buffer.retired_timers.add(timer.rules.name))

    def _change(self, change: Callable[[AppBuffer], None]) -> None:
        self._recorder.change(self._buffer, change)

    def _record_of(self, name: str, call: HandlerCall, result: CallResult) -> dict[str, Any]:
        error = result.error
        if error is not None:
            about = {"event": "handler_failed", "app": self.app_key, "handler": call.handler}
            why = f"{error.error_type}: {error.error_message}"
            log.warning("app %s: %s: %s", self.app_key, name, why, extra=about)
        return {
            "counter": call.invocation & ((1 << COUNTER_BITS) - 1),
            "started_at": result.started_at,
            "duration_ms": result.duration_ms,
            "status": result.status,
            "fingerprint": fingerprint(result.status, error),
            **({} if error is None else structs.asdict(error)),
        }

    def _close_all(self) -> None:
        for listener in self.bus.listeners:
            listener.close()
        for timer in self.scheduler.timers:
            timer.close()


def _new_listener(rules: ListenerRules) -> NewListener:
    return NewListener(
        name=rules.name,
        handler_method=rules.handler_method,
        topic=rules.topic,
        **structs.asdict(rules.controls),
        priority=rules.priority,
        timeout_ms=rules.timeout_ms,
        predicate_description=None if rules.predicate_description is None else storable(rules.predicate_description),
        source_location=rules.source.location,
        registration_source=rules.source.snippet,
    )


def _new_timer(timer: ActiveTimer, next_run_at: Millis | None) -> NewTimer:
    rules = timer.rules
    return NewTimer(
        job_name=rules.name,
        handler_method=rules.handler_method,
        trigger_type=rules.trigger.trigger_type,
        trigger_value=rules.trigger.trigger_value,
        repeat=rules.trigger.repeat,
        args_json=_json(rules.args, "[]"),
        kwargs_json=_json(rules.kwargs, "{}"),
        timeout_ms=rules.timeout_ms,
        next_run_at=next_run_at,
        source_location=rules.source.location,
        registration_source=rules.source.snippet,
    )


def _json(values: object, otherwise: str) -> str:
    """Arguments as JSON, for people to see. What JSON has no word for is shown as Python does."""
    try:
        text = storable(msgspec.json.encode(values, enc_hook=repr).decode())
    except Exception:
        return otherwise
    return text if len(text) <= LONGEST_ARGUMENTS else msgspec.json.encode(f"{text[:LONGEST_ARGUMENTS]}…").decode()
