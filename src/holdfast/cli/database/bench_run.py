"""The measurements of `holdfast bench`, and how their jobs are removed."""

from __future__ import annotations

import time
from statistics import quantiles
from typing import TYPE_CHECKING

from holdfast.core.errors import HoldfastError
from holdfast.core.job import TERMINAL, JobId
from holdfast.core.tasks.reserved import BENCH

if TYPE_CHECKING:
    from holdfast.client.remote import Client

AT_ONCE = 100
MOST = 50_000
PATIENCE_S = 120.0
LOOK_S = 0.01


class BenchRun:
    """One measurement."""

    def __init__(self, hf: Client) -> None:
        self._hf = hf

    def enqueue(self, seconds: float) -> list[float]:
        """The durations of single enqueues, in milliseconds. Nothing runs meanwhile."""
        self._hf.pause(BENCH, "holdfast bench")
        try:
            return self._timed(seconds, lambda: self._enqueue(1))
        finally:
            self._hf.resume(BENCH)

    def round_trip(self, seconds: float) -> list[float]:
        """From the call to the end of the job, one at a time."""
        self._wait_until_empty()
        return self._timed(seconds, lambda: self._hf.job(self._enqueue(1)[0]).wait(PATIENCE_S))

    def drain(self, seconds: float) -> tuple[int, float, float]:
        """How many jobs, how many were enqueued in a second, and how many ran in a second."""
        self._hf.pause(BENCH, "holdfast bench")
        try:
            began = time.perf_counter()
            count = 0
            while time.perf_counter() - began < seconds and count < MOST:
                self._enqueue(AT_ONCE)
                count += AT_ONCE
            enqueued = time.perf_counter() - began
        finally:
            self._hf.resume(BENCH)
        began = time.perf_counter()
        self._wait_until_empty()
        return count, count / enqueued, count / (time.perf_counter() - began)

    def clean_up(self) -> None:
        """Remove every job of this measurement."""
        self._hf.resume(BENCH)
        while self._hf.bulk("cancel", queue=BENCH, state=["QUEUED", "SCHEDULED"]).jobs:
            pass
        self._wait_until_empty()
        while self._hf.forget_measured():
            pass

    def _enqueue(self, jobs: int) -> list[JobId]:
        return self._hf.enqueue_measured(jobs)

    def _wait_until_empty(self) -> None:
        until = time.monotonic() + PATIENCE_S
        while any(state not in TERMINAL for state, jobs in self._hf.counts().get(BENCH, {}).items() if jobs):
            if time.monotonic() > until:
                raise HoldfastError("the jobs of the measurement do not run; look at: holdfast status")
            time.sleep(LOOK_S)

    def _timed(self, seconds: float, step: object) -> list[float]:
        assert callable(step)
        times: list[float] = []
        until = time.perf_counter() + seconds
        while (began := time.perf_counter()) < until or len(times) < 2:
            step()
            times.append((time.perf_counter() - began) * 1000)
        return times


def percentile(values: list[float], nth: int) -> float:
    """The nth percentile."""
    return quantiles(values, n=100, method="inclusive")[nth - 1]
