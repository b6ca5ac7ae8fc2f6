"""`self.scheduler` of an app: which methods it calls at which moments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time
from typing import Any, TypedDict, Unpack

from holdfast.apps.arguments import check_given, name_of
from holdfast.apps.sources import source_of_caller
from holdfast.apps.timer import ActiveTimer, TimerRules
from holdfast.core.apps import timers
from holdfast.core.apps.timers import ByHand, KeptTimer, TimerTrigger
from holdfast.core.errors import InvalidInput
from holdfast.core.job import Millis
from holdfast.core.rules import limits
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import SPAN

TIMEOUT_S = 600.0
MOST_TIMERS = 10_000


class TimerOptions(TypedDict, total=False):
    """What every timer may be given beside its trigger and its handler. See `Scheduler`."""

    name: str | None
    args: Sequence[Any]
    kwargs: Mapping[str, Any] | None
    timeout: Duration
    if_exists: str


class TimerHandle:
    """A timer that was registered."""

    def __init__(self, timer: ActiveTimer, scheduler: Scheduler) -> None:
        self._timer = timer
        self._scheduler = scheduler

    @property
    def name(self) -> str:
        """The name of the timer."""
        return self._timer.rules.name

    @property
    def next_run_at(self) -> Millis | None:
        """When it is due, in milliseconds since 1970. None: never more, or only by hand."""
        return self._timer.next_run_at

    def cancel(self) -> None:
        """Fire no more. A call that runs goes on to its end."""
        self._scheduler._remove(self._timer)

    def __repr__(self) -> str:
        return f"<TimerHandle {self.name}>"


class Scheduler:
    """The timers of an app. They may be registered in any thread.

    Each method takes a `handler`, which is called with `args` and `kwargs` and may take `timeout` seconds. The `name`
    is by default that of the method. If the app has a timer of this name, `if_exists` says what becomes of the new one:
    `error`, `skip` for nothing, or `replace`. One-shots without a name may be many.
    """

    def __init__(
        self,
        make: Callable[[TimerRules, Scheduler], ActiveTimer],
        on_add: Callable[[ActiveTimer], None],
        on_ready: Callable[[ActiveTimer], None],
        on_finish: Callable[[ActiveTimer], None],
        on_remove: Callable[[ActiveTimer], None],
    ) -> None:
        self._make = make
        self._on_add = on_add
        self._on_ready = on_ready
        self._on_finish = on_finish
        self._on_remove = on_remove
        self._lock = threading.Lock()
        self._timers: tuple[ActiveTimer, ...] = ()

    def run_in(
        self,
        delay: Duration,
        handler: Callable[..., Any],
        **options: Unpack[TimerOptions],
    ) -> TimerHandle:
        """Call a method once, after a delay: `self.scheduler.run_in(300, self.lights_off)`."""
        return self._add(timers.after(delay), handler, options)

    def run_at(
        self,
        moment: datetime,
        handler: Callable[..., Any],
        **options: Unpack[TimerOptions],
    ) -> TimerHandle:
        """Call a method once, at a moment: a datetime with a time zone."""
        return self._add(timers.at(moment), handler, options)

    def run_every(
        self,
        period: Duration,
        handler: Callable[..., Any],
        *,
        start: Duration | datetime | None = None,
        **options: Unpack[TimerOptions],
    ) -> TimerHandle:
        """Call a method again and again: `self.scheduler.run_every("5min", self.look)`.

        `start` is when the first call is, as a delay or a datetime; by default after one period.
        """
        return self._add(timers.every(period, start), handler, options)

    def run_daily(
        self,
        time_of_day: time | str,
        handler: Callable[..., Any],
        *,
        tz: str = "UTC",
        **options: Unpack[TimerOptions],
    ) -> TimerHandle:
        """Call a method each day: `self.scheduler.run_daily("7:00", self.open_blinds, tz="Europe/Berlin")`."""
        return self._add(timers.daily(time_of_day, tz), handler, options)

    def run_cron(
        self,
        expression: str,
        handler: Callable[..., Any],
        *,
        tz: str = "UTC",
        **options: Unpack[TimerOptions],
    ) -> TimerHandle:
        """Call a method at the ticks of a cron expression: `self.scheduler.run_cron("0 7 * * *", self.open_blinds)`."""
        return self._add(timers.on_cron(expression, tz), handler, options)

    def register(
        self,
        handler: Callable[..., Any],
        **options: Unpack[TimerOptions],
    ) -> TimerHandle:
        """Call a method only by hand: `holdfast timers run ID`."""
        return self._add(ByHand(), handler, options)

    @property
    def timers(self) -> tuple[ActiveTimer, ...]:
        """Those that may fire."""
        return self._timers

    def of_name(self, name: str) -> list[ActiveTimer]:
        """Those that share a row."""
        return [timer for timer in self._timers if timer.rules.name == name]

    def _add(self, trigger: TimerTrigger, handler: Callable[..., Any], options: TimerOptions) -> TimerHandle:
        unknown = sorted(options.keys() - TimerOptions.__annotations__.keys())
        if unknown:
            known = ", ".join(TimerOptions.__annotations__)
            raise InvalidInput(f"a timer has no option {unknown[0]!r}; there are {known}")
        args, kwargs = options.get("args", ()), options.get("kwargs") or {}
        if isinstance(args, str) or not isinstance(args, Sequence):
            raise InvalidInput(f"args {limits.shown(args)} is not valid: give a list, such as [{limits.shown(args)}]")
        if not isinstance(kwargs, Mapping):
            raise InvalidInput(f"kwargs {limits.shown(kwargs)} is not valid: give a dict of arguments by name")
        given, named = tuple(args), dict(kwargs)
        check_given(handler, given, named)
        method = name_of(handler)
        if_exists = timers.if_exists_of(options.get("if_exists", "error"))
        only = timers.name_of(trigger, options.get("name"), method)
        rules = TimerRules(
            name=method if only is None else only,
            is_named=only is not None,
            trigger=trigger,
            handler=handler,
            handler_method=method,
            args=given,
            kwargs=named,
            timeout_ms=SPAN.millis("timeout", options.get("timeout", TIMEOUT_S)),
            source=source_of_caller(),
        )
        with self._lock:
            old = next((one for one in self._timers if rules.is_named and self._has_name(one, rules.name)), None)
            if old is not None and timers.on_taken_name(rules.name, if_exists) is KeptTimer.OLD:
                return TimerHandle(old, self)
            if len(self._timers) >= MOST_TIMERS:
                raise InvalidInput(f"this app has {MOST_TIMERS} timers already; cancel some, or let one serve more")
            timer = self._make(rules, self)
            # It is on record first, as it may fire at once.
            self._on_add(timer)
            self._timers = (*(one for one in self._timers if one is not old), timer)
            if old is not None:
                old.is_cancelled = True
        self._on_ready(timer)
        return TimerHandle(timer, self)

    def _has_name(self, timer: ActiveTimer, name: str) -> bool:
        return timer.rules.is_named and timer.rules.name == name

    def cancel_all(self, name: str) -> None:
        """Cancel those that share a row."""
        for timer in self.of_name(name):
            self._remove(timer)

    def _remove(self, timer: ActiveTimer) -> None:
        timer.is_cancelled = True
        if self.finish(timer):
            self._on_remove(timer)

    def finish(self, timer: ActiveTimer) -> bool:
        """It can fire no more, so another one may have its name. False: it was gone before."""
        with self._lock:
            if timer not in self._timers:
                return False
            self._timers = tuple(other for other in self._timers if other is not timer)
            self._on_finish(timer)
            return True
