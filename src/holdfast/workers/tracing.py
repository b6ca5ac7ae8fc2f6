"""Runs as spans of traces."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from holdfast.core.job import RunId
from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.jobs.settle import Broke
from holdfast.observe import spans, trace
from holdfast.observe.spans import Span


def record_runs(reports: Sequence[Report], held: Mapping[RunId, Claimed]) -> None:
    """Record a span for each run that has just ended."""
    if not spans.are_wanted():
        return
    now = time.time_ns()
    for report in reports:
        run = held.get(report.run_id)
        if run is None or run.trace_id is None:
            continue
        failure = report.outcome.failure if isinstance(report.outcome, Broke) else None
        spans.record(
            Span(
                trace.of_run(run.trace_id, run.job_id, run.run_id),
                f"run {run.task}",
                "consumer",
                now - report.duration_ms * 1_000_000,
                now,
                {"job_id": run.job_id, "run_id": run.run_id, "queue": run.queue, "attempt": run.attempt},
                None if failure is None else f"{failure.code}: {failure.message}",
            )
        )
