"""What the code of a run prints or logs goes into the log of that run.

The run is found by the context of the code: of a coroutine, of a function in its thread, of `asyncio.to_thread`. A
thread that a run starts, or work that it gives to a pool of threads, is marked with the run. A run that prints nothing
pays nothing for it. While no runner works here, everything is as it was before.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import thread as pools
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, ClassVar, TypeAlias

from holdfast.core.job import RunId
from holdfast.runtime.current import current_run
from holdfast.tasks.context import Context, line_of

Lookup: TypeAlias = Callable[[RunId], Context | None]

OURS = "holdfast"
MOST_KEPT = 32

_marked: ContextVar[RunId | None] = ContextVar("holdfast_marked", default=None)
_changing = threading.Lock()
_lookups: tuple[Lookup, ...] = ()
_is_shown = True


class _Passing(threading.local):
    """Whether this thread passes something on that is in the log already, or is not meant for it."""

    is_on = False


_passing = _Passing()


def listen(lookup: Lookup) -> Callable[[], None]:
    """Take what the runs that `lookup` knows print and log. Call the result to end that."""
    global _lookups
    with _changing:
        if not _lookups:
            for patch in _PATCHES:
                patch.apply()
        _lookups = (*_lookups, lookup)

    def leave() -> None:
        global _lookups
        with _changing:
            if lookup in _lookups:
                _lookups = tuple(other for other in _lookups if other is not lookup)
                if not _lookups:
                    for patch in _PATCHES:
                        patch.remove()

    return leave


def show_nothing() -> None:
    """Show what runs print nowhere else: this process belongs to a daemon, and has no reader."""
    global _is_shown
    _is_shown = False


def speaker() -> Context | None:
    """The run that the calling code belongs to, if it has not ended."""
    lookups = _lookups
    if not lookups or _passing.is_on:
        return None
    run = current_run()
    run_id = _marked.get() if run is None else run.run_id
    if run_id is None:
        return None
    return next((found for lookup in lookups if (found := lookup(run_id)) is not None), None)


@contextmanager
def _handing_on() -> Iterator[None]:
    before, _passing.is_on = _passing.is_on, True
    try:
        yield
    finally:
        _passing.is_on = before


class RunStream:
    """Replaces `sys.stdout` or `sys.stderr`. All but its writing is that of the old one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write to the log of the calling run, if there is one, and to the old stream."""
        context = speaker()
        if context is None or not isinstance(text, str):
            return int(self._stream.write(text) or 0)
        context._print(text)
        if _is_shown:
            with _handing_on():
                self._stream.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write them one after the other."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """The same for bytes."""
        inner = self._stream.buffer
        return inner if speaker() is None else RunBytes(inner)


class RunBytes:
    """Replaces the bytes below such a stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, data: Any) -> int:
        """Write to the log of the calling run, and to the old stream."""
        context = speaker()
        if context is None:
            return int(self._stream.write(data) or 0)
        context._print(bytes(data))
        if _is_shown:
            with _handing_on():
                self._stream.write(data)
        return len(data)


def _wrapped_handling(original: Callable[..., None]) -> Callable[..., None]:
    def call_handlers(self: logging.Logger, record: logging.LogRecord) -> None:
        name = record.name
        # Messages of Holdfast are not of the task, and those of `ctx.log` are in the log already.
        if name != OURS and not name.startswith(f"{OURS}.") and (context := speaker()) is not None:
            with suppress(Exception):
                said = line_of(record, record.exc_info[1] if record.exc_info else None)
                context._say(record.levelno, said if name == "root" else f"{name}: {said}")
        with _handing_on():
            original(self, record)

    return call_handlers


def _wrapped_start(original: Callable[..., None]) -> Callable[..., None]:
    def start(self: threading.Thread) -> None:
        context = speaker()
        # The threads of a pool outlive the run that had them started. Each work that they do is marked by itself.
        if context is not None and getattr(self, "_target", None) is not pools._worker:
            run_id, work = context.run_id, self.run

            def run() -> None:
                # Never reset: even what the thread prints at its own end belongs to the run.
                _marked.set(run_id)
                vars(self).pop("run", None)
                work()

            vars(self)["run"] = run
        original(self)

    return start


def _wrapped_submit(original: Callable[..., Any]) -> Callable[..., Any]:
    def submit(self: futures.Executor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        context = speaker()
        if context is None:
            return original(self, fn, *args, **kwargs)
        run_id = context.run_id

        def marked(*args: Any, **kwargs: Any) -> Any:
            token = _marked.set(run_id)
            try:
                return fn(*args, **kwargs)
            finally:
                _marked.reset(token)

        return original(self, marked, *args, **kwargs)

    return submit


class _Patch:
    """A name of the standard library that is replaced for a while."""

    def __init__(self, owner: Any, name: str, wrap: Callable[[Any], Any]) -> None:
        self._owner = owner
        self._name = name
        self._wrap = wrap
        self._original: Any = None
        self._ours: Any = None

    def apply(self) -> None:
        """Replace it."""
        found = getattr(self._owner, self._name)
        if self._ours is not None or found is None:
            return  # Other code has wrapped ours, which still works inside; or nothing is there.
        self._original, self._ours = found, self._wrap(found)
        setattr(self._owner, self._name, self._ours)

    def remove(self) -> None:
        """Put back what was there, unless other code has replaced it since."""
        if self._ours is not None and getattr(self._owner, self._name) is self._ours:
            setattr(self._owner, self._name, self._original)
            self._original = self._ours = None


class _StreamPatch(_Patch):
    """A stream. Other code replaces streams often, and does not always put them back, so it is patched each time.

    Another thread may be in the middle of a `print`, which in many versions of Python does not keep the stream that it
    prints to alive. So the last ones are kept here.
    """

    _used: ClassVar[deque[RunStream]] = deque(maxlen=MOST_KEPT)

    def remove(self) -> None:
        if self._ours is not None:
            self._used.append(self._ours)
        super().remove()
        self._original = self._ours = None


_PATCHES = (
    _StreamPatch(sys, "stdout", RunStream),
    _StreamPatch(sys, "stderr", RunStream),
    _Patch(logging.Logger, "callHandlers", _wrapped_handling),
    _Patch(threading.Thread, "start", _wrapped_start),
    _Patch(futures.ThreadPoolExecutor, "submit", _wrapped_submit),
)


def _forget() -> None:
    """A forked child is no run. It prints as before, because another process writes the log."""
    global _lookups, _changing
    _lookups, _changing = (), threading.Lock()


os.register_at_fork(after_in_child=_forget)
