"""Helpers for tests of programs that use Holdfast: a clock and a machine to command, jobs that run at once, assertions.

>>> from holdfast import Holdfast
>>> from holdfast.testing import ManualClock, SimulatedMachine, assert_enqueued, assert_not_enqueued, drain, inline
>>> clock = ManualClock()
>>> hf = Holdfast("work.db", clock=clock, machine=SimulatedMachine(idle=True))
>>> @hf.task
... def greet(name: str) -> str:
...     return f"Hello {name}"
>>> later = greet.options(delay=60).enqueue(name="Ada")
>>> assert_enqueued(hf, greet, name="Ada")[0].state.name
<StateName.SCHEDULED: 'SCHEDULED'>
>>> assert_not_enqueued(hf, greet, name="Grace")
>>> drain(hf)
0
>>> clock.advance(60)
>>> drain(hf)
1
>>> from holdfast.testing import assert_emitted
>>> made = hf.emit("order:packed", order=7)
>>> assert_emitted(hf, "order:*", order=7)[0].name
'order:packed'
>>> with inline(hf):
...     greet.enqueue(name="Grace").result()
'Hello Grace'
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from holdfast.client.holdfast import Holdfast
from holdfast.client.resources.task import Enqueuing
from holdfast.core.errors import InvalidInput
from holdfast.core.jobs.stored_job import Job
from holdfast.core.rules import limits
from holdfast.core.values.event import Event, check_attributes
from holdfast.runtime.clock import ManualClock
from holdfast.runtime.machine.simulated import SimulatedMachine

__all__ = [
    "ManualClock",
    "SimulatedMachine",
    "assert_emitted",
    "assert_enqueued",
    "assert_not_enqueued",
    "drain",
    "inline",
]


@contextmanager
def inline(hf: Holdfast) -> Iterator[Holdfast]:
    """In the block, every enqueue runs what is ready before it returns: real jobs, real store, no background.

    A job that a task enqueues runs in the same drain, after or beside that task. A job whose time has not come by the
    clock, such as a retry, waits for that time, and then for the next enqueue or `drain(hf)`.
    """
    before, hf._access.after_enqueue = hf._access.after_enqueue, _Inline(hf).run_ready
    try:
        yield hf
    finally:
        hf._access.after_enqueue = before


class _Inline:
    """One drain at a time. An enqueue during it, from a task or another thread, makes it go on."""

    def __init__(self, hf: Holdfast) -> None:
        self._hf = hf
        self._draining = threading.Lock()
        self._wanted = False

    def run_ready(self) -> None:
        self._wanted = True
        # Checked again after the lock is free, so that an enqueue that found it taken is not forgotten.
        while self._wanted and not self._hf.is_running and self._draining.acquire(blocking=False):
            try:
                self._wanted = False
                self._hf.drain()
            finally:
                self._draining.release()


def drain(hf: Holdfast) -> int:
    """Run everything that is ready by the clock. Return how many runs there were."""
    return hf.drain()


def assert_enqueued(
    hf: Holdfast, task: Enqueuing[Any, Any] | str, /, *, count: int | None = None, **arguments: Any
) -> list[Job]:
    """Fail unless a job of `task` is there whose payload holds these arguments. Return the jobs that fit.

    `count` asks for exactly so many. Jobs that ran already count as well.
    """
    found = _matching(hf, task, arguments)
    if not found if count is None else len(found) != count:
        raise AssertionError(_difference(hf, task, arguments, count, len(found)))
    return found


def assert_not_enqueued(hf: Holdfast, task: Enqueuing[Any, Any] | str, /, **arguments: Any) -> None:
    """Fail if a job of `task` is there whose payload holds these arguments."""
    assert_enqueued(hf, task, count=0, **arguments)


def assert_emitted(hf: Holdfast, name: str, /, *, count: int | None = None, **attributes: Any) -> list[Event]:
    """Fail unless such an event was emitted. Return those that were. The name may end in `*`.

    `count` asks for exactly so many. Other attributes of the events do not matter.
    """
    wanted = check_attributes(attributes)
    there: list[Event] = []
    cursor = None
    while True:
        page = hf.events(name, limit=1_000, cursor=cursor)
        there += [view.event for view in page.events]
        cursor = page.cursor
        if cursor is None:
            break
    found = [event for event in there if event.attributes.items() >= wanted.items()]
    if not found if count is None else len(found) != count:
        expected = "an event" if count is None else f"{count} events"
        given = " with " + ", ".join(f"{key}={value!r}" for key, value in wanted.items()) if wanted else ""
        said = "".join(f"\n  {event.name} {event.attributes}" for event in there) or " none"
        raise AssertionError(f"expected {expected} {name!r}{given}, found {len(found)}; these were emitted:{said}")
    return found


def _difference(
    hf: Holdfast, task: Enqueuing[Any, Any] | str, arguments: dict[str, Any], count: int | None, found: int
) -> str:
    wanted = {None: "a job", 0: "no job", 1: "1 job"}.get(count, f"{count} jobs")
    given = " with " + ", ".join(f"{name}={value!r}" for name, value in arguments.items()) if arguments else ""
    there = "".join(f"\n  {job.task} {job.payload}" for job in _matching(hf, task, {})) or " none"
    return f"expected {wanted} of task {_name(task)!r}{given}, found {found}; its jobs are:{there}"


def _name(task: Enqueuing[Any, Any] | str) -> str:
    if isinstance(task, str):
        return task
    if not isinstance(task, Enqueuing):
        raise InvalidInput(f"{limits.shown(task)} is not a task: give what @hf.task made, or its name")
    return task.name


def _matching(hf: Holdfast, task: Enqueuing[Any, Any] | str, arguments: dict[str, Any]) -> list[Job]:
    wanted = msgspec.json.decode(msgspec.json.encode(arguments))
    found: list[Job] = []
    cursor = None
    while True:
        page = hf.jobs(task=_name(task), limit=1_000, cursor=cursor, payloads=True)
        for job in page.jobs:
            payload = msgspec.json.decode(job.payload or "{}")
            if all(key in payload and payload[key] == value for key, value in wanted.items()):
                found.append(job)
        cursor = page.cursor
        if cursor is None:
            return found
