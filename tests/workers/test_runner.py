"""The runner reports every run that it was given, once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

import pytest

from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.jobs.settle import Completed, StoppedByCancel
from holdfast.runtime.clock import SystemClock
from holdfast.tasks.context import Context
from holdfast.tasks.raising import StopReason
from holdfast.tasks.schema import PayloadSchema
from holdfast.tasks.spec import TaskSpec
from holdfast.workers.runner import Runner

blocking, go_on = threading.Event(), threading.Event()


async def block() -> None:
    blocking.set()
    go_on.wait(30)


async def late() -> None: ...


def spec(function: Callable[..., Any]) -> TaskSpec:
    name = function.__name__
    schema = PayloadSchema(name, function, skip_first=False)
    return TaskSpec(name=name, queue="q", function=function, schema=schema, wants_context=False, permanent=())


def claimed(task: str) -> Claimed:
    nothing: dict[str, Any] = dict.fromkeys(
        ("subject", "generation", "timeout_ms", "deadline", "checkpoint", "tag", "trace_id")
    )
    return Claimed(
        run_id=f"run of {task}",
        job_id=task,
        number=1,
        task=task,
        queue="q",
        payload="{}",
        attempt=1,
        started_at=0,
        **nothing,
    )


@pytest.fixture
def reports() -> SimpleQueue[Report]:
    return SimpleQueue()


@pytest.fixture
def runner(reports: SimpleQueue[Report]) -> Iterator[Runner]:
    def deliver(ended: list[Report]) -> None:
        for report in ended:
            reports.put(report)

    def context(run: Claimed) -> Context:
        return Context(run, lambda data: Future(), lambda fraction, text: None)

    made = Runner({"block": spec(block), "late": spec(late)}, SystemClock(), context, deliver)
    made.start()
    yield made
    go_on.set()
    made.close()


def test_a_coroutine_that_is_stopped_before_its_first_step_is_reported(
    runner: Runner, reports: SimpleQueue[Report]
) -> None:
    runner.run([claimed("block")])
    assert blocking.wait(30)
    runner.run([claimed("late")])
    runner.stop([("run of late", StopReason.CANCEL)])
    go_on.set()
    outcomes = {report.job_id: report.outcome for report in (reports.get(timeout=30), reports.get(timeout=30))}
    assert outcomes == {"block": Completed("null"), "late": StoppedByCancel()}
    assert reports.empty()
