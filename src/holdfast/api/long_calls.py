"""Calls that wait: for a job to end, for work, for changes. They have a budget of their own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Executor
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from holdfast.api.answers import Answer, Stream, answer_exchange, answer_to
from holdfast.api.holders import check_secret
from holdfast.api.hub import Hub, Subscription, Waiter
from holdfast.api.incoming import Incoming
from holdfast.api.observed import Observer
from holdfast.api.reading import read_request
from holdfast.api.refusals import DaemonStopping, Gone, NotReady, TooManyLongCalls
from holdfast.api.routing import Endpoint, Router
from holdfast.core.job import TERMINAL, RunId
from holdfast.core.jobs.stored_job import Job
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.store.scripts.reading import read_jobs
from holdfast.store.scripts.runs.exchange import exchange
from holdfast.wire.call import ApiCall
from holdfast.wire.special_calls import CHANGES, EVENTS, EXCHANGE_WAIT, WAIT

BREATH_S = 15.0
LOOK_AGAIN_S = 5.0
NO_STORE = ((b"cache-control", b"no-store"),)


class LongCalls:
    """The open long calls. More than `most` are refused, so that short ones are not delayed."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        hub: Hub,
        most: int,
        observer: Observer,
        threads: Executor,
        max_body: int,
        gives_no_jobs: Callable[[], str | None],
        requires_secret: bool,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._hub = hub
        self._most = most
        self._observer = observer
        self._threads = threads
        self._max_body = max_body
        self._gives_no_jobs = gives_no_jobs
        self._requires_secret = requires_secret
        self.open = 0
        self.refused = 0

    def add_to(self, router: Router) -> None:
        """Make the routes."""
        endpoints: dict[ApiCall, Endpoint] = {WAIT: self._wait, EXCHANGE_WAIT: self._exchange, CHANGES: self._changes}
        for call, endpoint in endpoints.items():
            router.add(call, endpoint)

    def take_place(self) -> None:
        """Count a call as open, until `leave_place`. Raise TooManyLongCalls or DaemonStopping if that cannot be."""
        if self._hub.is_cut:
            raise DaemonStopping
        if self.open >= self._most:
            self.refused += 1
            said = f"{self._most} long calls are open already; close some, or raise api.long_calls in holdfast.toml"
            raise TooManyLongCalls(said)
        self.open += 1

    def leave_place(self) -> None:
        """Make room for another one."""
        self.open -= 1

    @contextmanager
    def _place(self) -> Iterator[None]:
        self.take_place()
        try:
            yield
        finally:
            self.leave_place()

    async def _wait(self, incoming: Incoming) -> Answer:
        """The job once it has ended, or as it is when the time is over."""
        wanted: Any = await read_request(WAIT, incoming, self._engine)
        until = time.monotonic() + wanted.timeout_ms / 1000
        waiter, ids = Waiter(), {wanted.job_id}

        def look() -> tuple[Job, Answer]:
            job = self._engine.query(read_jobs.find_last, wanted.job_id)
            return job, answer_to(incoming.caller, job)

        with self._place():
            self._hub.wait_for_job(waiter, wanted.job_id)
            try:
                async with noticing(incoming, waiter):
                    while True:
                        job, said = await asyncio.get_running_loop().run_in_executor(self._threads, look)
                        left = until - time.monotonic()
                        if job.state.name in TERMINAL or left <= 0:
                            return said
                        if job.id not in ids:
                            ids.add(job.id)
                            self._hub.wait_for_job(waiter, job.id)
                        await waiter.rest(min(left, LOOK_AGAIN_S))
            finally:
                self._hub.forget_job(waiter, ids)

    async def _exchange(self, incoming: Incoming) -> Answer:
        """An exchange that waits until it has an answer. Its reports are written once, at its beginning."""
        why_not = self._gives_no_jobs()
        if why_not is not None:
            raise NotReady(why_not)
        wanted: Any = await read_request(EXCHANGE_WAIT, incoming, self._engine, self._max_body)
        check_secret(wanted, self._requires_secret)
        until = time.monotonic() + wanted.timeout_ms / 1000
        request = wanted.request
        reports, progress, holds = wanted.reports, wanted.progress, wanted.holds
        queues = {slots.queue for slots in request.queues if slots.slots > 0}
        # A run that was asked to yield may go on. If its worker were told again each time, it would do nothing else.
        known: set[RunId] | None = None
        told_again = time.monotonic() + LOOK_AGAIN_S
        waiter = Waiter()
        with self._place():
            self._hub.wait_for_work(waiter, queues, request.tasks)
            try:
                async with noticing(incoming, waiter):
                    while True:
                        began = time.monotonic()
                        said = await self._engine.write(exchange, reports, progress, request, holds, self._clock.now())
                        self._observer.exchanged(reports, said, time.monotonic() - began)
                        left = until - time.monotonic()
                        wishes = {stop.run_id for stop in said.stops if stop.is_wish}
                        known = wishes if known is None else known
                        news = wishes if time.monotonic() >= told_again else wishes - known
                        if said.settled or said.claimed or news or len(said.stops) > len(wishes) or left <= 0:
                            break
                        # The reports are written, and jobs that never arrived have gone back.
                        reports, progress, holds = [], [], None
                        await waiter.rest(min(left, LOOK_AGAIN_S))
            finally:
                self._hub.forget_work(waiter, queues, request.tasks)
        if said.claimed:
            self._hub.ask_next(queues, request.tasks)
        return await answer_exchange(said)

    async def _changes(self, incoming: Incoming) -> Stream:
        wanted: Any = await read_request(CHANGES, incoming, self._engine)
        self.take_place()
        subscription = self._hub.subscribe(frozenset(wanted.tasks) if wanted.tasks else None)

        def leave() -> None:
            self._hub.unsubscribe(subscription)
            self.leave_place()

        return Stream(self._events(incoming, subscription), EVENTS, NO_STORE, leave)

    async def _events(self, incoming: Incoming, subscription: Subscription) -> AsyncIterator[bytes]:
        """Commits as server-sent events."""
        yield b": hello\n\n"
        try:
            async with noticing(incoming, subscription):
                while True:
                    told = await subscription.next(BREATH_S)
                    yield b": still here\n\n" if told is None else b"data: " + told + b"\n\n"
                    if pause := self._hub.rest_of_streams:
                        await asyncio.sleep(pause)
        except (DaemonStopping, Gone):
            return  # The stream ends, which tells the reader.


@asynccontextmanager
async def noticing(incoming: Incoming, waiter: Waiter) -> AsyncIterator[None]:
    """In the block, the waiter is woken if the caller goes away."""
    watching = asyncio.create_task(incoming.until_gone(waiter.go))
    try:
        yield
    finally:
        watching.cancel()
