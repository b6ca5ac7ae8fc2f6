"""Turns the commits, calls and exchanges of the daemon into metrics and samples."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from holdfast.core.gates.breaker import state_at
from holdfast.core.gates.pressure import READINGS
from holdfast.core.job import TERMINAL, Millis, RunId, StateName
from holdfast.core.jobs.requests import Claimed, Report
from holdfast.core.jobs.settle import Broke
from holdfast.core.machine import attendance
from holdfast.core.machine.attendance import Span
from holdfast.core.messages.jobs import Count
from holdfast.core.messages.machines import Machine, NodeTokens
from holdfast.core.messages.queues import Crowded, TenantView
from holdfast.core.messages.runs import Exchange
from holdfast.core.rules.timing import FAR_FUTURE
from holdfast.core.rules.tokens import KINDS
from holdfast.observe.metrics import Depth, Metrics, Pressed, Readings, Share, TokenCount, Tripped
from holdfast.observe.sla import Latency, Sla
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine, Tx
from holdfast.store.scripts.machines.machines import list_machines
from holdfast.store.scripts.machines.tokens import list_tokens
from holdfast.store.scripts.queues import breakers, crowding
from holdfast.store.scripts.queues.tenants import list_tenants
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.scripts.sessions import sessions
from holdfast.store.statements import sql
from holdfast.store.tally import Tally
from holdfast.wire.call import ApiCall, name_of

MOST_RUNS = 100_000
MOST_TENANTS = 2_000
RUNNING = StateName.RUNNING


class Store(Struct, frozen=True):
    """Figures of the database."""

    counts: list[Count]
    workers: int
    tenants: list[TenantView]
    tripped: list[Tripped]
    tokens: list[NodeTokens]
    machines: list[Machine]
    crowded: list[Crowded]


class Sources(Struct):
    """The sources of figures that other parts count."""

    long_calls: Callable[[], tuple[int, int]] = lambda: (0, 0)
    restarts: Callable[[], int] = lambda: 0
    lines_dropped: Callable[[], int] = lambda: 0
    crash_loops: Callable[[], int] = lambda: 0
    tokens_refused: Callable[[], Mapping[str, int]] = dict
    requests_refused: Callable[[], Mapping[str, int]] = dict


class Meter:
    """Lives on the event loop of the daemon. `committed` may be called from any thread."""

    def __init__(self, engine: Engine, clock: Clock, metrics: Metrics, sla: Sla) -> None:
        self._engine = engine
        self._clock = clock
        self._metrics = metrics
        self._sla = sla
        self._runs: dict[RunId, str] = {}
        self._began = self._calm_since = clock.now()
        self._attended: list[Span] = [(self._began, FAR_FUTURE)]
        self.sources = Sources()

    async def learn_attendance(self) -> None:
        """Read when sessions were there before this daemon, to know how long its jobs have waited."""
        before = await self._engine.read(sessions.attendance)
        self._attended = attendance.merged([*before, (self._began, FAR_FUTURE)])

    def committed(self, seconds: float, tally: Tally) -> None:
        """A transaction was committed by this process."""
        self._metrics.committed(seconds)
        for queue, jobs in tally.enqueued.items():
            self._metrics.enqueued(queue, jobs)
        for (queue, state), jobs in tally.ended.items():
            self._metrics.ended(queue, state, jobs)
        for queue, jobs in tally.shed.items():
            self._metrics.shed(queue, jobs)
        for queue, failures in tally.infra.items():
            self._metrics.failed_by_machine(queue, failures)
        for queue, jobs in tally.parked.items():
            self._metrics.parked(queue, jobs)
        for kind, tokens in tally.tokens.items():
            self._metrics.took_tokens(kind, tokens)
        if tally.warns:
            # A queue was held back, or goes on. How long its jobs were ready then says nothing about our speed.
            self._calm_since = self._clock.now()

    def called(self, call: ApiCall | None, seconds: float, status: int) -> None:
        """A short call was answered. None: there is no such call."""
        self._metrics.called(name_of(call), seconds * 1000)
        if status >= 400:
            self._metrics.answered_with_error(name_of(call), status)
        elif call is not None:
            if call.promise is not None:
                self._sla.sample(call.promise, seconds * 1000, self._clock.monotonic())
            if call.opens_gates:
                self._calm_since = self._clock.now()

    def exchanged(self, reports: Sequence[Report], said: Exchange, seconds: float) -> None:
        """A worker delivered reports and took jobs. To hand out jobs took so many seconds."""
        for report, settled in zip(reports, said.settled, strict=True):
            if settled.refused is not None:
                self._metrics.refused_a_report()
                self._runs.pop(report.run_id, None)
            else:
                self._ended(report, settled.state)
        if said.claimed:
            self._sla.sample(Latency.POP, seconds * 1000, self._clock.monotonic())
            self._started(said.claimed)

    def planned(self, seconds: float) -> None:
        """A change in a watched folder became jobs."""
        self._metrics.planned(seconds * 1000)
        self._sla.sample(Latency.EVENT_TO_JOB, seconds * 1000, self._clock.monotonic())

    async def forget_lost_runs(self) -> None:
        """Forget runs that were never reported, as their workers died. If nothing runs, none is left."""
        if self._runs and not any(
            count.jobs and count.state == RUNNING for count in await self._engine.read(read_jobs.counts)
        ):
            self._runs.clear()
            self._calm_since = self._clock.now()

    async def text(self) -> bytes:
        """The metrics of this moment, for Prometheus."""
        await self.look()
        return self._metrics.text()

    async def look(self) -> None:
        """Read the figures that are not counted as they happen."""
        store = await self._engine.read(_store, self._clock.now())
        open_ones, refused = self.sources.long_calls()
        trouble = self._engine.troubles.current
        live = [
            Depth(count.queue, count.state, count.jobs)
            for count in store.counts
            if count.jobs and count.state not in TERMINAL
        ]
        self._metrics.look(
            Readings(
                live,
                store.workers,
                _wal_bytes(self._engine),
                open_ones,
                refused,
                self.sources.restarts(),
                self.sources.lines_dropped(),
                self.sources.crash_loops(),
                [Share(one.queue, one.tenant, one.share, one.starts) for one in store.tenants if one.queue],
                store.tripped,
                [
                    TokenCount(one.node, kind, getattr(one.in_use, kind), getattr(one.capacity, kind))
                    for one in store.tokens
                    for kind in KINDS
                ],
                {kind.value: failures for kind, failures in self._engine.troubles.failures.items()},
                None if trouble is None else trouble.kind.value,
                [Pressed(*pressed) for machine in store.machines for pressed in _levels(machine)],
                [(one.queue, one.reading) for one in store.crowded],
                self.sources.tokens_refused(),
                self.sources.requests_refused(),
                self._clock.off_by(),
                self._clock.doubt() is not None,
                {kind.value: failures for kind, failures in self._engine.notifications.failures.items()},
                self._engine.notifications.lost is not None,
            )
        )

    def _started(self, claimed: Sequence[Claimed]) -> None:
        was_calm = not self._runs
        for run in claimed:
            queued_at = run.started_at if run.queued_at is None else run.queued_at
            waited = max(0, run.started_at - queued_at)
            self._metrics.started(run.queue, self._waited(queued_at, run.started_at))
            # Nothing else ran, and nothing held it back, since before it was ready.
            if was_calm and queued_at >= self._calm_since:
                self._sla.sample(Latency.QUEUE_TO_RUN, waited, self._clock.monotonic())
            self._runs[run.run_id] = run.queue
        while len(self._runs) > MOST_RUNS:
            # Runs that were settled because their worker died are never reported.
            del self._runs[next(iter(self._runs))]

    def _waited(self, since: Millis, until: Millis) -> Millis:
        """How long a job was ready, without the time in which no session was there."""
        return max(0, until - since) if since >= self._began else attendance.attended(self._attended, since, until)

    def _ended(self, report: Report, state: StateName | None) -> None:
        queue = self._runs.pop(report.run_id, None)
        if not self._runs:
            self._calm_since = self._clock.now()
        if queue is None or state is None:
            return  # Reported before, or handed out by an earlier daemon.
        self._metrics.ran(queue, state, report.duration_ms)
        if isinstance(report.outcome, Broke) and state not in TERMINAL:
            self._metrics.retried(queue)


def _store(tx: Tx, now: Millis) -> Store:
    tripped = [
        Tripped(queue, state_at(found.opened_at, found.half_opens_at, now))
        for queue, found in breakers.open_breakers(tx).items()
    ]
    tenants = list_tenants(tx, now, limit=MOST_TENANTS)
    return Store(
        read_jobs.counts(tx),
        len(tx.rows(sql.offers)),
        tenants,
        tripped,
        list_tokens(tx),
        list_machines(tx),
        crowding.list_crowded(tx),
    )


def _levels(machine: Machine) -> list[tuple[str, str, int]]:
    levels = {one.reading: one.level.rank for one in machine.pressure}
    return [(machine.node, reading, levels.get(reading, 0)) for reading in READINGS]


def _wal_bytes(engine: Engine) -> int:
    if engine.path is not None:
        with suppress(OSError):
            return os.stat(f"{engine.path}-wal").st_size
    return 0
