"""The daemon: its loops, its API, and how it starts and stops in order."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import msgspec

from holdfast.api.access import Access
from holdfast.api.app import Api, Backend, make_app
from holdfast.api.hub import Hub
from holdfast.apps.calling import error_of
from holdfast.core.errors import Conflict, HoldfastError, StoreFull, StoreUnavailable
from holdfast.core.job import Millis
from holdfast.core.machine.maintenance import KeepTimes
from holdfast.core.settings.queue_changes import QueueChanges
from holdfast.core.watching.new_watch import NewWatch
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.daemon import workspaces_worker
from holdfast.daemon.daemon_session import DaemonSession
from holdfast.daemon.instruments import Instruments
from holdfast.daemon.meter import Meter, Sources
from holdfast.daemon.ownership import refuse_exposed
from holdfast.daemon.server import HttpServers
from holdfast.daemon.settings import settings_meaning
from holdfast.daemon.settings.settings import Settings
from holdfast.daemon.settings.settings_file import CONFIG
from holdfast.daemon.supervisor import Supervisor
from holdfast.daemon.workspaces_worker import PlaceForWorkspaces
from holdfast.private_files import for_owner_alone
from holdfast.runtime.clock import Clock, SystemClock
from holdfast.runtime.machine import probe
from holdfast.runtime.machine.crowding import CrowdWatch
from holdfast.runtime.node import boot_id, node_name
from holdfast.runtime.parts import Parts, commits_of
from holdfast.runtime.planner.planner import Planner
from holdfast.runtime.sessions.judge import BEATS
from holdfast.runtime.upkeep import Upkeep
from holdfast.store.engine import Engine
from holdfast.store.locks import LifeLock
from holdfast.store.scripts.machines import nodes
from holdfast.store.scripts.queues.queues import set_queue
from holdfast.store.scripts.sessions import sessions
from holdfast.store.scripts.workspaces import workspaces
from holdfast.version import VERSION
from holdfast.wire.calls import PROTOCOL, Hello
from holdfast.wire.home import LOOKS_S, Home
from holdfast.wire.places import WorkerPlace, apps_of
from holdfast.wire.status import DaemonStatus

MARGIN_S = 2.0
NO_ROOM_S = 5.0

log = logging.getLogger("holdfast.daemon")


class Daemon:
    """One run of a daemon, with one home and one database."""

    def __init__(
        self,
        home: Home,
        engine: Engine,
        *,
        settings: Settings,
        environment: dict[str, str] | None = None,
        clock: Clock | None = None,
        watches: Sequence[NewWatch] = (),
        queues: Mapping[str, QueueChanges] | None = None,
    ) -> None:
        self.home = home
        self._engine = engine
        self._clock = clock or SystemClock()
        self._settings = settings
        self._environment = environment
        self._watches = watches
        self._queues = queues or {}
        self._places = settings_meaning.places(settings.daemon.apps, settings.daemon.workers)
        self._missing: str | None = "the daemon is starting"
        self._lacks_room: str | None = None
        self._is_stopping = False
        self._signals = 0
        self._asked = asyncio.Event()
        self._supervisor: Supervisor | None = None
        self._servers: HttpServers | None = None
        self._started_at: Millis = 0
        self._node_name = node_name()

    async def run(self) -> None:
        """Run until SIGINT or SIGTERM. A second signal hurries the stop."""
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
        engine = self._engine
        async with AsyncExitStack() as undo:
            await asyncio.to_thread(engine.open)
            undo.push_async_callback(asyncio.to_thread, engine.close)
            self._started_at = self._clock.now()
            await self._learn_name()
            hub = Hub(engine)
            await hub.start()
            undo.callback(hub.stop)
            instruments = Instruments(engine, self._clock, self._settings, self.home.printed)
            hello = self._hello()
            app = self._app(hub, instruments, hello)
            access = Access(self.home.token.read_text(), engine, self._clock)
            servers = self._servers = HttpServers(app, self.home, self._settings.api, access)
            undo.push_async_callback(servers.close)
            self._leave_hello(msgspec.structs.replace(hello, tcp=servers.url))
            await servers.open()
            upkeep = await self._begin(undo, instruments.meter)
            if upkeep is None:
                await instruments.stop()
            else:
                await instruments.meter.learn_attendance()
                await self._serve(app, servers, hub, upkeep, instruments)
        log.info("stopped", extra={"event": "daemon_stopped"})

    async def _begin(self, undo: AsyncExitStack, meter: Meter) -> Upkeep | None:
        """Open a session, and start every part. None if a signal came while it waited for room on the disk."""
        settings, engine = self._settings.daemon, self._engine
        session = DaemonSession(
            engine, self._clock, settings.lease / BEATS, settings_meaning.tokens(self._settings.tokens)
        )
        upkeep = Upkeep(
            engine,
            self._clock,
            session.id,
            KeepTimes(round(settings.keep * 1000), round(settings.keep_telemetry * 1000)),
            lease=settings.lease,
            own_locks=self._locks / "sessions",
            probing=settings_meaning.probing(self._settings.machine, self._settings.pressure),
        )
        session.on_renewed(upkeep.rename)
        planner = Planner(
            engine,
            self._clock,
            options=settings_meaning.planning(self._settings.planner),
            of_file=self._watches,
            on_planned=meter.planned,
        )
        if not await self._do_with_room(self._settle_queues) or not await self._do_with_room(session.start):
            return None

        async def end(_: object, error: BaseException | None, trace: object) -> None:
            await session.stop(error_of(error) if isinstance(error, Exception) else None)

        undo.push_async_exit(end)
        undo.callback(upkeep.leave)
        for step in (upkeep.prepare, planner.settle_file):
            if not await self._do_with_room(step):
                return None
        await self._learn_name()
        crowds = CrowdWatch(engine, self._clock, settings_meaning.crowding(self._settings.pressure), planner.slow_down)
        # Every loop of the daemon stands here, but for those that measure it.
        parts = Parts([*upkeep.parts, planner, crowds])
        await parts.start(commits_of(engine))
        undo.push_async_callback(parts.stop)
        return upkeep

    async def _learn_name(self) -> None:
        """Read the name of this machine. With its first session it may get another one than its host name."""
        known = await self._engine.read(nodes.list_nodes)
        self._node_name = next((node.name for node in known if node.id == self._engine.node), node_name())

    async def _settle_queues(self) -> None:
        """Apply the queue settings of the file. They replace what was set by hand. All else stays."""
        for name, changes in self._queues.items():
            await self._engine.write(set_queue, name, changes)

    async def _do_with_room(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Do a step of the start. While the disk is full, callers may read, and it is tried again. False: it stops."""
        while True:
            try:
                await step()
                return True
            except (StoreFull, OSError) as error:
                if isinstance(error, OSError) and error.errno != errno.ENOSPC:
                    raise
                if self._lacks_room is None:
                    log.error("the daemon reads, but starts no job: %s", error, extra={"event": "no_room"})
                self._missing, self._lacks_room = None, str(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._asked.wait(), NO_ROOM_S)
            if self._asked.is_set():
                return False

    def _leave_hello(self, hello: Hello) -> None:
        """Write the `Hello` to a file, for programs of this machine."""
        fresh = self.home.hello.with_suffix(".new")
        with suppress(OSError):  # Programs that find no file ask the daemon.
            with open(fresh, "wb", opener=for_owner_alone) as file:
                file.write(msgspec.json.encode(hello))
            fresh.replace(self.home.hello)

    def _app(self, hub: Hub, instruments: Instruments, hello: Hello) -> Api:
        api = self._settings.api
        backend = Backend(
            self._engine,
            self._clock,
            hub,
            hello,
            lambda: self._missing,
            lambda: self._is_stopping,
            lambda: self._lacks_room,
            long_calls=api.long_calls,
            max_body=api.max_body,
            requires_secret=api.require_session_secret,
            observer=instruments.meter,
            status=self._status,
            targets=AddressPolicy.of(self._settings.webhooks.allow),
            workspace_limits=lambda: workspaces_worker.limits_of(self._settings.workspaces),
        )
        return make_app(backend)

    async def _serve(self, app: Api, servers: HttpServers, hub: Hub, upkeep: Upkeep, instruments: Instruments) -> None:
        # Read before it starts, as it stops the workers in places that nobody wants.
        has_workspaces = await self._engine.read(workspaces.has_workspaces, self._engine.node)
        supervisor = self._supervisor = Supervisor(
            self.home,
            [*self._places, workspaces_worker.PLACE] if has_workspaces else self._places,
            self._environment,
            patience=self._workers_patience,
            examine=self._refuse_exposed,
        )
        supervisor.start()
        on_demand = PlaceForWorkspaces(self._engine, supervisor, is_there=has_workspaces)
        leave = await asyncio.to_thread(self._engine.listen, on_demand.heed)
        self._missing = self._lacks_room = None
        long_calls = app.long_calls
        sources = Sources(lambda: (long_calls.open, long_calls.refused), lambda: supervisor.restarts)
        sources.crash_loops = lambda: sum(place.is_crash_looping for place in supervisor.kept())
        sources.tokens_refused = lambda: servers.access.wrong.refused.counts
        sources.requests_refused = lambda: servers.refused.counts
        await instruments.start(sources)
        log.info("listening on %s", self.home.socket, extra={"event": "daemon_ready"})
        await self._asked.wait()
        log.info("stopping", extra={"event": "daemon_stopping"})
        # Other callers are refused, while the workers deliver what they still have.
        self._missing, self._is_stopping = "the daemon is stopping", True
        servers.shut_tcp()
        leave()
        hub.cut()
        await asyncio.gather(instruments.stop(), self._stop_workers(supervisor))
        # What a killed worker left goes back now, and not only with the next daemon.
        await self._try(upkeep.settle_the_dead())
        await servers.close()

    def _hello(self) -> Hello:
        settings = self._settings.daemon
        return Hello(
            VERSION,
            PROTOCOL,
            self._node_name,
            os.getpid(),
            str(self._locks),
            str(self._engine.files),
            self._engine.node,
            boot_id(),
            str(self._engine.dialect),
            round(settings.lease * 1000),
            round(settings.stuck * 1000),
        )

    def _status(self) -> DaemonStatus:
        engine = self._engine
        kept = [] if self._supervisor is None else self._supervisor.kept()
        trouble = engine.troubles.current
        return DaemonStatus(
            version=VERSION,
            pid=os.getpid(),
            node=self._node_name,
            started_at=self._started_at,
            home=str(self.home.folder),
            socket=str(self.home.socket),
            tcp=None if self._servers is None else self._servers.url,
            store=engine.title,
            dialect=str(engine.dialect),
            settings=(self._environment or {}).get(CONFIG),
            workers=kept,
            trouble=self._lacks_room if trouble is None else trouble.sentence,
            is_pressure_off=probe.is_pressure_off(),
            clock_off_ms=self._clock.off_by(),
            clock_doubt=self._clock.doubt(),
            lost_notifications=engine.notifications.lost,
            unreadable_notifications=engine.notifications.unreadable,
        )

    def _refuse_exposed(self, place: WorkerPlace) -> None:
        """HoldfastError says what others could change by now of what a worker would run."""
        settings = (self._environment or {}).get(CONFIG)
        refuse_exposed(self.home, None if settings is None else Path(settings), apps_of(place.words))

    @property
    def _locks(self) -> Path:
        """The folder of the life locks of its workers. With PostgreSQL, other daemons may have workers there too."""
        return self.home.folder / "locks" if self._engine.is_shared else self._engine.locks

    async def _stop_workers(self, supervisor: Supervisor) -> None:
        # From here on, runs that they leave open do not count as a crash.
        noting = self._try(self._note_stop_requests(supervisor.pids()))
        await asyncio.gather(noting, supervisor.stop(self._workers_patience))

    @property
    def _workers_patience(self) -> float:
        """How long a worker may take to stop."""
        return self._settings.daemon.short + self._settings.daemon.grace + MARGIN_S

    async def _note_stop_requests(self, pids: set[int]) -> None:
        for session in await self._engine.read(sessions.running_sessions):
            if session.kind == "worker" and session.boot_id == boot_id() and session.pid in pids:
                await self._engine.write(sessions.note_stop_request, session.id, self._clock.now())

    async def _try(self, step: Awaitable[None]) -> None:
        """Do a step of the stop. A failure of the database does not end the stop."""
        try:
            await step
        except HoldfastError as error:
            log.warning("during the stop: %s", error)


def take_lock(home: Home) -> LifeLock:
    """Take the lock of the daemon of this home. Conflict names the pid of the one that has it."""
    try:
        lock = LifeLock(home.lock, LOOKS_S)
    except BlockingIOError:
        pid = home.daemon_pid() or "unknown"
        raise Conflict(f"a daemon with pid {pid} lives in {home.folder} already; stop it with: holdfast down") from None
    except OSError as error:
        raise StoreUnavailable(
            f"the home folder {home.folder} cannot be used ({error.strerror}); choose another with --home"
        ) from error
    # Without room for the pid, the socket still tells it.
    with suppress(OSError):
        home.lock.write_text(str(os.getpid()))
    return lock
