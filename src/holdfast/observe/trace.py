"""Which trace a call belongs to: W3C `traceparent`, in a context variable.

Works without OpenTelemetry. If the program has imported that, its current span counts, and what is made current here is
its parent.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeAlias

from msgspec import Struct

_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_ID = re.compile(r"[0-9a-f]{32}")
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16


class Trace(Struct, frozen=True):
    """One span of a trace: which trace, which span, and which span caused it.

    `known_as` is the id that a user gave the trace, if that is no id of W3C.
    """

    trace_id: str
    span_id: str
    parent: str | None = None
    sampled: bool = True
    known_as: str | None = None

    @property
    def id(self) -> str:
        """The id as it is stored and shown."""
        return self.known_as or self.trace_id

    @property
    def header(self) -> str:
        """The text for `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"

    def child(self, span_id: str | None = None) -> Trace:
        """A span that this one causes."""
        return Trace(self.trace_id, span_id or new_span_id(), self.span_id, self.sampled, self.known_as)


RunNamed: TypeAlias = tuple[str, str, str]
"""The span of a run, as trace, job and run id. It is computed only if it is needed."""

_current: ContextVar[Trace | RunNamed | None] = ContextVar("holdfast_trace", default=None)


def make() -> Trace:
    """The first span of a new trace."""
    return Trace(_random_id(16), new_span_id())


def new_span_id() -> str:
    """A random id of a span."""
    return _random_id(8)


def parse(header: str | None) -> Trace | None:
    """The span in a `traceparent`. None if it cannot be read."""
    found = _HEADER.fullmatch(header.strip()) if header else None
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or trace_id == _NO_TRACE or span_id == _NO_SPAN:
        return None
    return Trace(trace_id, span_id, sampled=bool(int(flags, 16) & 1))


def of_header(header: str | None) -> Trace:
    """The span of a request: a child of that of the caller, or the first of a new trace."""
    parent = parse(header)
    return make() if parent is None else parent.child()


def of_job(trace_id: str, job_id: str) -> Trace:
    """The span of a job, the same in every process. Any text may be the id of a trace."""
    if _ID.fullmatch(trace_id) and trace_id != _NO_TRACE:
        return Trace(trace_id, span_of(job_id))
    return Trace(_derived(trace_id, 16), span_of(job_id), known_as=trace_id)


def of_run(trace_id: str, job_id: str, run_id: str) -> Trace:
    """The span of a run, caused by that of its job."""
    return of_job(trace_id, job_id).child(span_of(run_id))


def span_of(id_: str) -> str:
    """The id of the span of a job or a run, the same in every process."""
    return _derived(id_, 8)


def current() -> Trace | None:
    """The span that the calling code works in, if any."""
    ours, theirs = _current.get(), _of_opentelemetry()
    if isinstance(ours, tuple):
        ours = of_run(*ours)
    return theirs if theirs is not None and (ours is None or ours.span_id != theirs.span_id) else ours


def current_id() -> str | None:
    """The id of the trace that the calling code works in, if any."""
    here = current()
    return None if here is None else here.id


class using:
    """Make a span the current one for the code in the block, and for OpenTelemetry if the program uses it."""

    __slots__ = ("_detach", "_token", "_trace")

    def __init__(self, trace: Trace | RunNamed | None) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        self._token = _current.set(self._trace)
        self._detach = None if self._trace is None else _attach(self._trace)

    def __exit__(self, *error: object) -> None:
        if self._detach is not None:
            self._detach()
        _current.reset(self._token)


def _random_id(size: int) -> str:
    return os.urandom(size).hex()


def _derived(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def _opentelemetry() -> Any:
    # Never imported here: programs that do not use it must not pay for it.
    return sys.modules.get("opentelemetry.trace")


def _of_opentelemetry() -> Trace | None:
    opentelemetry = _opentelemetry()
    if opentelemetry is None:
        return None
    span = opentelemetry.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return Trace(f"{span.trace_id:032x}", f"{span.span_id:016x}", sampled=bool(span.trace_flags & 1))


def _attach(trace: Trace | RunNamed) -> Callable[[], None] | None:
    opentelemetry, context = _opentelemetry(), sys.modules.get("opentelemetry.context")
    if opentelemetry is None or context is None:
        return None
    if isinstance(trace, tuple):
        trace = of_run(*trace)
    span = opentelemetry.NonRecordingSpan(
        opentelemetry.SpanContext(
            int(trace.trace_id, 16), int(trace.span_id, 16), True, opentelemetry.TraceFlags(int(trace.sampled))
        )
    )
    token = context.attach(opentelemetry.set_span_in_context(span))

    def detach() -> None:
        context.detach(token)

    return detach
