"""Tells long calls of the commits that concern them. It is the only listener of the API on the engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Container, Iterable
from contextlib import suppress
from itertools import islice

from holdfast.api.refusals import DaemonStopping, Gone
from holdfast.core.job import JobId
from holdfast.core.jobs.requests import ANY_QUEUE
from holdfast.store.engine import Changes, Engine
from holdfast.store.topics import DUE, STOPS, UNKNOWN
from holdfast.wire.told_changes import ToldChanges

MOST_IDS = 5_000
# Of workers that offer the same, so many are woken at once. When one takes something, the next one is woken.
ASKED_AT_ONCE = 2
FEW_STREAMS = 16
REST_PER_STREAM_S = 0.0001


class Waiter:
    """A long call that waits until it is woken: by a commit, by the end of its caller, or by the stop of the daemon."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()
        self._is_cut = False
        self._is_gone = False

    def wake(self) -> None:
        """Wake it: there may be something for it."""
        self._woken.set()

    def cut(self) -> None:
        """The daemon stops: end this wait, and every later one."""
        self._is_cut = True
        self._woken.set()

    def go(self) -> None:
        """Its caller has gone away."""
        self._is_gone = True
        self._woken.set()

    async def rest(self, limit: float) -> None:
        """Wait until it is woken, at most so many seconds. Raise Gone or DaemonStopping if it should not go on."""
        if not self._woken.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    await self._woken.wait()
        self._woken.clear()
        if self._is_gone:
            raise Gone
        if self._is_cut:
            raise DaemonStopping


class ToldCommit:
    """A commit, encoded once for all readers of the stream that are told the same."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self._encoded: bytes | None = None

    @property
    def encoded(self) -> bytes:
        """The commit as JSON."""
        if self._encoded is None:
            self._encoded = ToldChanges.of(self.changes).encoded()
        return self._encoded


class Subscription(Waiter):
    """What the reader of a stream has not been told yet. One that falls behind is told `unknown`.

    With `tasks`, it is told what may concern a worker of these. None: everything.
    """

    def __init__(self, tasks: frozenset[str] | None = None) -> None:
        super().__init__()
        self.tasks = tasks
        self._told: ToldCommit | None = None

    def take(self, told: ToldCommit) -> None:
        """Add a commit to what is to be told."""
        if self._told is None:
            self._told = told
        else:
            both = Changes()
            both.merge(self._told.changes)
            both.merge(told.changes)
            if len(both.ended) + len(both.ready) > MOST_IDS:
                both = Changes(topics=both.topics | {DUE, STOPS, UNKNOWN})
            self._told = ToldCommit(both)
        self.wake()

    async def next(self, limit: float) -> bytes | None:
        """Everything since the last call, as soon as there is something. None after `limit` seconds."""
        await self.rest(limit)
        told, self._told = self._told, None
        return None if told is None else told.encoded


class Concerns:
    """Whom a commit may concern at all. Asked by the thread that has committed, so that it need not wake the hub."""

    def __init__(self, awaited: Container[JobId]) -> None:
        self._awaited = awaited
        self._readers_of_all = 0
        # How many open calls serve each task. Other threads only ask whether a task is among them.
        self._served: dict[str, int] = {}
        self._workers = 0

    def add(self, tasks: Collection[str] | None) -> None:
        """A call serves these tasks from now on. None: it reads everything."""
        if tasks is None:
            self._readers_of_all += 1
            return
        self._workers += 1
        for task in tasks:
            self._served[task] = self._served.get(task, 0) + 1

    def remove(self, tasks: Collection[str] | None) -> None:
        """It serves them no longer."""
        if tasks is None:
            self._readers_of_all -= 1
            return
        self._workers -= 1
        for task in tasks:
            if self._served[task] == 1:
                del self._served[task]
            else:
                self._served[task] -= 1

    def somebody(self, changes: Changes) -> bool:
        """Whether somebody who waits now may have to be told."""
        if self._readers_of_all and (changes.concerns_jobs or any(topic.by_stream for topic in changes.topics)):
            return True
        if UNKNOWN in changes.topics:
            return True
        if self._workers and (changes.ready or any(topic.for_parts for topic in changes.topics)):
            return True
        if any(task in self._served for tasks in changes.new.values() for task in tasks):
            return True
        return any(job_id in self._awaited for job_id in changes.ended)


class Hub:
    """Lives on the event loop of the API."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._home = asyncio.get_running_loop()
        self._streams: set[Subscription] = set()
        self._of_jobs: dict[JobId, set[Waiter]] = {}
        # By queue, and there by the tasks that they serve, in the order in which they are woken.
        self._of_queues: dict[str, dict[tuple[str, ...], dict[Waiter, None]]] = {}
        self._all: set[Waiter] = set()
        self._concerns = Concerns(self._of_jobs)
        self._lock = threading.Lock()
        self._heard: Changes | None = None
        self._leave: Callable[[], None] = lambda: None
        self.is_cut = False

    async def start(self) -> None:
        """Begin to listen."""
        self._leave = await asyncio.to_thread(self._engine.listen, self._hear)

    def stop(self) -> None:
        """Stop listening."""
        self._leave()

    def cut(self) -> None:
        """The daemon stops: end all waits."""
        self.is_cut = True
        for waiter in list(self._all):
            waiter.cut()

    def subscribe(self, tasks: frozenset[str] | None = None) -> Subscription:
        """Tell it of every commit until `unsubscribe`. With tasks: of what may concern a worker of these."""
        subscription = Subscription(tasks)
        self._join(subscription)
        self._streams.add(subscription)
        self._concerns.add(tasks)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Tell it no more."""
        if subscription in self._streams:
            self._streams.remove(subscription)
            self._concerns.remove(subscription.tasks)
        self._all.discard(subscription)

    @property
    def rest_of_streams(self) -> float:
        """How long a stream pauses between two commits, so that many streams leave time for other calls."""
        streams = len(self._streams)
        return 0.0 if streams <= FEW_STREAMS else streams * REST_PER_STREAM_S

    def wait_for_job(self, waiter: Waiter, job_id: JobId) -> None:
        """Wake it when the job ends, until `forget_job`."""
        self._join(waiter)
        self._of_jobs.setdefault(job_id, set()).add(waiter)

    def forget_job(self, waiter: Waiter, job_ids: Iterable[JobId]) -> None:
        """Wake it no longer."""
        self._all.discard(waiter)
        for job_id in job_ids:
            waiting = self._of_jobs.get(job_id)
            if waiting is not None:
                waiting.discard(waiter)
                if not waiting:
                    del self._of_jobs[job_id]

    def wait_for_work(self, waiter: Waiter, queues: Iterable[str], tasks: tuple[str, ...]) -> None:
        """Wake it when one of the queues may have work for it, or a run should stop, until `forget_work`."""
        self._join(waiter)
        self._concerns.add(tasks)
        for queue in queues:
            self._of_queues.setdefault(queue, {}).setdefault(tasks, {})[waiter] = None

    def forget_work(self, waiter: Waiter, queues: Iterable[str], tasks: tuple[str, ...]) -> None:
        """Wake it no longer."""
        self._all.discard(waiter)
        self._concerns.remove(tasks)
        for queue in queues:
            offers = self._of_queues.get(queue, {})
            offers.get(tasks, {}).pop(waiter, None)
            if not offers.get(tasks, True):
                del offers[tasks]
            if not offers:
                self._of_queues.pop(queue, None)

    def ask_next(self, queues: Iterable[str], tasks: tuple[str, ...]) -> None:
        """A worker has taken jobs from the queues. There may be more, so wake the next one."""
        for queue in queues:
            _ask(self._of_queues.get(queue, {}).get(tasks, {}), 1)

    def _join(self, waiter: Waiter) -> None:
        self._all.add(waiter)
        if self.is_cut:
            waiter.cut()

    def _hear(self, changes: Changes) -> None:
        if not self._concerns.somebody(changes):
            return
        with self._lock:
            if self._heard is not None:
                self._heard.merge(changes)
                return
            self._heard = Changes()
            self._heard.merge(changes)
        with suppress(RuntimeError):  # The event loop is closed, and no call waits.
            self._home.call_soon_threadsafe(self._spread)

    def _spread(self) -> None:
        with self._lock:
            heard, self._heard = self._heard, None
        if heard is None:
            return
        parts: dict[frozenset[str] | None, ToldCommit] = {}
        for subscription in self._streams:
            tasks = subscription.tasks
            if tasks not in parts:
                parts[tasks] = ToldCommit(heard.for_all() if tasks is None else heard.for_tasks(tasks))
            if parts[tasks].changes:
                subscription.take(parts[tasks])
        if UNKNOWN in heard.topics:
            for waiter in self._all:
                waiter.wake()
            return
        for job_id in heard.ended:
            for waiter in self._of_jobs.get(job_id, ()):
                waiter.wake()
        if STOPS in heard.topics:
            self._wake_workers()
        elif heard.ready or heard.new:
            for queue in heard.queues:
                self._wake_for(queue, None if queue in heard.ready else heard.new[queue])
            self._wake_for(ANY_QUEUE, None if heard.ready else set().union(*heard.new.values()))

    def _wake_for(self, queue: str, new: set[str] | None) -> None:
        """Wake those that serve the queue and one of these tasks. None: whatever they serve."""
        for served, waiting in self._of_queues.get(queue, {}).items():
            if new is None or not new.isdisjoint(served):
                _ask(waiting, ASKED_AT_ONCE)

    def _wake_workers(self) -> None:
        for offers in self._of_queues.values():
            for waiting in offers.values():
                _ask(waiting, len(waiting))


def _ask(waiting: dict[Waiter, None], most: int) -> None:
    """Wake the waiters that were not woken for the longest time."""
    for waiter in list(islice(waiting, most)):
        del waiting[waiter]
        waiting[waiter] = None
        waiter.wake()
