"""Every call in its trace, measured: `traceparent` comes in or is made, and goes out again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import msgspec

from holdfast.core.requests import NewJob, Report
from holdfast.observe import spans, trace
from holdfast.observe.spans import Span
from holdfast.observe.trace import Trace
from holdfast.store.scripts.exchange import Exchange

# The clockwork between the daemon and its workers belongs to nobody's trace.
QUIET = frozenset({"exchange", "exchange_wait", "beat", "livez", "readyz"})


class Observer(Protocol):
    """Who wants to know what is called."""

    def called(self, call: str, seconds: float, status: int) -> None:
        """A short call was answered."""

    def exchanged(self, reports: Sequence[Report], said: Exchange, seconds: float) -> None:
        """A worker delivered and took."""

    async def text(self) -> bytes:
        """The metrics of this moment."""


class Nobody:
    """Who wants to know nothing."""

    def called(self, call: str, seconds: float, status: int) -> None:
        """Nobody listens."""

    def exchanged(self, reports: Sequence[Report], said: Exchange, seconds: float) -> None:
        """Nobody listens."""

    async def text(self) -> bytes:
        """Nobody counts."""
        return b""


def give_trace(jobs: Sequence[NewJob]) -> None:
    """Jobs that belong to no trace yet belong to that of the call that brought them."""
    here = trace.current()
    if here is None:
        return
    now = time.time_ns() if spans.are_wanted() else 0
    for job in jobs:
        if job.trace_id is None:
            # Nobody else has seen it yet.
            msgspec.structs.force_setattr(job, "trace_id", here.id)
        if now and job.trace_id == here.id:
            attributes = {"job_id": job.id, "task": job.task} | ({} if job.queue is None else {"queue": job.queue})
            spans.record(
                Span(here.child(trace.span_of(job.id)), f"enqueue {job.task}", "producer", now, now, attributes)
            )


def record(name: str, here: Trace, started_at: int, status: int) -> None:
    """Write down that a call was answered, where somebody collects traces."""
    if not spans.are_wanted() or name in QUIET:
        return
    error = f"HTTP {status}" if status >= 500 else None
    spans.record(Span(here, name, "server", started_at, time.time_ns(), {"http.response.status_code": status}, error))
