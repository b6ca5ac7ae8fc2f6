"""A program that runs while its machine's clock is set."""

from __future__ import annotations

import queue
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from holdfast import Holdfast
from holdfast.testing import ManualClock
from tests.client.acts import both_engines

PATIENCE_S = 60.0
START = datetime(2030, 1, 1, tzinfo=UTC)


@both_engines
def test_a_delayed_job_runs_after_its_delay_though_the_clock_was_set(
    make_holdfast: Callable[..., Holdfast], caplog: pytest.LogCaptureFixture
) -> None:
    clock, ran = ManualClock(START), queue.Queue[str]()
    hf = make_holdfast(clock=clock)

    @hf.task
    def note(what: str) -> None:
        ran.put(what)

    with hf:
        delayed = note.options(delay=timedelta(minutes=10)).enqueue("after ten minutes")
        note.options(at=START + timedelta(hours=1)).enqueue("at its moment")
        clock.step(timedelta(hours=2))
        assert ran.get(timeout=PATIENCE_S) == "at its moment"
        assert delayed.job.state.name == "SCHEDULED"
        clock.advance(timedelta(minutes=10))
        assert ran.get(timeout=PATIENCE_S) == "after ten minutes"
    assert "the clock was set forward by 7200.0 s; 1 waiting jobs" in caplog.text
