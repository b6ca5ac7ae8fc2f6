"""A listener of an app in this process: it hears events, and calls its handler as `core.apps.listening` decides.

All of it lives on the event loop of the apps. Only `is_cancelled` is read and set elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Protocol

from msgspec import Struct

from holdfast.apps.alarms import TimedCall
from holdfast.apps.arguments import EventArguments
from holdfast.apps.calling import CallResult, HandlerCaller, RunningCall, error_of
from holdfast.apps.sources import Source
from holdfast.core.apps import listening
from holdfast.core.apps.call import CallStatus, HandlerCall
from holdfast.core.apps.listening import CancelCall, Controls, DropEvents, Finish, Heard, Listening, StartCall, Verdicts
from holdfast.core.apps.predicates import Where
from holdfast.core.job import Millis
from holdfast.core.values.event import Event


class ListenerRules(Struct, frozen=True):
    """What was said when a handler was registered."""

    name: str
    topic: str
    handler: Callable[..., Any]
    handler_method: str
    arguments: EventArguments
    where: Where | None
    predicate_description: str | None
    source: Source
    controls: Controls
    priority: int
    timeout_ms: Millis


class HeardEvent(Heard, frozen=True, gc=True):
    """An event that waits for its call, with all that the handler may ask for."""

    event: Event


class ListenerRecord(Protocol):
    """Where the calls of listeners are written down."""

    def new_call(self, handler: str) -> HandlerCall:
        """A call that begins, with an id of its own."""

    def add_invocation(self, rules: ListenerRules, call: HandlerCall, event: Event, result: CallResult) -> None:
        """A call has a result."""

    def add_dropped(self, rules: ListenerRules, count: int) -> None:
        """So many events are lost, since too many wait."""


class ActiveListener:
    """What a listener has begun. `on_finish` is called when it wants no more events."""

    def __init__(
        self,
        rules: ListenerRules,
        caller: HandlerCaller,
        record: ListenerRecord,
        on_finish: Callable[[ActiveListener], None],
    ) -> None:
        self.rules = rules
        self.is_cancelled = False
        self._caller = caller
        self._record = record
        self._on_finish = on_finish
        self._state = Listening()
        self._calls: dict[int, RunningCall] = {}
        self._alarm: TimedCall | None = None
        self._alarm_at: Millis | None = None

    def hear(self, event: Event) -> None:
        """An event came that the topic means."""
        if self.is_cancelled or not self._is_wanted(event):
            return
        heard = HeardEvent(event.number, event.name, event)
        self._follow(*listening.hear(self._state, self.rules.controls, heard, self._caller.alarms.now()))

    def close(self) -> None:
        """Begin no call any more. What runs may end."""
        self.is_cancelled = True
        self._state = Listening(calls=self._state.calls, running=self._state.running)
        self._arm()

    def _is_wanted(self, event: Event) -> bool:
        where = self.rules.where
        if where is None:
            return True
        try:
            return bool(where(event))
        except BaseException as raised:  # Whatever it is, other listeners hear the event.
            call = self._record.new_call(self.rules.handler_method)
            result = CallResult(CallStatus.ERROR, self._caller.clock.now(), 0.0, error_of(raised))
            self._record.add_invocation(self.rules, call, event, result)
            return False

    def _pass_time(self) -> None:
        self._alarm_at = None
        if self.is_cancelled:
            return
        self._follow(*listening.pass_time(self._state, self.rules.controls, self._caller.alarms.now()))

    def _end_call(self, number: int) -> None:
        del self._calls[number]
        if not self.is_cancelled:
            self._follow(*listening.end_call(self._state, self.rules.controls, number, self._caller.alarms.now()))

    def _follow(self, state: Listening, verdicts: Verdicts) -> None:
        self._state = state
        for verdict in verdicts:
            match verdict:
                case StartCall(call, heard):
                    assert isinstance(heard, HeardEvent)
                    self._start(call, heard.event)
                case CancelCall(call):
                    if call in self._calls:  # It may end at this moment.
                        self._calls[call].cancel()
                case DropEvents(count):
                    self._record.add_dropped(self.rules, count)
                case Finish():
                    self._on_finish(self)
        self._arm()

    def _start(self, number: int, event: Event) -> None:
        call = self._record.new_call(self.rules.handler_method)
        self._calls[number] = self._caller.begin(
            self.rules.handler,
            # A copy of its own, as a handler may change what it gets.
            lambda: ((), self.rules.arguments.of(deepcopy(event))),
            call,
            self.rules.timeout_ms,
            lambda result: self._record.add_invocation(self.rules, call, event, result),
            lambda: self._end_call(number),
        )

    def _arm(self) -> None:
        """Ring when a held event is due. One alarm is enough: a later moment is found out when it rings."""
        moment = listening.next_moment(self._state)
        if self._alarm is not None and moment is not None and self._alarm_at is not None and self._alarm_at <= moment:
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if moment is None else self._caller.alarms.set(moment, self._pass_time)
        self._alarm_at = moment
