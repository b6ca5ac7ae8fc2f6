"""The daemon: the list of its loops, the API in front of them, and an orderly way in and out."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

from holdfast.api.app import Backend, make_app
from holdfast.api.hub import Hub
from holdfast.core.errors import Conflict
from holdfast.daemon.server import Doors
from holdfast.daemon.supervisor import Supervisor
from holdfast.runtime.clock import Clock, SystemClock
from holdfast.runtime.heartbeat import Heartbeat
from holdfast.runtime.node import node_name
from holdfast.runtime.session import Session
from holdfast.runtime.upkeep import Upkeep
from holdfast.store.engine import Engine, new_uuid
from holdfast.store.locks import LifeLock
from holdfast.version import VERSION
from holdfast.wire.calls import PROTOCOL, Hello
from holdfast.wire.home import Home
from holdfast.wire.places import Place, app_words

SHORT_WORK_S = 5.0
GRACE_S = 5.0

log = logging.getLogger("holdfast.daemon")


class Daemon:
    """One home, one database, one life."""

    def __init__(
        self,
        home: Home,
        engine: Engine,
        *,
        port: int | None = None,
        apps: tuple[str, ...] = (),
        workers: int = 1,
        clock: Clock | None = None,
    ) -> None:
        self.home = home
        self._engine = engine
        self._clock = clock or SystemClock()
        self._port = port
        self._places = _places(apps, workers)
        self._missing: str | None = "the daemon is starting"
        self._signals = 0
        self._asked = asyncio.Event()
        self._supervisor: Supervisor | None = None

    async def run(self) -> None:
        """Until SIGINT or SIGTERM. A second signal hurries."""
        lock = take_lock(self.home)
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self._heed)
            await self._live()
        finally:
            lock.release()

    def _heed(self) -> None:
        self._signals += 1
        self._asked.set()
        if self._signals > 1 and self._supervisor is not None:
            self._supervisor.hurry()

    async def _live(self) -> None:
        await asyncio.to_thread(self._engine.open)
        session = Session(self._engine, self._clock, new_uuid(), "daemon")
        await session.open(None)
        heartbeat = Heartbeat(self._engine, self._clock, session.id, self._asked.set)
        upkeep = Upkeep(self._engine, self._clock, session.id)
        hub = Hub(self._engine)
        heartbeat.start()
        await upkeep.start()
        await hub.start()
        hello = Hello(VERSION, PROTOCOL, node_name(), os.getpid(), str(self._engine.locks), str(self.home.jobs))
        backend = Backend(self._engine, self._clock, hub, hello, lambda: self._missing)
        doors = Doors(make_app(backend), self.home, self._port)
        await doors.open()
        supervisor = self._supervisor = Supervisor(self.home, self._places)
        supervisor.start()
        self._missing = None
        log.info("listening on %s", self.home.socket, extra={"event": "daemon_ready"})
        await self._asked.wait()
        log.info("stopping", extra={"event": "daemon_stopping"})
        # Others are turned away, while the workers deliver what they still have.
        self._missing = "the daemon is stopping"
        await supervisor.stop(SHORT_WORK_S + GRACE_S + 2 if self._signals < 2 else 1)
        await doors.close()
        hub.stop()
        await upkeep.stop()
        await heartbeat.stop()
        await session.close()
        await asyncio.to_thread(self._engine.close)
        log.info("stopped", extra={"event": "daemon_stopped"})


def _places(apps: tuple[str, ...], workers: int) -> list[Place]:
    """One worker for commands and the system's own jobs, and as many as were asked for with the user's code."""
    with_code = [Place(f"app-{number}", app_words(apps)) for number in range(1, workers + 1)] if apps else []
    return [Place("system", ("--system",)), *with_code]


def take_lock(home: Home) -> LifeLock:
    """The right to be this home's daemon; Conflict names the pid of the one that has it."""
    try:
        lock = LifeLock(home.lock)
    except BlockingIOError:
        pid = home.lock.read_text().strip() or "unknown"
        raise Conflict(f"a daemon with pid {pid} lives in {home.folder} already; stop it with: holdfast down") from None
    home.lock.write_text(str(os.getpid()))
    return lock
