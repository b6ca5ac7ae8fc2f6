"""Calls handlers: coroutines on the event loop of the apps, plain functions in threads, each with a time-out.

A call has one result. It is known at the latest when its time is over, also if the code goes on: a function cannot be
interrupted. Only then has the call ended.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import Struct

from holdfast.apps.alarms import Alarms, TimedCall
from holdfast.apps.arguments import unwrapped
from holdfast.core.apps.call import CallStatus, HandlerCall
from holdfast.core.job import Millis
from holdfast.core.messages.telemetry import RaisedError
from holdfast.core.rules import units
from holdfast.runtime.clock import Clock
from holdfast.runtime.current import calling
from holdfast.tasks.raising import storable
from holdfast.workers.process.threads import Threads
from holdfast.workers.user_loop import UserLoop, end_without_loop

# What a call may take to clean up once it was asked to stop.
CLEAN_UP_S = 1.0
LONGEST_TYPE = 200
# So many plain functions run at once. Others wait.
MOST_THREADS = 100
NO_THREAD_MS = 1_000
LONGEST_MESSAGE = 2_000
LONGEST_TRACEBACK = 16 << 10

log = logging.getLogger("holdfast.app")


class CallResult(Struct, frozen=True):
    """How a call ended, when it began, and how long it took by the monotonic clock."""

    status: CallStatus
    started_at: Millis
    duration_ms: float
    error: RaisedError | None = None


class RunningCall:
    """A call that has begun. `on_result` is called once with its result, `on_end` once when its code has ended."""

    def __init__(
        self,
        call: HandlerCall,
        clock: Clock,
        timeout_ms: Millis | None,
        on_result: Callable[[CallResult], None],
        on_end: Callable[[], None],
    ) -> None:
        self.call = call
        self.task: asyncio.Task[None] | None = None
        self.timeout_ms = timeout_ms
        self.alarm: TimedCall | None = None
        self._clock = clock
        self._started_at = clock.now()
        self._began = clock.monotonic()
        self._on_result = on_result
        self._on_end = on_end
        self._has_result = False

    def settle(self, status: CallStatus, error: RaisedError | None = None, ended: float | None = None) -> None:
        """Tell the result, if that was not done. Called on the event loop. It ended now, or at a moment before."""
        if self._has_result:
            return
        self._has_result = True
        end = self._clock.monotonic() if ended is None else ended
        took = max(0.0, round((end - self._began) * 1000, 3))
        if status is CallStatus.SUCCESS and self.timeout_ms is not None and took > self.timeout_ms:
            # What blocks the event loop is not told of its time-out before it ends.
            status, error = CallStatus.TIMED_OUT, too_long(self.timeout_ms)
        if self.alarm is not None:
            self.alarm.cancel()
        self._on_result(CallResult(status, self._started_at, took, error))

    def end(self) -> None:
        """Its code has ended. Called on the event loop."""
        self.settle(CallStatus.CANCELLED)
        self._on_end()

    def cancel(self) -> None:
        """Ask it to stop. A function goes on to its end."""
        if self.task is not None:
            self.task.cancel()


class HandlerCaller:
    """Begins calls, and knows those that have not ended. Lives on the event loop of the apps."""

    def __init__(self, user: UserLoop, clock: Clock) -> None:
        self.alarms = Alarms(user.loop, clock)
        self.clock = clock
        self._user = user
        self._threads = Threads()
        self._running: set[RunningCall] = set()
        self._ended = asyncio.Event()
        self._is_hurried = False
        # Functions that wait for a thread, and how many have one.
        self._waiting: deque[Callable[[], None]] = deque()
        self._in_threads = 0

    def begin(
        self,
        function: Callable[..., Any],
        arguments: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]],
        call: HandlerCall,
        timeout_ms: Millis | None,
        on_result: Callable[[CallResult], None],
        on_end: Callable[[], None],
    ) -> RunningCall:
        """Call a function or a coroutine function. What `arguments` raises is an error of the call."""

        def ended() -> None:
            self._running.discard(run)
            self._ended.set()
            on_end()

        run = RunningCall(call, self.clock, timeout_ms, on_result, ended)
        self._running.add(run)
        if timeout_ms is not None:
            run.alarm = self.alarms.set(self.alarms.now() + timeout_ms, lambda: self._time_out(run))
        if is_coroutine_function(function):
            run.task = self._user.loop.create_task(_run_coroutine(run, function, arguments))
            run.task.add_done_callback(lambda _: run.end())
        else:
            self._waiting.append(lambda: self._run_function(run, function, arguments))
            self._begin_functions()
        return run

    async def run(self, function: Callable[[], Any]) -> None:
        """Call a function of a user that is no handler, as handlers are called."""
        if is_coroutine_function(function):
            await function()
            return
        ended: asyncio.Future[None] = self._user.loop.create_future()

        def settle(error: BaseException | None) -> None:
            if ended.done():
                return
            if error is None:
                ended.set_result(None)
            else:
                ended.set_exception(RuntimeError(str(error)) if isinstance(error, StopIteration) else error)

        def call() -> None:
            error: BaseException | None = None
            try:
                _refuse_awaitable(function())
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # The event loop has come to its end.
                self._user.call(settle, error)

        self._threads.run(call)
        await ended

    def _begin_functions(self) -> None:
        """Begin those that wait for a thread, as far as there may be more threads."""
        while self._waiting and self._in_threads < MOST_THREADS:
            function = self._waiting.popleft()
            self._in_threads += 1
            try:
                self._threads.run(function)
            except RuntimeError as error:  # There can be no more threads on this machine now.
                self._in_threads -= 1
                self._waiting.appendleft(function)
                log.warning("a handler waits for a thread: %s", error, extra={"event": "no_thread"})
                self.alarms.set(self.alarms.now() + NO_THREAD_MS, self._begin_functions)
                return

    def call(self, function: Callable[[], None]) -> None:
        """Call a function on the event loop. Called from any thread."""
        with suppress(RuntimeError):  # It has come to its end.
            self._user.call(function)

    async def end(self, app_key: str, patience: float) -> None:
        """Let the calls of an app end, then ask them to stop. What goes on all the same is `cancelled`."""
        for limit in (patience, CLEAN_UP_S):
            if not await self._wait(app_key, limit):
                self.cancel_all(app_key)
        for run in self._of(app_key):
            run.settle(CallStatus.CANCELLED)

    async def all_ended(self, app_key: str) -> None:
        """Wait until no code of the app runs any more, however long that takes."""
        while self._of(app_key):
            self._ended.clear()
            await self._ended.wait()

    def cancel_all(self, app_key: str) -> None:
        """Ask every call of an app to stop."""
        for run in self._of(app_key):
            run.cancel()

    def hurry(self) -> None:
        """Wait for no call any more."""
        self._is_hurried = True
        for run in list(self._running):
            run.cancel()
        self._ended.set()

    def end_left(self) -> None:
        """End coroutines that ignored their cancellation, when the loop has come to its end."""
        for run in list(self._running):
            run.settle(CallStatus.CANCELLED)
            if run.task is not None:
                end_without_loop(run.task)

    def close(self) -> None:
        """End the threads that do nothing."""
        self.alarms.close()
        self._threads.close()

    def _of(self, app_key: str) -> list[RunningCall]:
        return [run for run in self._running if run.call.app_key == app_key]

    async def _wait(self, app_key: str, seconds: float) -> bool:
        """Wait until no call of the app runs. False if that takes longer."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._of(app_key) and not self._is_hurried:
                    self._ended.clear()
                    await self._ended.wait()
        return not self._of(app_key)

    def _time_out(self, run: RunningCall) -> None:
        assert run.timeout_ms is not None
        run.settle(CallStatus.TIMED_OUT, too_long(run.timeout_ms))
        run.cancel()

    def _run_function(
        self,
        run: RunningCall,
        function: Callable[..., Any],
        arguments: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]],
    ) -> None:
        """In a thread."""
        status, error = CallStatus.SUCCESS, None
        try:
            with calling(run.call):
                args, kwargs = arguments()
                _refuse_awaitable(function(*args, **kwargs))
        except BaseException as raised:
            status, error = CallStatus.ERROR, error_of(raised)

        ended = self.clock.monotonic()

        def settle() -> None:
            self._in_threads -= 1
            run.settle(status, error, ended)
            run.end()
            self._begin_functions()

        with suppress(RuntimeError):  # The event loop has come to its end, which has settled it.
            self._user.call(settle)


async def _run_coroutine(
    run: RunningCall, function: Callable[..., Any], arguments: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]
) -> None:
    try:
        with calling(run.call):
            args, kwargs = arguments()
            await function(*args, **kwargs)
    except asyncio.CancelledError:
        run.settle(CallStatus.CANCELLED)
        raise
    except BaseException as raised:
        run.settle(CallStatus.ERROR, error_of(raised))
    else:
        run.settle(CallStatus.SUCCESS)


def too_long(timeout_ms: Millis) -> RaisedError:
    """Why a call has timed out."""
    return RaisedError("TimeoutError", f"it took longer than {units.duration_words(timeout_ms)}", None)


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether a call of it is to be awaited."""
    inner = unwrapped(function)
    return inspect.iscoroutinefunction(inner) or inspect.iscoroutinefunction(type(inner).__call__)


def error_of(error: BaseException) -> RaisedError:
    """What is told of an exception: its type, its message, and the end of its traceback, which says most."""
    import traceback

    # All of it is code of users, which may raise anything.
    try:
        message = storable(str(error))[:LONGEST_MESSAGE]
    except BaseException:
        message = "its message cannot be read"
    try:
        trace = (
            storable("".join(traceback.format_exception(error))).encode()[-LONGEST_TRACEBACK:].decode(errors="ignore")
        )
    except BaseException:
        trace = "its traceback cannot be read"
    return RaisedError(storable(type(error).__qualname__)[:LONGEST_TYPE], message, trace)


def _refuse_awaitable(result: object) -> None:
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError("a plain function returned something to await; make it an `async def`")
