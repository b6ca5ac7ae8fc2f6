"""What is measured and traced about a call."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import msgspec

from holdfast.core.jobs.requests import NewJob, Report
from holdfast.core.messages.runs import Exchange
from holdfast.observe import spans, trace
from holdfast.observe.spans import Span
from holdfast.observe.trace import Trace
from holdfast.wire.call import ApiCall


class Observer(Protocol):
    """It is told of every call."""

    def called(self, call: ApiCall | None, seconds: float, status: int) -> None:
        """A short call was answered. None: there is no such call."""

    def exchanged(self, reports: Sequence[Report], said: Exchange, seconds: float) -> None:
        """A worker delivered reports and took jobs."""

    async def text(self) -> bytes:
        """The metrics of this moment."""


class NoObserver:
    """Ignores all that it is told."""

    def called(self, call: ApiCall | None, seconds: float, status: int) -> None:
        """Ignored."""

    def exchanged(self, reports: Sequence[Report], said: Exchange, seconds: float) -> None:
        """Ignored."""

    async def text(self) -> bytes:
        """There are none."""
        return b""


def give_trace(jobs: Sequence[NewJob]) -> None:
    """Give jobs without a trace that of the call that brought them."""
    here = trace.current()
    if here is None:
        return
    now = time.time_ns() if spans.are_wanted() else 0
    for job in jobs:
        if job.trace_id is None:
            # No other code has seen it yet.
            msgspec.structs.force_setattr(job, "trace_id", here.id)
        if now and job.trace_id == here.id:
            attributes = {"job_id": job.id, "task": job.task} | ({} if job.queue is None else {"queue": job.queue})
            spans.record(
                Span(here.child(trace.span_of(job.id)), f"enqueue {job.task}", "producer", now, now, attributes)
            )


def record(name: str, here: Trace, started_at: int, status: int) -> None:
    """Record that a call was answered, if traces are collected."""
    if not spans.are_wanted():
        return
    error = f"HTTP {status}" if status >= 500 else None
    spans.record(Span(here, name, "server", started_at, time.time_ns(), {"http.response.status_code": status}, error))
