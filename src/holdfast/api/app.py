"""The application: one route for each call, and a few others."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.api.answers import RETRY_SOON, Answer, Stream, answer, answer_exchange, answer_to, problem, problem_of
from holdfast.api.callers import give_trigger, log_call
from holdfast.api.description import describe
from holdfast.api.files import Files
from holdfast.api.guards import check_guard
from holdfast.api.holders import check_secret
from holdfast.api.hub import Hub
from holdfast.api.incoming import Incoming, Receive, Scope, Send
from holdfast.api.long_calls import LongCalls
from holdfast.api.observed import NoObserver, Observer, give_trace, record
from holdfast.api.reading import MAX_BODY, read_request, resolve_dependencies
from holdfast.api.refusals import Gone
from holdfast.api.routing import Endpoint, Route, Router
from holdfast.core.errors import Conflict, HoldfastError, StoreError
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.workspaces.workspace import WorkspaceLimits
from holdfast.observe import trace
from holdfast.observe.user import working_for
from holdfast.runtime.clock import Clock
from holdfast.store.engine import Engine
from holdfast.store.scripts.machines.machines import list_machines
from holdfast.store.scripts.maintenance import retention
from holdfast.wire.call import ApiCall, Values
from holdfast.wire.calls import CALLS, Hello
from holdfast.wire.peer import INSIDE
from holdfast.wire.special_calls import (
    DAEMON,
    HELLO,
    LIVEZ,
    METRICS,
    METRICS_TEXT,
    OPENAPI,
    READYZ,
    SPECIAL_CALLS,
    Health,
)
from holdfast.wire.status import DaemonStatus

READERS = 8
NOT_READY = "the daemon is not ready"  # a caller without a token is told no more
_INSIDE = INSIDE.lower().encode()

log = logging.getLogger("holdfast.api")


class Backend(Struct, frozen=True):
    """What the routes use. `missing` says why the daemon takes no calls, or None.

    `is_stopping`: it stops, and only its workers may call, to deliver what they have. `lacks_room`: it answers calls
    that write nothing, and says why it is not ready.
    """

    engine: Engine
    clock: Clock
    hub: Hub
    hello: Hello
    missing: Callable[[], str | None]
    is_stopping: Callable[[], bool] = lambda: False
    lacks_room: Callable[[], str | None] = lambda: None
    long_calls: int = 1_000
    max_body: int = MAX_BODY
    requires_secret: bool = False
    observer: Observer = NoObserver()
    status: Callable[[], DaemonStatus] | None = None
    targets: AddressPolicy = AddressPolicy()
    workspace_limits: Callable[[], WorkspaceLimits] = WorkspaceLimits

    def given(self, call: ApiCall) -> Values:
        """What the script of a call is given that no caller sends."""
        now = {"now": self.clock.now()}
        return now | {"limits": self.workspace_limits()} if call.takes_limits else now

    def gives_no_jobs(self) -> str | None:
        """Why no worker gets a job now, or None."""
        return self.missing() or self.lacks_room()


class Api:
    """The ASGI application."""

    def __init__(self, router: Router, long_calls: LongCalls, observer: Observer) -> None:
        self._router = router
        self._observer = observer
        self.long_calls = long_calls

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, in the trace of its caller."""
        route, params = self._router.find(scope)
        incoming = Incoming(scope, receive, params)
        caller = incoming.caller
        here = trace.of_header(incoming.header(b"traceparent"))
        started_at, began = time.time_ns(), time.monotonic()
        with trace.using(here), working_for(caller.user):
            try:
                said = await self._said(route, incoming)
            except Gone:
                return
            log_call(caller, route.call, said.status)
            # The duration of a long call says nothing.
            if not route.is_long:
                self._observer.called(route.call, time.monotonic() - began, said.status)
            if not route.is_quiet:
                record(route.name, here, started_at, said.status)
            more = (b"traceparent", here.header.encode())
            if incoming.method == "HEAD" and isinstance(said, Stream):
                await said.send_head(send, more)
            else:
                await said.send(send, more)

    async def _said(self, route: Route, incoming: Incoming) -> Answer | Stream:
        try:
            if route.call is not None:
                incoming.caller.check(route.call)
            return await route.endpoint(incoming)
        except HoldfastError as error:
            return problem_of(error)
        except Gone:
            raise
        except Exception:
            log.exception("%s %s failed", incoming.method, incoming.path)
            return problem(500, "ERR_INTERNAL", "something went wrong inside the daemon; its log says what")


def make_app(backend: Backend) -> Api:
    """The API of a daemon."""
    # Short calls never wait behind long ones.
    readers = ThreadPoolExecutor(READERS, "holdfast-read")
    patient = ThreadPoolExecutor(READERS, "holdfast-long")
    # A file may have to come from a machine that has just gone, and it takes a while to notice that.
    distant = ThreadPoolExecutor(READERS, "holdfast-files")
    long_calls = LongCalls(
        backend.engine,
        backend.clock,
        backend.hub,
        backend.long_calls,
        backend.observer,
        patient,
        backend.max_body,
        backend.gives_no_jobs,
        backend.requires_secret,
    )
    files = Files(backend.engine, backend.hub, long_calls, distant)
    router = Router()
    for call in CALLS:
        router.add(call, _endpoint(call, backend, distant if call.is_procedure else readers))
    long_calls.add_to(router)
    files.add_to(router)
    about: dict[ApiCall, Endpoint] = {
        HELLO: _hello(backend),
        LIVEZ: _constant(answer(Health("alive"))),
        READYZ: _readyz(backend),
        METRICS_TEXT: _metrics(backend),
        OPENAPI: _openapi,
    }
    if backend.status is not None:
        about[DAEMON] = _status(backend.status)
    for call, endpoint in about.items():
        router.add(call, endpoint)
    return Api(router, long_calls, backend.observer)


def _endpoint(call: ApiCall, backend: Backend, readers: ThreadPoolExecutor) -> Endpoint:
    if call.takes_jobs:
        return _enqueue(call, backend)
    if call.gives_jobs:
        return _exchange(call, backend)
    engine = backend.engine

    async def endpoint(incoming: Incoming) -> Answer:
        refusal = _refusal(backend, incoming, is_for_workers=call.is_for_workers)
        if refusal is not None:
            return refusal
        wanted = await read_request(call, incoming, engine, backend.max_body)
        check_secret(wanted, backend.requires_secret and call.is_for_workers)
        await check_guard(call.guard, wanted, backend.targets)
        give_trigger(call, wanted, incoming.caller)
        args, named = call.arguments(wanted, backend.given(call))
        caller = incoming.caller
        # The thread that reads also encodes, so that a long answer does not delay other calls.
        if call.is_procedure:
            loop = asyncio.get_running_loop()
            done = partial(call.script, engine, *args, **named)
            return await loop.run_in_executor(readers, lambda: answer_to(caller, done(), call.status))
        if call.only_reads(wanted):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                readers, lambda: answer_to(caller, engine.query(call.script, *args, **named), call.status)
            )
        return answer_to(caller, await engine.write(call.script, *args, **named), call.status)

    return endpoint


def _enqueue(call: ApiCall, backend: Backend) -> Endpoint:
    engine = backend.engine

    async def endpoint(incoming: Incoming) -> Answer:
        refusal = _refusal(backend, incoming)
        if refusal is not None:
            return refusal
        wanted: Any = await read_request(call, incoming, engine, backend.max_body)
        await resolve_dependencies(wanted.jobs, engine)
        give_trace(wanted.jobs)
        give_trigger(call, wanted, incoming.caller)
        args, named = call.arguments(wanted, backend.given(call))
        try:
            stored = await engine.write(call.script, *args, **named)
        except StoreError as error:
            await _refuse_known_ids([job.id for job in wanted.jobs], engine, error)
            raise
        return answer(stored, call.status)

    return endpoint


async def _refuse_known_ids(ids: list[str], engine: Engine, error: StoreError) -> None:
    """If an id is taken already, raise that as a mistake of the caller."""
    twice = next((job_id for job_id, count in Counter(ids).items() if count > 1), None)
    if twice is not None:
        raise Conflict(f"two of the jobs have the id {twice}; make one for each") from error
    known = await engine.read(retention.known_jobs, ids)
    if known:
        raise Conflict(
            f"there is a job {known[0]} already; if this is a repeat of an earlier call, send repeated = true, "
            "otherwise make another id"
        ) from error


def _exchange(call: ApiCall, backend: Backend) -> Endpoint:
    engine, observer = backend.engine, backend.observer

    async def endpoint(incoming: Incoming) -> Answer:
        why_not = backend.gives_no_jobs()
        if why_not is not None and not backend.is_stopping():
            return _not_ready(why_not)
        wanted: Any = await read_request(call, incoming, engine, backend.max_body)
        check_secret(wanted, backend.requires_secret)
        request = wanted.request if why_not is None else msgspec.structs.replace(wanted.request, slots=0)
        began = time.monotonic()
        said = await engine.write(
            call.script, wanted.reports, wanted.progress, request, wanted.holds, backend.clock.now()
        )
        observer.exchanged(wanted.reports, said, time.monotonic() - began)
        return await answer_exchange(said)

    return endpoint


def _refusal(backend: Backend, incoming: Incoming, *, is_for_workers: bool = False) -> Answer | None:
    """Why a call is refused, or None. While the daemon stops, calls of workers and their jobs are not."""
    missing = backend.missing()
    if missing is None or (backend.is_stopping() and (is_for_workers or incoming.header(_INSIDE) is not None)):
        return None
    return _not_ready(missing)


def _not_ready(missing: str) -> Answer:
    return problem(503, "ERR_NOT_READY", missing, RETRY_SOON)


def _readyz(backend: Backend) -> Endpoint:
    async def readyz(incoming: Incoming) -> Answer:
        is_stranger = incoming.caller.role is None
        missing = backend.missing()
        trouble = backend.engine.troubles.current
        if missing is None:
            missing = backend.lacks_room() if trouble is None else trouble.sentence
        if missing is not None:
            return _not_ready(NOT_READY if is_stranger else missing)
        if is_stranger:
            return answer(Health("ready"))
        machines = await backend.engine.read(list_machines)
        own = next((machine for machine in machines if machine.node_id == backend.hello.node_id), None)
        return answer(Health("ready", None if own is None else own.refusal(backend.clock.now())))

    return readyz


def _hello(backend: Backend) -> Endpoint:
    async def hello(incoming: Incoming) -> Answer:
        wanted: Any = await read_request(HELLO, incoming, backend.engine)
        spoken = min(wanted.protocol, backend.hello.protocol)
        return answer(msgspec.structs.replace(backend.hello, protocol=spoken))

    return hello


def _constant(said: Answer) -> Endpoint:
    async def endpoint(incoming: Incoming) -> Answer:
        return said

    return endpoint


def _status(status: Callable[[], DaemonStatus]) -> Endpoint:
    async def daemon(incoming: Incoming) -> Answer:
        return answer_to(incoming.caller, status())

    return daemon


def _metrics(backend: Backend) -> Endpoint:
    async def metrics(incoming: Incoming) -> Answer:
        return Answer(await backend.observer.text(), media=METRICS)

    return metrics


async def _openapi(incoming: Incoming) -> Answer:
    return answer(describe((*CALLS, *SPECIAL_CALLS)))
