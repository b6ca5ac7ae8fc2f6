"""The metrics of the daemon, for Prometheus and for OTLP. Only the daemon imports this module."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TypeVar

import psutil
from msgspec import Struct
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from holdfast.observe.timing import timing

PREFIX = "holdfast"
# Every name is a time series of its own. A program that makes up names must not fill the memory of a collector.
MOST_NAMES = 200
CPU_S = 1.0
OTHERS = "…"
SHORT_MS = (0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 30_000)
LONG_MS = (1, 3, 10, 30, 100, 200, 500, 1_000, 3_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 3_600_000)

Metric = TypeVar("Metric", Counter, Histogram)

_ENDINGS = {
    "DONE": "jobs_done",
    "FAILED": "jobs_failed",
    "SUPERSEDED": "jobs_superseded",
    "CANCELLED": "jobs_cancelled",
    "SKIPPED_TTL": "jobs_skipped_ttl",
    "SKIPPED_DEADLINE": "jobs_skipped_deadline",
}


class Depth(Struct, frozen=True):
    """How many jobs of a queue are in a state."""

    queue: str
    state: str
    jobs: int


class Share(Struct, frozen=True):
    """The share of a tenant in a queue at this moment, and how many of its jobs have started there."""

    queue: str
    tenant: str
    share: float
    starts: int


class Tripped(Struct, frozen=True):
    """A queue whose breaker is open or half-open."""

    queue: str
    state: str


class TokenCount(Struct, frozen=True):
    """How many tokens of a kind a machine has, and how many of them are in use."""

    node: str
    kind: str
    in_use: int
    capacity: int


class Pressed(Struct, frozen=True):
    """The pressure of a reading of a machine: 0 is calm, 1 is high, 2 is critical."""

    node: str
    reading: str
    level: int


class Readings(Struct, frozen=True):
    """The figures that are read when the metrics are asked for."""

    depths: Iterable[Depth]
    workers: int
    wal_bytes: int
    long_calls_open: int = 0
    long_calls_refused: int = 0
    worker_restarts: int = 0
    log_lines_dropped: int = 0
    crash_loops: int = 0
    shares: Iterable[Share] = ()
    tripped: Iterable[Tripped] = ()
    tokens: Iterable[TokenCount] = ()
    store_failures: Mapping[str, int] = {}
    store_trouble: str | None = None
    pressed: Iterable[Pressed] = ()
    crowded: Iterable[tuple[str, str]] = ()
    tokens_refused: Mapping[str, int] = {}
    requests_refused: Mapping[str, int] = {}
    clock_off_ms: int = 0
    is_clock_doubted: bool = False
    notification_failures: Mapping[str, int] = {}
    are_notifications_lost: bool = False


class Metrics:
    """Everything that is counted in one run of a daemon. Safe to use from any thread."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # One more line for each line that matters.
        self.registry = CollectorRegistry()
        self._names: dict[str, set[str]] = {}
        self._caught_up: dict[object, int] = {}
        self._children: dict[tuple[object, ...], Counter | Histogram] = {}
        self._jobs_enqueued = self._counter("jobs_enqueued", "Jobs that were stored.", "queue")
        self._jobs_ended = {
            state: self._counter(name, f"Jobs that ended as {state}.") for state, name in _ENDINGS.items()
        }
        self._job_endings = self._counter("job_endings", "Jobs that ended, by queue and state.", "queue", "state")
        self._jobs_shed = self._counter(
            "jobs_shed", "Waiting jobs of a full queue that made room for others of higher priority.", "queue"
        )
        self._infra_failures = self._counter(
            "infra_failures",
            "Failures that the machine is to blame for; a worker that dies is one for each queue.",
            "queue",
        )
        self._jobs_parked = self._counter(
            "jobs_parked", "Poison pills: jobs that took down one process after the other.", "queue"
        )
        self._tokens_acquired = self._counter(
            "tokens_acquired", "Tokens of cpu, gpu or io that runs have taken of their machine.", "kind"
        )
        self._runs_retried = self._counter(
            "runs_retried", "Runs that failed and whose job will be tried again.", "queue"
        )
        self._reports_refused = self._counter(
            "reports_refused", "Results that came too late, for runs that were settled."
        )
        self._job_duration = self._timing("job_duration", "How long a run took.", LONG_MS, "queue", "state")
        self._queue_wait = self._timing(
            "queue_wait",
            "How long a job was ready before it ran, without the time in which nobody ran.",
            LONG_MS,
            "queue",
        )
        self._event_to_job = self._timing(
            "event_to_job", "How long a change of a watched folder or repository took to become jobs.", LONG_MS
        )
        self._db_txn = self._timing("db_txn_time", "How long a writing transaction took.", SHORT_MS)
        self._api = self._timing("api_call", "How long a short call took.", SHORT_MS, "call")
        self._api_errors = self._counter("api_errors", "Calls that were answered with an error.", "call", "status")
        self._canary = self._timing("canary_latency", "From the canary's enqueue to its end.", SHORT_MS)
        self._canary_missed = self._counter("canaries_missed", "Canaries that did not come back in time.")
        self._sla_breaches = self._counter("sla_breaches", "Looks that found a promised latency broken.", "sla")
        self._worker_restarts = self._counter(
            "worker_restarts", "Supervised workers that ended and were started again."
        )
        self._long_calls_refused = self._counter("long_calls_refused", "Long calls that found no place.")
        self._tokens_refused = self._counter(
            "tokens_refused",
            "Calls by TCP whose token was unknown, revoked or expired, or came too early after such.",
            "reason",
        )
        self._requests_refused = self._counter(
            "requests_refused",
            "Requests that were refused as they came: no HTTP, too large a head, too slow, too many in a row.",
            "reason",
        )
        self._queue_depth = self._gauge("queue_depth", "Jobs that wait or run.", "queue", "state")
        self._breakers = self._gauge(
            "breaker_open",
            "1 for each queue that is held back after failures, by the state of its breaker.",
            "queue",
            "state",
        )
        self._tokens_in_use = self._gauge("tokens_in_use", "Tokens of a machine that runs use now.", "node", "kind")
        self._tokens_capacity = self._gauge("tokens_capacity", "Tokens that a machine has.", "node", "kind")
        self._tenant_share = self._gauge(
            "tenant_share", "What a tenant that waits may have of a queue, from 0 to 1.", "queue", "tenant"
        )
        self._tenant_starts = self._counter(
            "tenant_starts", "Jobs of a tenant that were started, in queues that several share.", "queue", "tenant"
        )
        self._pressure = self._gauge(
            "pressure",
            "How much a reading of a machine presses: 0 is calm, 1 is high, 2 is critical.",
            "node",
            "reading",
        )
        self._queue_pressure = self._gauge(
            "queue_pressure", "Queues whose jobs wait for too long, or are mostly superseded.", "queue", "reading"
        )
        self._active_workers = self._gauge("active_workers", "Workers that are connected.")
        self._crash_loops = self._gauge(
            "workers_crash_looping", "Supervised workers that end right after each start, time and again."
        )
        self._cpu_usage = self._gauge("cpu_usage", "How busy the machine's processors are, from 0 to 1.")
        self._wal_size = self._gauge("wal_size_bytes", "The size of the write-ahead log of a SQLite store.")
        self._store_failures = self._counter(
            "store_failures", "Transactions that failed because of the store, by what was wrong with it.", "kind"
        )
        self._store_trouble = self._gauge(
            "store_trouble", "1 while the store cannot be written, by what is wrong with it.", "kind"
        )
        self._notification_failures = self._counter(
            "notification_failures",
            "Notifications of a database server that could not be read, and connections for them that broke.",
            "kind",
        )
        self._notifications_lost = self._gauge(
            "notifications_lost", "1 while the daemon does not hear what other programs commit on a database server."
        )
        self._clock_off = self._gauge(
            "clock_off_seconds", "How far the clock of this machine is ahead of the clock of a database server."
        )
        self._clock_doubted = self._gauge(
            "clock_doubted", "1 while the clock of the database is not known, and nothing is done by it."
        )
        self._long_calls = self._gauge("long_calls_open", "Long calls that are open.")
        self._log_drops = self._counter("log_lines_dropped", "Lines of the daemon's log that could not be written.")
        ProcessCollector(namespace=PREFIX, registry=self.registry)
        psutil.cpu_percent()  # The first reading has nothing to compare with.
        self._looked_at = time.monotonic()

    def enqueued(self, queue: str, jobs: int) -> None:
        """Jobs were stored."""
        self._of_queue(self._jobs_enqueued, queue).inc(jobs)

    def ended(self, queue: str, state: str, jobs: int) -> None:
        """Jobs of a queue ended."""
        self._jobs_ended[state].inc(jobs)
        self._of_queue(self._job_endings, queue, state).inc(jobs)

    def took_tokens(self, kind: str, tokens: int) -> None:
        """Runs took tokens of their machine."""
        self._tokens_acquired.labels(kind).inc(tokens)

    def shed(self, queue: str, jobs: int) -> None:
        """Waiting jobs made room for others."""
        self._of_queue(self._jobs_shed, queue).inc(jobs)

    def failed_by_machine(self, queue: str, failures: int) -> None:
        """The machine is to blame for failures."""
        self._of_queue(self._infra_failures, queue).inc(failures)

    def parked(self, queue: str, jobs: int) -> None:
        """Poison pills were parked."""
        self._of_queue(self._jobs_parked, queue).inc(jobs)

    def started(self, queue: str, waited_ms: float) -> None:
        """A job was handed to a worker."""
        self._of_queue(self._queue_wait, queue).observe(waited_ms)

    def ran(self, queue: str, state: str, duration_ms: float) -> None:
        """A run has ended, and this is the state it left its job in."""
        self._of_queue(self._job_duration, queue, state).observe(duration_ms)

    def retried(self, queue: str) -> None:
        """A run failed, and its job will be tried again."""
        self._of_queue(self._runs_retried, queue).inc()

    def refused_a_report(self) -> None:
        """A result came too late."""
        self._reports_refused.inc()

    def planned(self, milliseconds: float) -> None:
        """A change in a watched folder became jobs."""
        self._event_to_job.observe(milliseconds)

    def committed(self, seconds: float) -> None:
        """A writing transaction took this long."""
        self._db_txn.observe(seconds * 1000)

    def called(self, call: str, milliseconds: float) -> None:
        """A short call was answered."""
        self._child(self._api, call).observe(milliseconds)

    def answered_with_error(self, call: str, status: int) -> None:
        """A call was answered with an error."""
        self._api_errors.labels(call, str(status)).inc()

    def canary_returned(self, seconds: float) -> None:
        """The canary was done."""
        self._canary.observe(seconds * 1000)

    def canary_missed(self) -> None:
        """The canary was not done in time."""
        self._canary_missed.inc()

    def broke_promise(self, sla: str) -> None:
        """A promised latency is not kept."""
        self._sla_breaches.labels(sla).inc()

    def look(self, readings: Readings) -> None:
        """Set the figures that are read rather than counted."""
        self._queue_depth.clear()
        depths: dict[tuple[str, str], int] = {}
        for depth in readings.depths:
            key = (self._known("depth", depth.queue), depth.state)
            depths[key] = depths.get(key, 0) + depth.jobs
        for labels, jobs in depths.items():
            self._queue_depth.labels(*labels).set(jobs)
        self._breakers.clear()
        for one in readings.tripped:
            self._breakers.labels(self._known("depth", one.queue), one.state).set(1)
        self._look_at_shares(readings.shares)
        self._look_at_tokens(readings.tokens)
        self._look_at_pressure(readings)
        self._active_workers.set(readings.workers)
        if time.monotonic() - self._looked_at >= CPU_S:
            # Measured since the last reading, which must not be too recent.
            self._cpu_usage.set(psutil.cpu_percent() / 100)
            self._looked_at = time.monotonic()
        self._crash_loops.set(readings.crash_loops)
        self._wal_size.set(readings.wal_bytes)
        for kind, failures in readings.store_failures.items():
            self._catch_up(("store", kind), self._store_failures.labels(kind), failures)
        for reason, calls in readings.tokens_refused.items():
            self._catch_up(("token", reason), self._tokens_refused.labels(reason), calls)
        for reason, requests in readings.requests_refused.items():
            self._catch_up(("request", reason), self._requests_refused.labels(reason), requests)
        for kind, failures in readings.notification_failures.items():
            self._catch_up(("notification", kind), self._notification_failures.labels(kind), failures)
        self._notifications_lost.set(readings.are_notifications_lost)
        self._store_trouble.clear()
        if readings.store_trouble is not None:
            self._store_trouble.labels(readings.store_trouble).set(1)
        self._clock_off.set(readings.clock_off_ms / 1000)
        self._clock_doubted.set(readings.is_clock_doubted)
        self._long_calls.set(readings.long_calls_open)
        for counter, total in (
            (self._long_calls_refused, readings.long_calls_refused),
            (self._worker_restarts, readings.worker_restarts),
            (self._log_drops, readings.log_lines_dropped),
        ):
            self._catch_up(counter, counter, total)

    def _look_at_pressure(self, readings: Readings) -> None:
        self._pressure.clear()
        for one in readings.pressed:
            self._pressure.labels(self._known("node", one.node), one.reading).set(one.level)
        self._queue_pressure.clear()
        for queue, reading in readings.crowded:
            self._queue_pressure.labels(self._known("crowded", queue), reading).set(1)

    def _look_at_shares(self, shares: Iterable[Share]) -> None:
        self._tenant_share.clear()
        found: dict[tuple[str, str], tuple[float, int]] = {}
        for one in shares:
            labels = (self._known("shared", one.queue), self._known("tenant", one.tenant))
            share, starts = found.get(labels, (0.0, 0))
            found[labels] = (share + one.share, starts + one.starts)
        for labels, (share, starts) in found.items():
            self._tenant_share.labels(*labels).set(share)
            self._catch_up(labels, self._tenant_starts.labels(*labels), starts)

    def _look_at_tokens(self, tokens: Iterable[TokenCount]) -> None:
        self._tokens_in_use.clear()
        self._tokens_capacity.clear()
        for found in tokens:
            node = self._known("node", found.node)
            self._tokens_in_use.labels(node, found.kind).inc(found.in_use)
            self._tokens_capacity.labels(node, found.kind).inc(found.capacity)

    def _catch_up(self, key: object, counter: Counter, total: int) -> None:
        """Bring a counter up to a total that another part counts."""
        counter.inc(max(0, total - self._caught_up.get(key, 0)))
        self._caught_up[key] = total

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    def _of_queue(self, metric: Metric, queue: str, *more: str) -> Metric:
        """The time series of a queue. If there are too many names, further queues share one."""
        return self._child(metric, self._known("queue", queue), *more)

    def _child(self, metric: Metric, *labels: str) -> Metric:
        """The time series with these labels. It is cached, which is faster than the library."""
        child = self._children.get((metric, *labels))
        if child is None:
            child = self._children[(metric, *labels)] = metric.labels(*labels)
        return child  # type: ignore[return-value]

    def _known(self, kind: str, name: str) -> str:
        names = self._names.setdefault(kind, set())
        if name in names:
            return name
        if len(names) >= MOST_NAMES:
            return OTHERS
        names.add(name)
        return name

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, namespace=PREFIX, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, namespace=PREFIX, registry=self.registry)

    def _timing(self, name: str, text: str, buckets_ms: tuple[float, ...], *labels: str) -> Histogram:
        return timing(self.registry, PREFIX, name, text, buckets_ms, *labels)
