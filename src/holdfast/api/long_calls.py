"""Calls that wait: for a job to end, for work, for whatever changes. They have a budget of their own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from holdfast.api.answers import answer, problem, problem_of
from holdfast.api.hub import Hub, Subscription
from holdfast.api.reading import job_id_of, read_request
from holdfast.core.errors import HoldfastError, InvalidInput
from holdfast.core.job import TERMINAL, JobId
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Changes, Engine
from holdfast.store.scripts.exchange import exchange
from holdfast.store.scripts.look import find_last
from holdfast.wire.calls import BY_SCRIPT

BREATH_S = 15.0
LONGEST_WAIT_MS = 3_600_000
LOOK_AGAIN_S = 5.0

Endpoint = Callable[[Request], Awaitable[Response]]


class LongCalls:
    """Every long call that is open. More than `most` are refused, so that short ones keep their place."""

    def __init__(self, engine: Engine, clock: Clock, hub: Hub, most: int) -> None:
        self._engine = engine
        self._clock = clock
        self._hub = hub
        self._most = most
        self.open = 0

    def routes(self) -> list[Route]:
        """Where they are called."""
        return [
            Route("/v1/changes", self._changes),
            Route("/v1/jobs/{job_id}/wait", self._bounded(self._wait)),
            Route("/v1/exchange/wait", self._bounded(self._exchange), methods=["POST"]),
        ]

    def _bounded(self, endpoint: Endpoint) -> Endpoint:
        async def bounded(request: Request) -> Response:
            if self.open >= self._most:
                return self._refusal()
            self.open += 1
            try:
                return await endpoint(request)
            except HoldfastError as error:
                return problem_of(error)
            finally:
                self.open -= 1

        return bounded

    def _refusal(self) -> Response:
        said = f"{self._most} long calls are open already; close some, or raise long_calls in holdfast.toml"
        return problem(429, "ERR_TOO_MANY_LONG_CALLS", said, {"Retry-After": "1"})

    async def _wait(self, request: Request) -> Response:
        """The job once it has ended, or as it is when the time is over."""
        until = time.monotonic() + _wait_s(request)
        job_id = await job_id_of(request.path_params["job_id"], self._engine)
        ids: set[JobId] = {job_id}
        subscription = self._hub.subscribe()
        try:
            while True:
                job = await self._engine.read(find_last, job_id)
                left = until - time.monotonic()
                if job.state.name in TERMINAL or left <= 0 or await request.is_disconnected():
                    return answer(job)
                ids.add(job.id)
                await self._until_concerned(subscription, ids, left)
        finally:
            self._hub.leave(subscription)

    async def _until_concerned(self, subscription: Subscription, ids: set[JobId], limit: float) -> None:
        until = time.monotonic() + min(limit, LOOK_AGAIN_S)
        while (left := until - time.monotonic()) > 0:
            told = await subscription.next(left)
            if told.unknown or not told.ended.isdisjoint(ids):
                return

    async def _exchange(self, request: Request) -> Response:
        """An exchange that waits until it has something to say. What it reports is written once, at its beginning."""
        until = time.monotonic() + _wait_s(request)
        call = BY_SCRIPT[exchange]
        wanted = await read_request(call, request, self._engine)
        args, named = call.arguments(wanted, self._clock.now())
        queues = {slots.queue for slots in wanted.request.queues}  # type: ignore[attr-defined]
        subscription = self._hub.subscribe()
        try:
            while True:
                said = await self._engine.write(exchange, *args, **named)
                left = until - time.monotonic()
                if said.settled or said.claimed or said.stops or left <= 0 or await request.is_disconnected():
                    return answer(said)
                args[:2] = [], []
                await self._until_work(subscription, queues, left)
                args[-1] = self._clock.now()
        finally:
            self._hub.leave(subscription)

    async def _until_work(self, subscription: Subscription, queues: set[str], limit: float) -> None:
        until = time.monotonic() + min(limit, LOOK_AGAIN_S)
        while (left := until - time.monotonic()) > 0:
            told = await subscription.next(left)
            if told.unknown or told.stops or "*" in queues or not told.ready.isdisjoint(queues):
                return

    async def _changes(self, request: Request) -> Response:
        if self.open >= self._most:
            return self._refusal()
        headers = {"Cache-Control": "no-store"}
        return StreamingResponse(self._events(), media_type="text/event-stream", headers=headers)

    async def _events(self) -> AsyncIterator[bytes]:
        """Commits as server-sent events."""
        self.open += 1
        subscription = self._hub.subscribe()
        try:
            yield b": hello\n\n"
            while True:
                told: Changes = await subscription.next(BREATH_S)
                yield b"data: " + msgspec.json.encode(told) + b"\n\n" if told else b": still here\n\n"
        finally:
            self.open -= 1
            self._hub.leave(subscription)


def _wait_s(request: Request) -> float:
    given = request.query_params.get("timeout_ms", "30000")
    if not given.isascii() or not given.isdigit() or int(given) > LONGEST_WAIT_MS:
        raise InvalidInput(f"timeout_ms {given!r} is not valid: use milliseconds from 0 to {LONGEST_WAIT_MS}")
    return int(given) / 1000
