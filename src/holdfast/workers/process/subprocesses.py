"""Runs in processes of their own. Each is followed by a thread, so that other user code cannot delay it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing

from msgspec import structs

from holdfast.core.errors import InvalidInput, InvalidPayload, StoreError
from holdfast.core.job import RunId, SessionId
from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.jobs.settle import Broke, Completed, Outcome, Skipped, Snoozed, Yielded
from holdfast.core.rules import timing
from holdfast.core.values.retry import Failure, FailureKind
from holdfast.runtime.clock import Clock
from holdfast.runtime.sessions import processes
from holdfast.runtime.sessions.processes import GRACE_S
from holdfast.store.engine import Engine
from holdfast.store.scripts.runs import progress
from holdfast.tasks.context import Context
from holdfast.tasks.program import Program
from holdfast.tasks.raising import StopReason, must_stop, outranks, raised, stopped
from holdfast.tasks.spec import TaskSpec, program_of
from holdfast.workers.process import environment, exits, launching, previous
from holdfast.workers.process.conversation import Conversation
from holdfast.workers.process.launching import Gated
from holdfast.workers.process.memory import MemoryKills
from holdfast.workers.process.threads import Threads
from holdfast.workers.process.watching import ProcessWatch, WakePipe

LOOK_AGAIN_S = 5.0
CLOSE_S = 10.0

log = logging.getLogger("holdfast.worker")


class ProcessRun:
    """One run in a process of its own."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        session_id: SessionId,
        claimed: Claimed,
        spec: TaskSpec,
        context: Context,
        secret: str | None = None,
    ) -> None:
        self.claimed = claimed
        self._engine = engine
        self._clock = clock
        self._session_id = session_id
        self._secret = secret
        self._spec = spec
        self._context = context
        self._wake_up = WakePipe()
        self._started = clock.monotonic()
        self._watch: ProcessWatch | None = None
        self._is_hurried = False
        self._talk: Conversation | None = None
        self._grace_s = GRACE_S
        self._exit_code: int | None = None
        self._traceback: str | None = None

    def stop(self, reason: StopReason) -> None:
        """Ask it to stop. Called from any thread."""
        if outranks(reason, self._context._stop_reason):
            self._context._stop_reason = reason
            if reason.is_wish and self._talk is not None:
                # A command has no channel.
                self._talk.stop(reason)
        self._wake_up.wake()

    def hurry(self) -> None:
        """Do not wait for the end of its grace. Called from any thread."""
        self._is_hurried = True
        if self._watch is not None:
            self._watch.is_hurried = True
        self.stop(StopReason.SHUTDOWN)

    def wake(self) -> None:
        """Have it look at the clock again. Called from any thread."""
        self._wake_up.wake()

    def work(self) -> Report:
        """Run it from start to end. Return what to report."""
        try:
            with closing(self._wake_up):
                outcome = self._run()
        except InvalidPayload as error:
            outcome = raised(error, ())
        except Exception as error:
            log.warning("job %s could not be started: %r", self.claimed.job_id, error)
            outcome = _not_started(str(error))
        took = max(0, round((self._clock.monotonic() - self._started) * 1000))
        left = self._context._close_files()
        return Report(
            self.claimed.run_id,
            self.claimed.job_id,
            outcome,
            took,
            exit_code=self._exit_code,
            traceback=self._traceback,
            artifacts=left.artifacts,
            log_path=left.log_path,
            artifact_path=left.artifact_path,
        )

    def _run(self) -> Outcome:
        try:
            make_program = program_of(self._spec)
        except InvalidInput as error:
            return Broke(Failure(FailureKind.PERMANENT, "ERR_TASK_NOT_LOADED", str(error)))
        files = self._context._files_of_run
        self.claimed, arguments = previous.complete(self._spec.schema, self._context)
        program = make_program(arguments, self.claimed)
        who = environment.identity(self.claimed, files.make_artifact_folder())
        # A job may set the variable for another daemon, but not those that identify the run.
        program = structs.replace(
            program, env={**program.env, **environment.home_of(self._engine), **program.own, **who}
        )
        self._grace_s = program.grace_s
        files.open_log()
        with ExitStack() as stack:
            talk = None
            if self._spec.place is None:
                process = Gated(self.claimed.run_id)
            else:
                self._talk = talk = stack.enter_context(closing(Conversation(self._context, self._wake_up)))
                channel = talk.channel.fileno()
                process = Gated(self.claimed.run_id, talk.orders.fileno(), (channel,))
                program = structs.replace(program, argv=(*program.argv, str(channel)))
            stack.callback(process.close)
            try:
                return self._through_gate(process, program, talk)
            except BaseException:
                processes.empty_groups([process.group], grace=0)
                raise

    def _through_gate(self, process: Gated, program: Program, talk: Conversation | None) -> Outcome:
        group, files = process.group, self._context._files_of_run
        start = (self.claimed.run_id, self._session_id, group.pid, group.started_at, str(files.log_folder))
        try:
            is_ours = self._engine.submit(progress.note_start, *start, self._secret).result()
        except StoreError as error:
            # A process that cannot be stored must not begin. The job is not to blame.
            processes.empty_groups([group], grace=0)
            return Yielded(f"its start could not be stored: {error}")
        if not is_ours:
            processes.empty_groups([group], grace=0)
            return _not_started("it was settled before its process could begin")
        if self._pause()[0]:
            processes.empty_groups([group], grace=0)
            return self._stopped()
        watch = self._watch = ProcessWatch(process, program, self._wake_up, files.write, self._pause)
        watch.is_hurried = self._is_hurried
        if talk is not None and self._spec.place is not None:
            talk.begin(self.claimed, self._spec.place, files.top, watch)
            watch.on_stop = lambda: talk.stop(self._context._stop_reason or StopReason.SHUTDOWN)
            if self._context._stop_reason is StopReason.YIELD:
                talk.stop(StopReason.YIELD)
        kills = MemoryKills()
        process.open(program)
        status = watch.follow()
        self._exit_code = exits.exit_code(status)
        if watch.failure:
            self._exit_code = None
            return Broke(launching.why_not_started(watch.failure, program))
        if talk is not None:
            return self._said(talk, watch, status)
        if watch.was_stopped:
            return self._stopped()
        if status == 0:
            return Completed('{"exit_code":0}')
        return exits.broke(status, program, watch.last_line, is_out_of_memory=kills.have_risen())

    def _said(self, talk: Conversation, watch: ProcessWatch, status: int) -> Outcome:
        """The outcome that the process of a Python task has sent. If it sent none, it has crashed."""
        if talk.ended is None:
            return self._stopped() if watch.was_stopped else exits.crashed(status, self.claimed.task, watch.last_line)
        self._traceback = talk.ended.traceback
        outcome = talk.ended.outcome
        if must_stop(self._context._stop_reason) and not isinstance(outcome, Completed | Skipped | Snoozed):
            # SIGTERM also went to what it had started, so an error after that is because of us.
            self._traceback = None
            return self._stopped()
        return outcome

    def _stopped(self) -> Outcome:
        return stopped(self._context._stop_reason or StopReason.SHUTDOWN)

    def _pause(self) -> tuple[bool, float | None]:
        """Whether it has to stop, and after how long to ask again."""
        if must_stop(self._context._stop_reason):
            return True, None
        silent = None if self._talk is None else self._talk.silent_for()
        if silent is not None:
            # It has sent its outcome, and hangs in its exit.
            return silent > self._grace_s, self._grace_s
        took = round((self._clock.monotonic() - self._started) * 1000)
        timeout = None if self.claimed.timeout_ms is None else max(0, self.claimed.timeout_ms - took)
        left, by_deadline = timing.run_budget(self._clock.now(), timeout, self.claimed.deadline)
        if left is None:
            return False, None
        if left == 0:
            self._context._stop_reason = StopReason.DEADLINE if by_deadline else StopReason.TIMEOUT
            return True, None
        # A deadline is by the wall clock, which may be set, or go on while the machine sleeps.
        longest = left / 1000 if self.claimed.deadline is None else min(left / 1000, LOOK_AGAIN_S)
        return False, self._clock.timeout(longest)


class Subprocesses:
    """All runs of a worker that have processes of their own."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        session_id: SessionId,
        make_context: Callable[[Claimed], Context],
        deliver: Callable[[list[Report]], None],
        secret: str | None = None,
    ) -> None:
        self._secret = secret
        self._engine = engine
        self._clock = clock
        self._session_id = session_id
        self._make_context = make_context
        self._deliver = deliver
        self._threads = Threads()
        self._changed = threading.Condition()
        self._active: dict[RunId, ProcessRun] = {}
        self._forget_clock = clock.on_change(self._wake_all)

    def run(self, claimed: Claimed, spec: TaskSpec) -> None:
        """Start a run. Called from any thread."""
        try:
            context = self._make_context(claimed)
            run = ProcessRun(self._engine, self._clock, self._session_id, claimed, spec, context, self._secret)
            with self._changed:
                self._active[claimed.run_id] = run
            self._threads.run(lambda: self._work(run))
        except (OSError, RuntimeError) as error:
            # There are no more files or threads. The run is here, and must be reported all the same.
            with self._changed:
                self._active.pop(claimed.run_id, None)
            self._deliver([Report(claimed.run_id, claimed.job_id, _not_started(str(error)), 0)])

    def stop(self, stops: Iterable[tuple[RunId, StopReason]]) -> None:
        """Ask these runs to stop, if they are here."""
        for run_id, reason in stops:
            run = self._active.get(run_id)
            if run is not None:
                run.stop(reason)

    @property
    def is_busy(self) -> bool:
        """Whether anything runs."""
        return bool(self._active)

    def has(self, run_id: RunId) -> bool:
        """Whether the run is here, and has not ended."""
        return run_id in self._active

    def stop_all(self, reason: StopReason) -> None:
        """Ask every run to stop."""
        for run in self._runs():
            run.stop(reason)

    def end(self) -> bool:
        """End what still runs, without its grace, and wait for its reports. False if something is left."""
        for run in self._runs():
            run.hurry()
        with self._changed:
            if not self._changed.wait_for(lambda: not self._active, CLOSE_S):
                log.error("%d processes could not be ended", len(self._active))
            return not self._active

    def close(self) -> None:
        """End everything."""
        self._forget_clock()
        self.end()
        self._threads.close()

    def _work(self, run: ProcessRun) -> None:
        try:
            self._deliver([run.work()])
        finally:
            with self._changed:
                del self._active[run.claimed.run_id]
                self._changed.notify_all()

    def _wake_all(self) -> None:
        for run in self._runs():
            run.wake()

    def _runs(self) -> list[ProcessRun]:
        with self._changed:
            return list(self._active.values())


def _not_started(why: str) -> Outcome:
    return Broke(Failure(FailureKind.INFRA, "ERR_NOT_STARTED", f"it could not be started: {why}"))
