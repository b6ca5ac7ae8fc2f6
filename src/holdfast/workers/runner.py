"""Runs claimed jobs: coroutines on an event loop of their own, plain functions in threads, programs in processes.

User code never runs on the loop that talks to the store, so a task that blocks delays no heartbeat.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from holdfast.core.job import RunId
from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.jobs.settle import Broke, Completed, Outcome
from holdfast.core.rules import timing
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.observe.trace import using
from holdfast.runtime.clock import Clock
from holdfast.runtime.current import inside
from holdfast.tasks.context import Context
from holdfast.tasks.raising import StopReason, ended_by, must_stop, outranks, stopped
from holdfast.tasks.spec import TaskSpec
from holdfast.workers.active_run import ActiveRun
from holdfast.workers.printing import listen
from holdfast.workers.process import previous
from holdfast.workers.process.subprocesses import Subprocesses
from holdfast.workers.process.threads import Threads
from holdfast.workers.user_loop import UserLoop, end_without_loop

LOOK_AGAIN_S = 5.0

log = logging.getLogger("holdfast.worker")


class Runner:
    """Takes claimed jobs from the thread of the exchange, and gives reports back to it."""

    def __init__(
        self,
        specs: Mapping[str, TaskSpec],
        clock: Clock,
        make_context: Callable[[Claimed], Context],
        deliver: Callable[[list[Report]], None],
        subprocesses: Subprocesses | None = None,
    ) -> None:
        self._specs = specs
        self._subprocesses = subprocesses
        self._clock = clock
        self._make_context = make_context
        self._deliver = deliver
        self._threads = Threads()
        self._active: dict[RunId, ActiveRun] = {}
        self._ended: deque[Report] = deque()
        self._flush_is_coming = False
        self._user = UserLoop(self._end_left)
        self._forget_clock: Callable[[], None] = lambda: None
        self._hear_no_more: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Begin to run what is given."""
        self._hear_no_more = listen(self._context_of)
        self._user.start()
        self._forget_clock = self._clock.on_change(lambda: self._user.call(self._check_budgets))

    def run(self, batch: list[Claimed]) -> None:
        """Start these jobs. Called from the exchange's thread."""
        inside = batch
        if self._subprocesses is not None:
            inside = [claimed for claimed in batch if not self._is_alone(claimed)]
            for claimed in batch:
                if self._is_alone(claimed):
                    self._subprocesses.run(claimed, self._specs[claimed.task])
        if inside:
            self._user.call(self._begin_all, inside)

    def _is_alone(self, claimed: Claimed) -> bool:
        """Whether the run has a process of its own."""
        return claimed.execution == "subprocess" or self._specs[claimed.task].program is not None

    def stop(self, stops: Iterable[tuple[RunId, StopReason]]) -> None:
        """Ask runs to stop. Called from the exchange's thread."""
        asked = list(stops)
        if self._subprocesses is not None:
            self._subprocesses.stop(asked)
        for run_id, reason in asked:
            run = self._active.get(run_id)
            if run is not None:
                run.note_asked(reason, self._clock.monotonic())
        self._user.call(self._ask_all, asked)

    def stop_all(self, reason: StopReason) -> None:
        """Ask every run to stop."""
        if self._subprocesses is not None:
            self._subprocesses.stop_all(reason)
        self._user.call(lambda: self._ask_all([(run_id, reason) for run_id in list(self._active)]))

    @property
    def active(self) -> list[ActiveRun]:
        """The functions and coroutines that have not ended. Called from any thread."""
        return list(self._active.values())

    @property
    def is_busy(self) -> bool:
        """Whether anything runs. Called from any thread."""
        return bool(self._active) or (self._subprocesses is not None and self._subprocesses.is_busy)

    def is_program(self, run_id: RunId) -> bool:
        """Whether the run has a process of its own that has not ended. Called from any thread."""
        return self._subprocesses is not None and self._subprocesses.has(run_id)

    def end_programs(self) -> bool:
        """End the runs with processes of their own, and wait for their reports. False if something is left."""
        return self._subprocesses is None or self._subprocesses.end()

    def ask_for_answer(self, answer: Callable[[], None]) -> None:
        """Have the event loop call `answer`. It does so at once, unless a coroutine blocks it."""
        self._user.call(answer)

    def flush(self) -> None:
        """Deliver what has ended, if the event loop does not. Called from any thread."""
        self._flush()

    def close(self) -> None:
        """End the event loop. A function that is stuck in a thread goes on until its process ends."""
        self._forget_clock()
        if self._subprocesses is not None:
            self._subprocesses.close()
        self._threads.close()
        self._user.close()
        self._hear_no_more()

    def _context_of(self, run_id: RunId) -> Context | None:
        run = self._active.get(run_id)
        return None if run is None else run.context

    def _end_left(self) -> None:
        """End coroutines that ignored their cancellation. Without their loop they are over, unlike a function."""
        for run in list(self._active.values()):
            if run.task is None:
                continue
            self._end(run, stopped(run.context._stop_reason or StopReason.SHUTDOWN), None)
            # The end of its clean-up without a loop is not the outcome of the run.
            if not end_without_loop(run.task):
                log.info("job %s (%s) was cut off while it cleaned up", run.claimed.job_id, run.claimed.task)
        # What ended during the last passes, too.
        self._flush()

    def _begin_all(self, batch: list[Claimed]) -> None:
        for claimed in batch:
            run = ActiveRun(claimed, self._specs[claimed.task], self._make_context(claimed), self._clock.monotonic())
            self._active[claimed.run_id] = run
            try:
                self._begin(run)
            except Exception as error:
                failure = Failure(FailureKind.INFRA, "ERR_NOT_STARTED", f"it could not be started: {error}")
                self._end(run, Broke(failure), None)
        self._flush()

    def _begin(self, run: ActiveRun) -> None:
        if run.spec.is_coroutine:
            run.task = self._user.loop.create_task(self._run_coroutine(run))
            # An asyncio task that is cancelled before its first step cannot report by itself.
            run.task.add_done_callback(lambda _: self._end_unstarted(run))
        else:
            self._threads.run(lambda: self._run_function(run))
        self._check_budget(run)

    def _end_unstarted(self, run: ActiveRun) -> None:
        if run.claimed.run_id in self._active:
            self._end(run, stopped(run.context._stop_reason or StopReason.SHUTDOWN), None)
            self._flush()

    async def _run_coroutine(self, run: ActiveRun) -> None:
        try:
            with using(run.span), inside(run.claimed):
                arguments = await previous.aarguments_of(run.spec.schema, run.context)
                outcome = Completed(run.spec.schema.encode_result(await self._start(run, arguments)))
        except BaseException as error:
            ended = self._outcome(run, error)
        else:
            ended = (outcome, None)
        self._end(run, *ended)
        if not self._flush_is_coming and not self._user.loop.is_closed():
            # Runs that end in the same pass of the event loop are delivered together.
            self._flush_is_coming = True
            self._user.loop.call_soon(self._flush)

    def _run_function(self, run: ActiveRun) -> None:
        try:
            with using(run.span), inside(run.claimed):
                arguments = previous.arguments_of(run.spec.schema, run.context)
                outcome = Completed(run.spec.schema.encode_result(self._start(run, arguments)))
        except BaseException as error:
            ended = self._outcome(run, error)
        else:
            ended = (outcome, None)
        self._end(run, *ended)
        if self._flush_is_coming and not self._user.loop.is_closed():
            return
        try:
            self._flush_is_coming = True
            self._user.call(self._flush)
        except RuntimeError:
            # The worker has stopped without waiting for this function. Its result still counts.
            self._flush()

    def _start(self, run: ActiveRun, arguments: dict[str, Any]) -> Any:
        if run.spec.wants_context:
            return run.spec.function(run.context, **arguments)
        return run.spec.function(**arguments)

    def _outcome(self, run: ActiveRun, error: BaseException) -> tuple[Outcome, str | None]:
        """What an exception means. If the run was asked to stop, that is why it ended."""
        outcome, trace = ended_by(error, run.context._stop_reason, run.spec.permanent)
        if trace is not None:
            log.info("job %s (%s) attempt %d: %r", run.claimed.job_id, run.claimed.task, run.claimed.attempt, error)
        return outcome, trace

    def _end(self, run: ActiveRun, outcome: Outcome, trace: str | None) -> None:
        """Keep the report for the next `_flush`. Called from the event loop, or from the thread of a function."""
        if self._active.pop(run.claimed.run_id, None) is None:
            return
        if run.timer is not None:
            run.timer.cancel()
        took = max(0, round((self._clock.monotonic() - run.started) * 1000))
        left = run.context._close_files()
        self._ended.append(
            Report(
                run.claimed.run_id,
                run.claimed.job_id,
                outcome,
                took,
                traceback=trace,
                artifacts=left.artifacts,
                log_path=left.log_path,
                artifact_path=left.artifact_path,
            )
        )

    def _flush(self) -> None:
        """Deliver the reports. Each is taken by one thread."""
        # Before the reports are taken: a thread that still sees it set has its report taken too.
        self._flush_is_coming = False
        ended = []
        with suppress(IndexError):
            while True:
                ended.append(self._ended.popleft())
        if ended:
            self._deliver(ended)

    def _check_budgets(self) -> None:
        for run in list(self._active.values()):
            self._check_budget(run)

    def _check_budget(self, run: ActiveRun) -> None:
        """Ask the run to stop if its time is over. Otherwise look again when it may be."""
        if run.claimed.timeout_ms is None and run.claimed.deadline is None:
            return
        if run.timer is not None:
            run.timer.cancel()
        took = round((self._clock.monotonic() - run.started) * 1000)
        timeout = None if run.claimed.timeout_ms is None else max(0, run.claimed.timeout_ms - took)
        left, by_deadline = timing.run_budget(self._clock.now(), timeout, run.claimed.deadline)
        if left is None:
            return
        if left == 0:
            self._ask_all([(run.claimed.run_id, StopReason.DEADLINE if by_deadline else StopReason.TIMEOUT)])
            return
        # A deadline is by the wall clock, which may be set, or go on while the machine sleeps.
        longest = left / 1000 if run.claimed.deadline is None else min(left / 1000, LOOK_AGAIN_S)
        wait = self._clock.timeout(longest)
        if wait is not None:
            run.timer = self._user.loop.call_later(wait, self._check_budget, run)

    def _ask_all(self, stops: list[tuple[RunId, StopReason]]) -> None:
        for run_id, reason in stops:
            run = self._active.get(run_id)
            if run is None or not outranks(reason, run.context._stop_reason):
                continue
            asked_before = must_stop(run.context._stop_reason)
            run.context._stop_reason = reason
            run.note_asked(reason, self._clock.monotonic())
            if run.task is not None and must_stop(reason) and not asked_before:
                run.task.cancel()
