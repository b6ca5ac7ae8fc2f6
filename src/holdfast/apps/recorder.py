"""Writes down, in batches, what the apps of this process have registered and how each call has ended.

Handlers and timers add to it from any thread, and never wait. Every tenth of a second, what is there goes to the store
as one batch. A batch that could not be sent is sent again as it was, so nothing is written twice. If the store does not
answer for long, or takes less than comes, the calls beyond a limit are only counted.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import TypeVar

from holdfast.core.apps.call import COUNTER_BITS, CallStatus
from holdfast.core.errors import HoldfastError, InvalidInput, NotHolder
from holdfast.core.job import Millis, SessionId
from holdfast.core.jobs.fingerprint import fingerprint_of
from holdfast.core.messages.telemetry import (
    AppRecord,
    NewExecution,
    NewInvocation,
    NewListener,
    NewTimer,
    RaisedError,
    Registrations,
)
from holdfast.core.values.retry import FailureKind
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Engine
from holdfast.store.scripts.apps.records import record_calls

T = TypeVar("T")
EVERY_S = 0.1
MOST_KEPT = 50_000
MOST_IN_A_BATCH = 2_000
# Of tracebacks in a batch. Everything else is short.
MOST_CHARACTERS = 500_000
LONGEST_FLUSH_S = 10.0

log = logging.getLogger("holdfast.app")


class AppBuffer:
    """What is to be written down of one app.

    `is_open`: its registrations are stored, so its calls can be. `is_given_up`: nothing more of it is ever written.
    """

    def __init__(self, next_run: Callable[[str], Millis | None]) -> None:
        self.is_open = False
        self.is_given_up = False
        self._next_run = next_run
        self.listeners: dict[str, NewListener] = {}
        self.timers: dict[str, NewTimer] = {}
        self.retired_listeners: set[str] = set()
        self.retired_timers: set[str] = set()
        self.events_dropped: dict[str, int] = {}
        # Timers that are due at another moment than before. When, is asked when it is written.
        self.next_runs: set[str] = set()
        self.calls: deque[NewInvocation | NewExecution] = deque()

    @property
    def has_news(self) -> bool:
        """Whether there is something to write."""
        return self.is_open and any(
            (
                self.listeners,
                self.timers,
                self.retired_listeners,
                self.retired_timers,
                self.events_dropped,
                self.next_runs,
                self.calls,
            )
        )

    def take(self, app_key: str, room: int, characters: int) -> tuple[AppRecord, int, int]:
        """A record of what is there, and the room that is left in the batch."""
        listeners, timers = _some(self.listeners, room), _some(self.timers, room - len(self.listeners))
        room -= len(listeners) + len(timers)
        invocations, executions = [], []
        while self.calls and room > 0 and characters > 0 and not self.listeners and not self.timers:
            call = self.calls.popleft()
            room, characters = room - 1, characters - len(call.error_traceback or "")
            if isinstance(call, NewInvocation):
                invocations.append(call)
            else:
                executions.append(call)
        # A timer or a listener that is gone may still have calls that wait.
        is_all = not (self.calls or self.listeners or self.timers)
        record = AppRecord(
            app_key=app_key,
            registered=Registrations(listeners, timers),
            retired_listeners=tuple(sorted(self.retired_listeners)) if is_all else (),
            retired_timers=tuple(sorted(self.retired_timers)) if is_all else (),
            events_dropped=self.events_dropped,
            next_runs={name: self._next_run(name) for name in self.next_runs} if is_all else {},
            invocations=tuple(invocations),
            executions=tuple(executions),
        )
        self.events_dropped = {}
        if is_all:
            self.retired_listeners, self.retired_timers, self.next_runs = set(), set(), set()
        return record, room, characters


def _some(registered: dict[str, T], most: int) -> tuple[T, ...]:
    """Take the first of them out."""
    names = list(islice(registered, max(0, most)))
    return tuple(registered.pop(name) for name in names)


class Recorder(Loop):
    """Lives on the loop of the session. `on_lost` is called with the key of an app that is not ours any more."""

    def __init__(
        self, engine: Engine, clock: Clock, session_id: SessionId, secret: str, on_lost: Callable[[str], None]
    ) -> None:
        super().__init__(clock)
        self.rows_dropped = 0
        self._engine = engine
        self._session_id = session_id
        self._secret = secret
        self._on_lost = on_lost
        self._home = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._buffers: dict[str, AppBuffer] = {}
        self._kept = 0
        self._told_dropped = 0
        self._batch = 0
        self._unsent: list[AppRecord] | None = None
        self._is_woken = False
        self._writing = asyncio.Lock()

    def begin(self, app_key: str, next_run: Callable[[str], Millis | None]) -> AppBuffer:
        """Make room for what an app will tell. What an earlier object of it has told is given up."""
        with self._lock:
            old = self._buffers.get(app_key)
            if old is not None:
                self._give_up(old)
            buffer = self._buffers[app_key] = AppBuffer(next_run)
            return buffer

    def open(self, app_key: str) -> None:
        """The registrations of the app are stored: from here on its calls can be written."""
        with self._lock:
            self._buffers[app_key].is_open = True
        self._wake_in_a_while()

    def forget(self, app_key: str) -> None:
        """The app is not ours any more, so nothing more can be written of it."""
        with self._lock:
            buffer = self._buffers.pop(app_key, None)
            if buffer is not None:
                self._give_up(buffer)

    def add_call(self, buffer: AppBuffer, call: NewInvocation | NewExecution) -> None:
        """A call has ended. Called from any thread."""
        with self._lock:
            if buffer.is_given_up or self._kept >= MOST_KEPT or call.counter >> COUNTER_BITS:
                self.rows_dropped += 1
                return
            self._kept += 1
            buffer.calls.append(call)
        self._wake_in_a_while()

    def change(self, buffer: AppBuffer, change: Callable[[AppBuffer], None]) -> None:
        """Something else is to be written down of an app. Called from any thread."""
        with self._lock:
            change(buffer)
        self._wake_in_a_while()

    async def tick(self) -> float | None:
        self._is_woken = False
        await self._write()
        return None

    async def flush(self) -> None:
        """Write all that is there. Raise what keeps that from being done."""
        while self._unsent is not None or any(buffer.has_news for buffer in self._buffers.values()):
            await self._write()

    async def stop(self) -> None:
        """Write what is left, if that can be done in time."""
        await super().stop()
        try:
            async with asyncio.timeout(LONGEST_FLUSH_S):
                await self.flush()
        except (HoldfastError, TimeoutError) as error:
            log.warning("the last calls of handlers could not be recorded: %s", error, extra={"event": "calls_lost"})

    async def _write(self) -> None:
        async with self._writing:
            if self._unsent is None:
                self._unsent = self._next_batch()
                self._batch += 1
            records, dropped = self._unsent, self.rows_dropped
            if records or dropped != self._told_dropped:
                try:
                    lost = await self._engine.write(
                        record_calls, self._session_id, self._batch, records, dropped, self.clock.now(), self._secret
                    )
                except NotHolder:
                    # Others have settled the session. Nothing of it can be written any more.
                    self._unsent = None
                    for app_key in list(self._buffers):
                        self.forget(app_key)
                    raise
                except HoldfastError as error:
                    if error.is_worth_repeating and not isinstance(error, InvalidInput):
                        raise
                    # It would be refused again, and nothing behind it would ever be written.
                    self._drop(records)
                    log.error("calls of handlers cannot be recorded: %s", error, extra={"event": "calls_refused"})
                else:
                    self._told_dropped = dropped
                    self._drop([record for record in records if record.app_key in lost])
                    for app_key in lost:
                        self._on_lost(app_key)
            self._unsent = None
        if any(buffer.has_news for buffer in self._buffers.values()):
            self._wake_in_a_while()

    def _next_batch(self) -> list[AppRecord]:
        records: list[AppRecord] = []
        room, characters = MOST_IN_A_BATCH, MOST_CHARACTERS
        with self._lock:
            for app_key, buffer in self._buffers.items():
                if buffer.has_news and room > 0:
                    record, room, characters = buffer.take(app_key, room, characters)
                    records.append(record)
            self._kept -= _calls_in(records)
        return records

    def _drop(self, records: list[AppRecord]) -> None:
        """Count the calls in records that the store did not take."""
        with self._lock:
            self.rows_dropped += _calls_in(records)

    def _give_up(self, buffer: AppBuffer) -> None:
        buffer.is_given_up = True
        self.rows_dropped += len(buffer.calls)
        self._kept -= len(buffer.calls)
        buffer.calls.clear()

    def _wake_in_a_while(self) -> None:
        """What comes until then is written together."""
        if self._is_woken:
            return
        self._is_woken = True
        with suppress(RuntimeError):  # The loop of the session has come to its end.
            self._home.call_soon_threadsafe(self._home.call_later, EVERY_S, self.wake)


def _calls_in(records: list[AppRecord]) -> int:
    return sum(len(record.invocations) + len(record.executions) for record in records)


def fingerprint(status: CallStatus, error: RaisedError | None) -> str | None:
    """The short name of such failures, as that of jobs."""
    if error is None or status not in (CallStatus.ERROR, CallStatus.TIMED_OUT):
        return None
    return fingerprint_of(FailureKind.TRANSIENT, error.error_type, error.error_message)
