"""A real API on a temporary home: engine, hub, application and doors, on an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from holdfast.api.access import Access
from holdfast.api.app import Api, Backend, make_app
from holdfast.api.hub import Hub
from holdfast.api.long_calls import LongCalls
from holdfast.api.refused_counter import RefusedCounter
from holdfast.api.wrong_tokens import WrongTokens
from holdfast.daemon.server import HttpServers
from holdfast.daemon.settings.settings import ApiSettings
from holdfast.runtime.clock import SystemClock
from holdfast.runtime.sessions.session import Session
from holdfast.store.engine import Engine, new_uuid
from holdfast.store.sqlite.engine import SqliteEngine
from holdfast.version import VERSION
from holdfast.wire.calls import PROTOCOL, Hello
from holdfast.wire.home import Home
from tests.migrated import copy_migrated

T = TypeVar("T")

PATIENCE_S = 30.0


class RunningApi:
    """What tests can reach of it. `missing` is why it is not ready, if it is not."""

    def __init__(self, home: Home, engine: Engine, settings: ApiSettings) -> None:
        self.home = home
        self.engine = engine
        self.missing: str | None = None
        self.is_stopping = False
        self.session_id = new_uuid()
        self.port: int | None = None
        self.wrong = WrongTokens()
        self.refused: RefusedCounter
        self.long_calls: LongCalls
        self.hub: Hub
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="api under test")
        self._app: Api | None = None
        self._servers: HttpServers | None = None
        self._session: Session | None = None

    @property
    def token(self) -> str:
        """The token for TCP."""
        return self.home.token.read_text()

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()
        self.do(self._start())

    def stop(self) -> None:
        """Stop listening, and let go of everything."""
        self.do(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the event loop of the API."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(PATIENCE_S)

    async def _start(self) -> None:
        clock = SystemClock()
        self._session = Session(self.engine, clock, self.session_id, "daemon")
        await self._session.open(None)
        self.hub = Hub(self.engine)
        await self.hub.start()
        hello = Hello(VERSION, PROTOCOL, "here", 1, str(self.engine.locks), str(self.engine.files), self.engine.node)
        backend = Backend(
            self.engine,
            clock,
            self.hub,
            hello,
            lambda: self.missing,
            lambda: self.is_stopping,
            long_calls=self._settings.long_calls,
            max_body=self._settings.max_body,
            requires_secret=self._settings.require_session_secret,
        )
        app = self._app = make_app(backend)
        self.long_calls = app.long_calls
        access = Access(self.token, self.engine, clock, self.wrong)
        self._servers = HttpServers(app, self.home, self._settings, access)
        self.refused = self._servers.refused
        await self._servers.open()
        self.port = self._servers.port

    async def _stop(self) -> None:
        self.hub.cut()
        if self._servers is not None:
            await self._servers.close()
        self.hub.stop()
        if self._session is not None:
            await self._session.close()


@contextmanager
def short_home() -> Iterator[Home]:
    """A home whose socket has a short name, as the system wants it."""
    folder = Path(tempfile.mkdtemp(prefix="hf-"))
    home = Home(folder)
    home.create()
    try:
        yield home
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_api(engine: Engine | None = None, **settings: Any) -> Iterator[RunningApi]:
    """The API with these settings of the section `api`, on a database of its own unless another one is given."""
    with short_home() as home:
        used = engine or SqliteEngine(
            copy_migrated(home.database), durability="normal", now=SystemClock().now, files=home.jobs
        )
        api = RunningApi(home, used, ApiSettings(**settings))
        api.start()
        try:
            yield api
        finally:
            api.stop()
            used.close()
