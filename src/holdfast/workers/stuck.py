"""What happens to a worker with a deaf run: one that ignores a request to stop.

A thread cannot be ended from outside, only its process can. So the worker takes no more jobs, lets the other runs end,
reports the deaf run, and ends at once. The daemon starts another one in its place.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from holdfast.core.job import RunId
from holdfast.core.jobs.requests import Report
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.tasks.raising import StopReason, stopped
from holdfast.workers.active_run import ActiveRun
from holdfast.workers.exchange import ExchangeLoop

LOOK_S = 1.0
OTHERS_S = 600.0
OTHERS_GRACE_S = 10.0

log = logging.getLogger("holdfast.worker")


class StuckWatch(Loop):
    """Looks for deaf runs. `grace` is how long a run may take to notice. `leave` ends the process."""

    def __init__(
        self, clock: Clock, exchange: ExchangeLoop, grace: Callable[[], float], leave: Callable[[], None]
    ) -> None:
        super().__init__(clock)
        self._exchange = exchange
        self._runner = exchange.runner
        self._grace = grace
        self._leave = leave
        self._known: set[RunId] = set()
        self._since = 0.0
        self._asked_for_answer: float | None = None

    async def tick(self) -> float | None:
        deaf = self._deaf()
        if not deaf:
            return self._look_s
        self._exchange.stop_claiming()
        self._say(deaf)
        is_blocked = self._silence() >= self._grace()
        if is_blocked:
            # Functions in threads still end, but the blocked loop does not deliver their reports.
            self._runner.flush()
        # Processes of runs do not end with this one. A job that is given back must not run on beside its next run.
        if self._may_go(deaf, is_blocked) and await asyncio.to_thread(self._runner.end_programs):
            await self._exchange.deliver_last([self._report(run) for run in deaf])
            self._leave()
        return self._look_s

    @property
    def _look_s(self) -> float:
        return max(0.05, min(LOOK_S, self._grace()))

    def _deaf(self) -> list[ActiveRun]:
        """Runs that should have ended a while ago. Their event loop may be blocked, so it is not asked."""
        now, grace, found = self.clock.monotonic(), self._grace(), []
        for run in self._runner.active:
            timeout = run.claimed.timeout_ms
            # It counts as asked from now on, and not from then: if the machine slept, the run was not told before.
            if timeout is not None and now - run.started > timeout / 1000:
                run.note_asked(StopReason.TIMEOUT, now)
            if run.claimed.deadline is not None and self.clock.now() > run.claimed.deadline:
                run.note_asked(StopReason.DEADLINE, now)
            if run.asked is None or run.asked[0] in (StopReason.SHUTDOWN, StopReason.YIELD):
                continue
            if now - run.asked[1] >= grace:
                found.append(run)
        return found

    def _say(self, deaf: list[ActiveRun]) -> None:
        for run in deaf:
            if run.claimed.run_id not in self._known:
                reason = None if run.asked is None else run.asked[0]
                extra = {"event": "worker_stuck", "job_id": run.claimed.job_id, "run_id": run.claimed.run_id}
                log.error(
                    "job %s (%s) was asked to stop (%s) and takes no notice; this worker takes no more jobs, and goes "
                    "when the others here have ended",
                    run.claimed.job_id,
                    run.claimed.task,
                    reason,
                    extra=extra,
                )
        if not self._known:
            self._since = self.clock.monotonic()
        self._known.update(run.claimed.run_id for run in deaf)

    def _silence(self) -> float:
        """How long the event loop of the coroutines has not answered."""
        if self._asked_for_answer is None:
            self._asked_for_answer = self.clock.monotonic()
            self._runner.ask_for_answer(self._answered)
        return 0.0 if self._asked_for_answer is None else self.clock.monotonic() - self._asked_for_answer

    def _answered(self) -> None:
        self._asked_for_answer = None

    def _may_go(self, deaf: list[ActiveRun], is_blocked: bool) -> bool:
        """Whether all other runs have ended, or have had long enough for that."""
        gone = {run.claimed.run_id for run in deaf}
        in_threads = {run.claimed.run_id for run in self._runner.active if run.task is None}
        others = [run.run_id for run in self._exchange.held if run.run_id not in gone]
        if is_blocked:
            # Nothing else can end: coroutines are blocked, and what is given to the loop never begins.
            others = [run_id for run_id in others if run_id in in_threads or self._runner.is_program(run_id)]
        waited = self.clock.monotonic() - self._since
        if others and waited >= OTHERS_S:
            self._runner.stop_all(StopReason.SHUTDOWN)
        # Jobs on their way to us must have arrived, or they would seem to have died with us.
        return not self._exchange.is_asking and (not others or waited >= OTHERS_S + OTHERS_GRACE_S)

    def _report(self, run: ActiveRun) -> Report:
        assert run.asked is not None
        took = round((self.clock.monotonic() - run.started) * 1000)
        left = run.context._close_files()
        return Report(
            run.claimed.run_id,
            run.claimed.job_id,
            stopped(run.asked[0]),
            took,
            artifacts=left.artifacts,
            log_path=left.log_path,
            artifact_path=left.artifact_path,
        )
