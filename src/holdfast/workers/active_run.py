"""A run of a function or coroutine in this process, until it ends."""

from __future__ import annotations

import asyncio

from holdfast.core.jobs.requests import Claimed
from holdfast.observe.trace import RunNamed
from holdfast.tasks.context import Context
from holdfast.tasks.raising import StopReason, outranks
from holdfast.tasks.spec import TaskSpec


class ActiveRun:
    """A run that has not ended."""

    __slots__ = ("asked", "claimed", "context", "spec", "started", "task", "timer")

    def __init__(self, claimed: Claimed, spec: TaskSpec, context: Context, started: float) -> None:
        self.claimed = claimed
        self.spec = spec
        self.context = context
        self.started = started
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.asked: tuple[StopReason, float] | None = None

    @property
    def span(self) -> RunNamed | None:
        """The span of the run, if its job belongs to a trace."""
        run = self.claimed
        return None if run.trace_id is None else (run.trace_id, run.job_id, run.run_id)

    def note_asked(self, reason: StopReason, at: float) -> None:
        """Remember when it was asked to stop. Called from any thread."""
        if self.asked is None or outranks(reason, self.asked[0]):
            self.asked = (reason, at)
