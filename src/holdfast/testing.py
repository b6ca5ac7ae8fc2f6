"""Helpers for tests of programs that use Holdfast: a clock to move by hand, jobs that run at once, assertions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from holdfast.client.holdfast import Holdfast
from holdfast.client.task import Enqueuing
from holdfast.core.job import Job
from holdfast.runtime.clock import ManualClock

__all__ = ["ManualClock", "assert_enqueued", "assert_not_enqueued", "drain", "inline"]


@contextmanager
def inline(hf: Holdfast) -> Iterator[Holdfast]:
    """Inside, every enqueue runs what is ready before it returns: real jobs, real store, no background."""
    before, hf._access.after_enqueue = hf._access.after_enqueue, lambda: _drain_once(hf)
    try:
        yield hf
    finally:
        hf._access.after_enqueue = before


def _drain_once(hf: Holdfast) -> None:
    # A task that enqueues is itself running inside a drain, which takes up what it enqueued.
    if not hf.is_draining:
        hf.drain()


def drain(hf: Holdfast) -> int:
    """Run everything that is ready by the clock; how many runs there were."""
    return hf.drain()


def assert_enqueued(
    hf: Holdfast, task: Enqueuing[Any, Any] | str, *, count: int | None = None, **arguments: Any
) -> list[Job]:
    """Fail unless a job of `task` is there whose payload holds these arguments; returns the ones that fit.

    `count` asks for exactly so many.
    """
    found = _matching(hf, task, arguments)
    if not found if count is None else len(found) != count:
        name = task if isinstance(task, str) else task.name
        others = [job.payload for job in _matching(hf, task, {})]
        wanted = "a job" if count is None else f"{count} jobs"
        raise AssertionError(f"expected {wanted} of {name!r} with {arguments}, found {len(found)}; it has {others}")
    return found


def assert_not_enqueued(hf: Holdfast, task: Enqueuing[Any, Any] | str, **arguments: Any) -> None:
    """Fail if a job of `task` is there whose payload holds these arguments."""
    assert_enqueued(hf, task, count=0, **arguments)


def _matching(hf: Holdfast, task: Enqueuing[Any, Any] | str, arguments: dict[str, Any]) -> list[Job]:
    name = task if isinstance(task, str) else task.name
    wanted = msgspec.to_builtins(arguments)
    found: list[Job] = []
    cursor = None
    while True:
        page = hf.jobs(task=name, limit=1_000, cursor=cursor)
        for job in page.jobs:
            payload = msgspec.json.decode(job.payload)
            if all(key in payload and payload[key] == value for key, value in wanted.items()):
                found.append(job)
        cursor = page.cursor
        if cursor is None:
            return found
