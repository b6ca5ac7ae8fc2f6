"""An app that this process has: its object, its handlers, and its life from `on_start` to `on_stop`.

It lives on the event loop of the apps, so that user code never runs where we talk to the store. What has become of it
is told to the host by `report`.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable
from itertools import count
from typing import TypeAlias

from msgspec import Struct

from holdfast.apps.app import App, AppLog
from holdfast.apps.bus import Bus
from holdfast.apps.calling import Caller, CallResult, error_of
from holdfast.apps.listener import Listener, ListenerRules
from holdfast.core.apps.call import HandlerCall
from holdfast.core.messages.apps import AppError
from holdfast.core.values.event import Event

STOP_LIMIT_S = 10.0

log = logging.getLogger("holdfast.app")


class Started(Struct, frozen=True):
    """`on_start` has ended."""


class StartFailed(Struct, frozen=True):
    """`on_start` has raised."""

    error: AppError


class HandlersChanged(Struct, frozen=True):
    """The app has other handlers than before."""


class Ended(Struct, frozen=True):
    """The app has stopped in order: nothing of it runs any more."""


AppReport: TypeAlias = Started | StartFailed | HandlersChanged | Ended


class RunningApp:
    """One object of an app. Everything but `bus` is used on the event loop of the apps alone."""

    def __init__(
        self,
        app_key: str,
        kind: type[App],
        caller: Caller,
        call_ids: count[int],
        report: Callable[[RunningApp, AppReport], None],
    ) -> None:
        self.app_key = app_key
        self.bus = Bus(app_key, self._make_listener, lambda: report(self, HandlersChanged()))
        self._kind = kind
        self._caller = caller
        self._call_ids = call_ids
        self._report = report
        self._app: App | None = None
        self._starting: asyncio.Task[None] | None = None
        self._is_over = False

    def start(self) -> None:
        """Make the object, and begin its `on_start`."""
        self._starting = asyncio.get_running_loop().create_task(self._start())

    def hear(self, events: Iterable[Event]) -> None:
        """Give events to the listeners that they are for."""
        for event in events:
            if self._is_over:
                return
            for listener in self.bus.for_event(event.name):
                listener.hear(event)

    def end(self, patience: float) -> None:
        """Begin no call any more, let those that run end, and call `on_stop`. Its end is reported."""
        self._is_over = True
        self._ending = asyncio.get_running_loop().create_task(self._end(patience))

    def abandon(self) -> None:
        """Cancel everything: the app belongs to another process, or to nobody."""
        self._is_over = True
        if self._starting is not None:
            self._starting.cancel()
        self._close_listeners()
        self._caller.cancel_all(self.app_key)

    def new_call(self, handler: str) -> HandlerCall:
        """A call that begins, with an id of its own."""
        return HandlerCall(self.app_key, handler, next(self._call_ids))

    def add_invocation(self, rules: ListenerRules, call: HandlerCall, event: Event, result: CallResult) -> None:
        """A call has a result."""
        if result.error is not None:
            about = {"event": "handler_failed", "app": self.app_key, "handler": call.handler}
            said = f"{result.error.error_type}: {result.error.error_message}"
            log.warning("app %s: %s: %s", self.app_key, rules.name, said, extra=about)

    def add_dropped(self, rules: ListenerRules, count: int) -> None:
        """So many events are lost, since too many wait."""

    async def _start(self) -> None:
        try:
            app = self._kind.__new__(self._kind)
            app.key, app.bus, app.log = self.app_key, self.bus, AppLog(self.app_key)
            app.__init__()  # type: ignore[misc]  # Its attributes are there before.
            self._app = app
            started = app.on_start()
            if inspect.isawaitable(started):
                await started
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._is_over = True
            self._close_listeners()
            self._report(self, StartFailed(error_of(error)))
        else:
            self._report(self, Started())

    async def _end(self, patience: float) -> None:
        if self._starting is not None:
            self._starting.cancel()
        self._close_listeners()
        await self._caller.end(self.app_key, patience)
        if self._app is not None:
            try:
                async with asyncio.timeout(STOP_LIMIT_S):
                    stopped = self._app.on_stop()
                    if inspect.isawaitable(stopped):
                        await stopped
            except Exception as error:
                log.warning("app %s: on_stop: %r", self.app_key, error, extra={"event": "app_stop_failed"})
        self._report(self, Ended())

    def _make_listener(self, rules: ListenerRules, bus: Bus) -> Listener:
        return Listener(rules, self._caller, self, bus._remove)

    def _close_listeners(self) -> None:
        for listener in self.bus.listeners:
            listener.close()
