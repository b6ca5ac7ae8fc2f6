"""A timer of an app in this process: it calls its handler when `core.apps.timers` says that it is due.

It lives on the event loop of the apps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from holdfast.apps.alarms import TimedCall
from holdfast.apps.calling import CallResult, HandlerCaller, RunningCall
from holdfast.apps.sources import Source
from holdfast.core.apps import timers
from holdfast.core.apps.call import CallStatus, HandlerCall
from holdfast.core.apps.timers import Moments, TimerState, TimerTrigger
from holdfast.core.job import Millis

SAME_MS: Millis = 500


class TimerRules(Struct, frozen=True):
    """What was said when a timer was registered. `name` is its row; many one-shots without a name share that."""

    name: str
    is_named: bool
    trigger: TimerTrigger
    handler: Callable[..., Any]
    handler_method: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    timeout_ms: Millis
    source: Source


class TimerRecord(Protocol):
    """Where the calls of timers are written down."""

    def new_call(self, handler: str) -> HandlerCall:
        """A call that begins, with an id of its own."""

    def add_execution(self, rules: TimerRules, call: HandlerCall, fire_time: Millis | None, result: CallResult) -> None:
        """A call has a result."""

    def note_next_run(self, rules: TimerRules) -> None:
        """The timer is due at another moment than before, or never more."""


class ActiveTimer:
    """What a timer has begun. `on_finish` is called when it can fire no more."""

    def __init__(
        self, rules: TimerRules, caller: HandlerCaller, record: TimerRecord, on_finish: Callable[[ActiveTimer], object]
    ) -> None:
        self.rules = rules
        self.is_cancelled = False
        self._caller = caller
        self._record = record
        self._on_finish = on_finish
        self._state: TimerState = timers.begin(rules.trigger, self._now())
        self._told = self.next_run_at
        self._alarm: TimedCall | None = None
        self._running: RunningCall | None = None

    @property
    def next_run_at(self) -> Millis | None:
        """When it is due, by the wall clock. None: never more, or only by hand."""
        if self.is_cancelled:
            return None
        return timers.next_run_at(self._state, self.rules.trigger, self._now())

    def start(self) -> None:
        """Wait for its moments. Time may have passed since it was made."""
        self._look()

    def run_now(self) -> None:
        """Call the handler although it is not due. Its moments stay."""
        self._fire(None)

    def close(self) -> None:
        """Fire no more. What runs may end."""
        self.is_cancelled = True
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _now(self) -> Moments:
        return Moments(self._caller.clock.now(), self._caller.alarms.now())

    def _look(self) -> None:
        if self.is_cancelled:
            return
        self._state, fire_time = timers.due(self._state, self.rules.trigger, self._now())
        is_finished = timers.is_finished(self._state, self.rules.trigger)
        if is_finished:
            self._on_finish(self)  # Before the call, which may register another one of its name.
        if fire_time is not None:
            self._fire(fire_time)
        self._tell_next_run()
        if not is_finished:
            self._arm()

    def _tell_next_run(self) -> None:
        """Say when it is due, if that has changed by more than two clocks differ when they are read."""
        before, moment = self._told, self.next_run_at
        if before != moment and (before is None or moment is None or abs(moment - before) > SAME_MS):
            self._told = moment
            self._record.note_next_run(self.rules)

    def _arm(self) -> None:
        if self.is_cancelled:
            return
        now = self._now()
        wait = timers.wait_ms(self._state, self.rules.trigger, now)
        if wait is not None:
            self._alarm = self._caller.alarms.set(now.monotonic + wait, self._look)

    def _fire(self, fire_time: Millis | None) -> None:
        rules = self.rules
        call = self._record.new_call(rules.handler_method)
        if self._running is not None:
            skipped = CallResult(CallStatus.SKIPPED, self._caller.clock.now(), 0.0)
            self._record.add_execution(rules, call, fire_time, skipped)
            return
        self._running = self._caller.begin(
            rules.handler,
            lambda: (rules.args, dict(rules.kwargs)),
            call,
            rules.timeout_ms,
            lambda result: self._record.add_execution(rules, call, fire_time, result),
            self._end_call,
        )

    def _end_call(self) -> None:
        self._running = None
