"""`App`: a class with handlers of events, which Holdfast calls in one process at a time."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

from holdfast.apps.bus import Bus
from holdfast.apps.scheduler import Scheduler
from holdfast.runtime.current import current_call


class App:
    """A class with handlers of events and timers. Its `on_start` says which.

    >>> from queue import SimpleQueue
    >>> from holdfast import App, Event, Holdfast
    >>> hf = Holdfast("work.db")
    >>> seen = SimpleQueue()
    >>> @hf.app("kitchen")
    ... class Kitchen(App):
    ...     async def on_start(self) -> None:
    ...         self.bus.on("light.*", self.on_light)
    ...
    ...     async def on_light(self, event: Event, level: int = 0) -> None:
    ...         seen.put((event.name, level))
    >>> with hf:
    ...     _ = hf.emit("light.sink", level=80)
    ...     seen.get(timeout=10)
    ('light.sink', 80)

    `bus` is where handlers are registered, `scheduler` where timers are, `log` a logger that names the app and the
    call, and `key` the name that the app was given.
    """

    bus: Bus
    scheduler: Scheduler
    log: logging.LoggerAdapter[logging.Logger]
    key: str

    async def on_start(self) -> None:
        """Register handlers and timers. The app runs when this has ended, which may take 60 s."""

    async def on_stop(self) -> None:
        """Clean up: the app is stopped in order, and no handler runs any more. This may take 10 s."""


class AppLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines name the app, and the call of a handler that they come from."""

    def __init__(self, app_key: str) -> None:
        super().__init__(logging.getLogger(f"holdfast.app.{app_key}"), {"app": app_key})
        self._about = {"app": app_key}

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        call = current_call()
        about: dict[str, Any] = dict(self._about)
        if call is not None:
            about |= {"handler": call.handler, "invocation": str(call.invocation)}
        return msg, {**kwargs, "extra": {**(kwargs.get("extra") or {}), **about}}
