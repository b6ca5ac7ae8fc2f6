"""The worker's side of the exchange: it sends reports and gets jobs in one transaction, whenever there are some."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress

from msgspec import Raw

from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.job import RunId, SessionId, StateName
from holdfast.core.jobs.requests import Claimed, ClaimRequest, Report
from holdfast.core.jobs.settle import Broke
from holdfast.core.jobs.trigger import by_run
from holdfast.core.messages.events import Emitted
from holdfast.core.messages.jobs import Predecessor
from holdfast.core.messages.runs import Progress
from holdfast.core.messages.watches import ChangedFiles
from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.engine import Changes, Engine, new_uuid
from holdfast.store.files import JobFiles
from holdfast.store.scripts.events.events import emit
from holdfast.store.scripts.jobs.predecessors import predecessors
from holdfast.store.scripts.runs import progress
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.watches.changed_files import changed_files
from holdfast.tasks.context import Context
from holdfast.tasks.files import USUAL, LogLimits, RunFiles
from holdfast.tasks.raising import StopReason
from holdfast.tasks.spec import TaskSpec
from holdfast.workers.holdings import Holdings
from holdfast.workers.outbox import how_many_fit, refused
from holdfast.workers.process.subprocesses import Subprocesses
from holdfast.workers.runner import Runner
from holdfast.workers.tracing import record_runs

LOOK_AGAIN_S = 10.0
NOTES_EVERY_S = 0.25
BREATH_S = 0.02

log = logging.getLogger("holdfast.worker")


class ExchangeLoop(Loop):
    """Brings reports to the store and jobs to the runner. `share` is as for `Holdings`."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        session_id: SessionId,
        worker_id: str,
        specs: Mapping[str, TaskSpec],
        slots: Mapping[str, int],
        log_limits: LogLimits = USUAL,
        share: int | None = None,
        secret: str | None = None,
    ) -> None:
        super().__init__(clock)
        self._engine = engine
        self._session_id = session_id
        self._secret = secret
        self._holdings = Holdings(session_id, worker_id, specs, slots, share, secret)
        self._outbox: list[Report] = []
        self._notes: dict[RunId, Progress] = {}
        self._lock = threading.Lock()
        self._wake_is_coming = False
        self._breath_is_coming = False
        self._note_is_coming = False
        self._claiming = True
        self._closed = False
        self._hurried = False
        self._missed_an_answer = False
        self._one_by_one = False
        self._is_asking = False
        self._asked_at = 0.0
        self._talking = asyncio.Lock()
        self._settled = asyncio.Event()
        self._home = asyncio.get_running_loop()
        self._log_limits = log_limits
        subprocesses = Subprocesses(engine, clock, session_id, self._make_context, self._deliver, secret)
        self.runner = Runner(specs, clock, self._make_context, self._deliver, subprocesses)

    async def tick(self) -> float | None:
        """One exchange. It ticks by itself only in case a wake-up was lost."""
        await self.exchange_once()
        return LOOK_AGAIN_S if self._claiming else None

    async def exchange_once(self) -> int:
        """Send what has ended, and take new jobs. Return how many were taken."""
        async with self._talking:
            return await self._exchange_once()

    async def _exchange_once(self) -> int:
        reports, notes = self._collect()
        holds = tuple(self._holdings.runs) if self._missed_an_answer else None
        request = self._request(reports)
        self._is_asking = request.slots > 0
        self._asked_at = time.monotonic()
        try:
            answer = await self._engine.write(exchange, reports, notes, request, holds, self.clock.now())
        except InvalidInput as error:
            # Sent again as it is, it would be refused again, and no other report would ever be sent.
            self._take_back(reports, notes, error)
            raise
        except BaseException:
            # It is not known whether it was written. Reports can be repeated. Jobs that were given to us, but never
            # arrived, go back with the next exchange, which lists what is held.
            self._missed_an_answer = True
            with self._lock:
                self._outbox[:0] = reports
            raise
        finally:
            self._is_asking = False
            self._settled.set()
        self._missed_an_answer = False
        for report, settled in zip(reports, answer.settled, strict=True):
            self._holdings.let_go(settled.run_id)
            if settled.refused:
                log.warning("%s", settled.refused)
            elif settled.state is StateName.FAILED and isinstance(report.outcome, Broke):
                failure = report.outcome.failure
                log.warning("job %s failed: %s: %s", settled.job_id, failure.code, failure.message)
        if answer.claimed and self._claiming:
            self._holdings.hold(answer.claimed)
            self.runner.run(answer.claimed)
        elif answer.claimed:
            # The stop began during the call. They go back with the next exchange, unstarted.
            self._missed_an_answer = True
            self.wake()
        if answer.claimed and len(answer.claimed) == request.slots == self._holdings.share:
            self.wake()  # It was only a share. There may be more, and room for it.
        if answer.stops:
            self.runner.stop((stop.run_id, StopReason(stop.stop_reason)) for stop in answer.stops)
        return len(answer.claimed)

    def heed(self, changes: Changes) -> None:
        """Wake up if a commit may concern this worker. Called from any thread."""
        named = self._claiming and self._holdings.names_a_queue_of(changes)
        if named or any(topic.for_workers for topic in changes.topics):
            self._wake_soon()
        elif self._claiming and self._holdings.may_roam_for(changes):
            self._wake_after_a_breath()

    @property
    def held(self) -> list[Claimed]:
        """The runs that are held here."""
        return list(self._holdings.runs.values())

    def stop_claiming(self) -> None:
        """Take no new jobs from now on."""
        self._claiming = False

    @property
    def is_asking(self) -> bool:
        """Whether jobs may be on their way here."""
        return self._is_asking

    @property
    def is_idle(self) -> bool:
        """Whether nothing is held here, and no jobs can be on their way."""
        return not (self._holdings.runs or self._is_asking or self._missed_an_answer)

    def hurry(self) -> None:
        """End every `wait_idle` now."""
        self._hurried = True
        self._settled.set()

    async def woken(self) -> None:
        """For callers of `exchange_once`: wait until there is something to exchange."""
        await self._woken.wait()
        self._woken.clear()

    async def wait_idle(self, limit: float | None = None) -> bool:
        """Wait until nothing is held here any more. False if that takes longer than `limit` seconds."""
        try:
            async with asyncio.timeout(limit):
                while not (self.is_idle or self._hurried):
                    self._settled.clear()
                    await self._settled.wait()
        except TimeoutError:
            return False
        return self.is_idle

    def _collect(self) -> tuple[list[Report], list[Progress]]:
        with self._lock:
            is_careful = self._one_by_one
            few = 1 if is_careful else how_many_fit(self._outbox)
            reports, self._outbox = self._outbox[:few], self._outbox[few:]
            notes: list[Progress] = []
            if not is_careful:
                notes, self._notes = list(self._notes.values()), {}
            self._one_by_one = is_careful and bool(self._outbox)
            self._wake_is_coming = self._breath_is_coming = False
            if self._outbox:
                self.wake()
        return reports, notes

    def _take_back(self, reports: list[Report], notes: list[Progress], error: InvalidInput) -> None:
        """Send refused reports again one by one. One that is refused alone is replaced by a failure."""
        if len(reports) == 1 and not notes:
            reports = [refused(reports[0], error)]
        with self._lock:
            self._outbox[:0] = reports
            self._one_by_one = bool(self._outbox)

    def _request(self, reports: list[Report]) -> ClaimRequest:
        return self._holdings.request(reports, claims=self._claiming)

    def _make_context(self, claimed: Claimed) -> Context:
        def save(data: str) -> Future[None]:
            return self._engine.submit(progress.save_checkpoint, claimed.job_id, claimed.run_id, data, self._secret)

        def note(fraction: float, text: str | None) -> None:
            with self._lock:
                self._notes[claimed.run_id] = Progress(claimed.job_id, claimed.run_id, fraction, text)
                if self._note_is_coming:
                    return
                self._note_is_coming = True
            with suppress(RuntimeError):  # The worker has stopped without waiting for this function.
                self._home.call_soon_threadsafe(self._home.call_later, NOTES_EVERY_S, self._send_notes)

        def files() -> RunFiles:
            # Made at its first use: a daemon may have to be asked where its files are.
            return RunFiles(JobFiles(self._engine.files), claimed.job_id, claimed.run_id, self._log_limits)

        def look_back() -> Future[list[Predecessor]]:
            return self._engine.submit(predecessors, claimed.job_id)

        def tell(name: str, attributes: dict[str, str], data: Raw) -> Future[Emitted]:
            cause = by_run(claimed.job_id, claimed.run_id)
            return self._engine.submit(emit, new_uuid(), name, attributes, self.clock.now(), cause, data=data)

        def look_up() -> Future[ChangedFiles]:
            return self._engine.submit(changed_files, claimed.job_id)

        return Context(claimed, save, note, files, self.clock.now, look_back, tell, look_up)

    def _send_notes(self) -> None:
        with self._lock:
            self._note_is_coming = False
        self.wake()

    def _deliver(self, reports: list[Report]) -> None:
        """Runs have ended. Called from the thread of the runner, or of a function that outlived the worker."""
        record_runs(reports, self._holdings.runs)
        with self._lock:
            closed = self._closed
            if not closed:
                self._outbox += reports
        if closed:
            self._deliver_late(reports)
        else:
            self._wake_soon()

    async def deliver_last(self, reports: list[Report]) -> None:
        """Deliver these and all other reports. Other held runs go back. Nothing is held afterwards."""
        async with self._talking:
            while len(self._outbox) > how_many_fit(self._outbox) or self._one_by_one:
                await self._exchange_once()
            ended, _ = self._collect()
            try:
                await self._engine.write(exchange, [*ended, *reports], [], self._request([]), (), self.clock.now())
            except BaseException:
                with self._lock:
                    self._outbox[:0] = ended
                raise

    def _deliver_late(self, reports: list[Report]) -> None:
        """Deliver after the loop has stopped, with one try. What cannot be written is settled with the session."""
        now = self.clock.now()
        try:
            self._engine.submit(exchange, reports, [], self._request([]), None, now).result()
            self._engine.submit(sessions.close_session, self._session_id, "success", now, self._secret).result()
        except HoldfastError as error:
            log.warning("%d results came too late and could not be stored: %s", len(reports), error)

    def _wake_after_a_breath(self) -> None:
        """Wake up after a short pause. A worker of all queues must not ask after every commit with a ready job."""
        with self._lock:
            if self._wake_is_coming or self._breath_is_coming or self._closed:
                return
            self._breath_is_coming = True
        left = max(0.0, self._asked_at + BREATH_S - time.monotonic())
        with suppress(RuntimeError):  # The event loop is closed.
            self._home.call_soon_threadsafe(self._home.call_later, left, self.wake)

    def _wake_soon(self) -> None:
        with self._lock:
            if self._wake_is_coming or self._closed:
                return
            self._wake_is_coming = True
        with suppress(RuntimeError):  # The event loop is closed. `close` takes what is left.
            self._home.call_soon_threadsafe(self.wake)

    def close(self) -> None:
        """After the loop has stopped: functions that still run report by themselves when they end."""
        with self._lock:
            self._closed = True
            late, self._outbox = self._outbox, []
        try:
            if late:
                self._deliver_late(late)
        finally:
            self.runner.close()
