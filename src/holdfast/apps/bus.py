"""`self.bus` of an app: which handlers it has for which events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from holdfast.apps.arguments import EventArguments, name_of
from holdfast.apps.listener import ActiveListener, ListenerRules
from holdfast.apps.sources import source_of_caller
from holdfast.core.apps import listening, predicates
from holdfast.core.apps.predicates import Where
from holdfast.core.errors import InvalidInput
from holdfast.core.rules.units import Duration
from holdfast.core.rules.value_rules import LABEL, PATTERN, PRIORITY, SPAN
from holdfast.core.values.event import matches

TIMEOUT_S = 600.0
MOST_LISTENERS = 1_000


class ListenerHandle:
    """A handler that was registered."""

    def __init__(self, listener: ActiveListener, bus: Bus) -> None:
        self._listener = listener
        self._bus = bus

    @property
    def name(self) -> str:
        """The name of the listener."""
        return self._listener.rules.name

    def cancel(self) -> None:
        """Hear no more events. A call that runs goes on to its end."""
        self._bus._remove(self._listener)

    def __repr__(self) -> str:
        return f"<ListenerHandle {self.name}>"


class Bus:
    """The handlers of an app. They may be registered in any thread."""

    def __init__(
        self,
        app_key: str,
        make: Callable[[ListenerRules, Bus], ActiveListener],
        on_add: Callable[[ActiveListener], None],
        on_remove: Callable[[ActiveListener], None],
        on_change: Callable[[], None],
    ) -> None:
        self._app_key = app_key
        self._make = make
        self._on_add = on_add
        self._on_remove = on_remove
        self._on_change = on_change
        self._lock = threading.Lock()
        # In the order of their calls. It is replaced, not changed, so that it may be read while one is added.
        self._listeners: tuple[ActiveListener, ...] = ()

    def on(
        self,
        topic: str,
        handler: Callable[..., Any],
        *,
        name: str | None = None,
        where: Where | None = None,
        debounce: Duration | None = None,
        throttle: Duration | None = None,
        per: str = "name",
        once: bool = False,
        priority: int = 0,
        mode: str = "queued",
        timeout: Duration = TIMEOUT_S,
    ) -> ListenerHandle:
        """Call a handler for each event of a name, or of all that begin so: `self.bus.on("light.*", self.on_light)`.

        The handler gets the `event`, and by name what else its parameters ask for of attributes and of the top fields
        of `data`. `where` says which events are meant: `P.attr("new") == "on"`, or any function of an event. With
        `debounce`, the handler is called once the events have been quiet for so long, with the last one; with
        `throttle`, for the first one and then not again for so long; with `once`, a single time. Both hold for each
        name of events apart, or with `per="listener"` for all together. The calls of one event begin with the highest
        `priority`. `mode` says what happens while the handler still runs: the event waits (`queued`), is called too
        (`parallel`, 10 at once), is left out (`single`), or cancels the call (`restart`). A call may take `timeout`.
        """
        topic = PATTERN.check("topic", topic)
        arguments = EventArguments(handler)
        method = name_of(handler)
        rules = ListenerRules(
            name=LABEL.check("name", f"{method}@{topic}" if name is None else name),
            topic=topic,
            handler=handler,
            handler_method=method,
            arguments=arguments,
            where=where,
            predicate_description=None if where is None else predicates.describe(where),
            source=source_of_caller(),
            controls=listening.check_controls(debounce=debounce, throttle=throttle, once=once, per=per, mode=mode),
            priority=PRIORITY.check("priority", priority),
            timeout_ms=SPAN.millis("timeout", timeout),
        )
        with self._lock:
            if self.has(rules.name):
                raise InvalidInput(
                    f"app {self._app_key!r} has a listener {rules.name!r} already; give this one another name="
                )
            if len(self._listeners) >= MOST_LISTENERS:
                raise InvalidInput(f"app {self._app_key!r} has {MOST_LISTENERS} listeners already; let one serve more")
            listener = self._make(rules, self)
            # It is on record first, as it may hear an event at once.
            self._on_add(listener)
            self._listeners = tuple(sorted((*self._listeners, listener), key=lambda one: -one.rules.priority))
        self._on_change()
        return ListenerHandle(listener, self)

    @property
    def listeners(self) -> Iterable[ActiveListener]:
        """Those that hear events now."""
        return self._listeners

    @property
    def patterns(self) -> list[str]:
        """The events that they listen to."""
        return sorted({listener.rules.topic for listener in self._listeners})

    def has(self, name: str) -> bool:
        """Whether there is a listener of this name."""
        return any(listener.rules.name == name for listener in self._listeners)

    def for_event(self, name: str) -> list[ActiveListener]:
        """Those that an event of this name is for, in the order of their calls."""
        return [listener for listener in self._listeners if matches(listener.rules.topic, name)]

    def _remove(self, listener: ActiveListener) -> None:
        listener.is_cancelled = True
        with self._lock:
            if listener not in self._listeners:
                return
            self._listeners = tuple(other for other in self._listeners if other is not listener)
            self._on_remove(listener)
        self._on_change()
