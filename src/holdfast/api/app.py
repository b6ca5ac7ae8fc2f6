"""The application: one route for each call, and the few that are more than a call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from holdfast.api.answers import answer, problem, problem_of
from holdfast.api.description import describe
from holdfast.api.hub import Hub
from holdfast.api.long_calls import LongCalls
from holdfast.api.reading import MAX_BODY, read_request
from holdfast.core.errors import HoldfastError
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.wire.calls import CALLS, Call, Hello

READERS = 8

log = logging.getLogger("holdfast.api")

Endpoint = Callable[[Request], Awaitable[Response]]


class Backend(Struct, frozen=True):
    """What the routes stand on. `missing` says why the daemon is not ready, or None."""

    engine: Engine
    clock: Clock
    hub: Hub
    hello: Hello
    missing: Callable[[], str | None]
    long_calls: int = 1_000
    max_body: int = MAX_BODY


def make_app(backend: Backend) -> Starlette:
    """The API of a daemon."""
    readers = ThreadPoolExecutor(READERS, "holdfast-read")
    long_calls = LongCalls(backend.engine, backend.clock, backend.hub, backend.long_calls)
    routes = [
        Route("/livez", _livez),
        Route("/readyz", _readyz(backend)),
        Route("/openapi.json", _openapi),
        Route("/v1/hello", _constant(backend.hello)),
        *(Route(call.path, _endpoint(call, backend, readers), methods=[call.method]) for call in CALLS),
        *long_calls.routes(),
    ]
    return Starlette(routes=routes, exception_handlers={404: _no_route, 405: _no_method, Exception: _unexpected})


def _endpoint(call: Call, backend: Backend, readers: ThreadPoolExecutor) -> Endpoint:
    engine = backend.engine

    async def endpoint(request: Request) -> Response:
        try:
            missing = backend.missing()
            if missing is not None:
                return problem(503, "ERR_NOT_READY", missing, {"Retry-After": "1"})
            wanted = await read_request(call, request, engine, backend.max_body)
            args, named = call.arguments(wanted, backend.clock.now())
            if call.is_procedure:
                result: Any = await asyncio.to_thread(call.script, engine, *args, **named)
            elif call.writes:
                result = await engine.write(call.script, *args, **named)
            else:
                loop = asyncio.get_running_loop()
                result = await loop.run_in_executor(readers, lambda: engine.query(call.script, *args, **named))
            return answer(result, call.status)
        except HoldfastError as error:
            return problem_of(error)

    return endpoint


async def _livez(request: Request) -> Response:
    return answer({"status": "alive"})


def _readyz(backend: Backend) -> Endpoint:
    async def readyz(request: Request) -> Response:
        missing = backend.missing()
        return answer({"status": "ready"}) if missing is None else problem(503, "ERR_NOT_READY", missing)

    return readyz


def _constant(value: Struct) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return answer(value)

    return endpoint


async def _openapi(request: Request) -> Response:
    return answer(describe(CALLS))


async def _no_route(request: Request, error: Exception) -> Response:
    return problem(404, "ERR_NO_ROUTE", f"there is no {request.url.path}; see /openapi.json")


async def _no_method(request: Request, error: Exception) -> Response:
    return problem(405, "ERR_NO_METHOD", f"{request.url.path} does not take {request.method}; see /openapi.json")


async def _unexpected(request: Request, error: Exception) -> Response:
    log.exception("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "ERR_INTERNAL", "something went wrong inside the daemon; its log says what")
