"""The HTTP servers of the daemon: uvicorn on the unix socket and, with a token, on TCP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import uvicorn

from holdfast.api.access import Access
from holdfast.api.admission import BoundedHttp, TcpAccess, TcpHttp, UnixHttp
from holdfast.api.arrivals import Arrivals
from holdfast.api.budgets import BodyBudget, Budgets, ConnectionBudget, make_room_for_files
from holdfast.api.incoming import AsgiApp
from holdfast.api.refused_counter import RefusedCounter
from holdfast.core.errors import StoreUnavailable
from holdfast.core.webhooks import addresses
from holdfast.daemon.listening import Listener, TcpListener
from holdfast.daemon.settings.settings import ApiSettings
from holdfast.wire.home import Home
from holdfast.wire.http import bracketed

if TYPE_CHECKING:
    from ssl import SSLContext

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
KEEP_ALIVE_S = 75
LAST_WORDS_S = 2
SWEEP_S = 1.0
BACKLOG = 4_096
# So many of the largest requests may be under way at once.
LARGEST_AT_ONCE = 4

log = logging.getLogger("holdfast.daemon")


class QuietServer(uvicorn.Server):
    """A uvicorn server that leaves signals to the daemon, and connections to a `Listener`. `is_open`: it listens."""

    def __init__(self, config: uvicorn.Config, listener: Listener, http: type[BoundedHttp], budgets: Budgets) -> None:
        super().__init__(config)
        self.is_open = asyncio.Event()
        self._listener = listener
        self._http = http
        self._budgets = budgets

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        make = partial(self._http, self.config, self.server_state, {}, budgets=self._budgets)
        self._listener.start(make)
        self.servers = [self._listener]  # type: ignore[list-item]  # it has what is asked of one: close, wait_closed
        self.started = True
        self.is_open.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class ServedSocket:
    """A socket, and the server behind it."""

    def __init__(
        self, app: AsgiApp, listening: socket.socket, listener: Listener, http: type[BoundedHttp], budgets: Budgets
    ) -> None:
        config = uvicorn.Config(
            app,
            http=http,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=LAST_WORDS_S,
        )
        self._server = QuietServer(config, listener, http, budgets)
        self._listener = listener
        self._socket = listening
        self._task: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begin to listen."""
        self._task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        opened = asyncio.create_task(self._server.is_open.wait())
        await asyncio.wait({opened, self._task}, return_when=asyncio.FIRST_COMPLETED)
        opened.cancel()
        self._sweeping = asyncio.create_task(self._sweep())

    async def _sweep(self) -> None:
        """Close connections that have kept the daemon waiting for too long."""
        while True:
            await asyncio.sleep(SWEEP_S)
            now = asyncio.get_running_loop().time()
            self._listener.sweep(now)
            for connection in list(self._server.server_state.connections):
                connection.sweep(now)  # type: ignore[union-attr]  # all of them are of our kind

    def shut(self) -> None:
        """Take no new connection; short calls that are under way may end."""
        self._server.should_exit = True

    async def close(self) -> None:
        """Shut it, and cut connections that do not end soon, such as that of a reader that reads nothing."""
        self.shut()
        if self._task is not None:
            await self._task
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._socket.close()
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()


class HttpServers:
    """The servers of both sockets. They listen from `open` until `close`."""

    def __init__(self, app: AsgiApp, home: Home, settings: ApiSettings, access: Access) -> None:
        self._home = home
        self._settings = settings
        self.access = access
        self.port: int | None = None
        self._tcp: ServedSocket | None = None
        limits = make_room_for_files()
        self._arrivals = Arrivals(limits.arrivals, limits.silent)
        self.refused = RefusedCounter("bad_request", "requests that were refused at once")
        bodies = BodyBudget(LARGEST_AT_ONCE * settings.max_body)
        self._budgets = Budgets(ConnectionBudget(limits), bodies, self.refused)
        if settings.port is not None:
            listening = _tcp_socket(settings.host, settings.port)
            self.port = listening.getsockname()[1]
            inner = TcpAccess(app, access, LOOPBACK | names(settings))
            listener = TcpListener(listening, self._arrivals, _certificate(settings))
            self._tcp = ServedSocket(inner, listening, listener, TcpHttp, self._budgets)
        listening = _unix_socket(home)
        self._unix = ServedSocket(app, listening, Listener(listening, self._make_room), UnixHttp, self._budgets)
        self._servers = [server for server in (self._tcp, self._unix) if server is not None]

    @property
    def url(self) -> str | None:
        """The address by TCP; None: there is only the socket."""
        scheme = "http" if self._settings.tls_cert is None else "https"
        return None if self.port is None else f"{scheme}://{self._place}"

    @property
    def _place(self) -> str:
        return f"{bracketed(self._settings.host)}:{self.port}"

    def _make_room(self) -> None:
        """No file is left for a connection to the unix socket, so silent ones by TCP are closed."""
        self._arrivals.close_silent(asyncio.get_running_loop().time())

    async def open(self) -> None:
        """Begin to listen."""
        for server in self._servers:
            await server.open()
        if self.port is not None:
            self._say_who_may_come()

    def _say_who_may_come(self) -> None:
        where, extra = self._place, {"event": "tcp_open", "port": self.port}
        if addresses.is_loopback(self._settings.host):
            log.info("listening on %s, for callers with a token", where, extra=extra)
            return
        safe = "with TLS" if self._settings.tls_cert else "without TLS, which the proxy in front has to bring"
        log.warning("other machines can reach this daemon: listening on %s %s", where, safe, extra=extra)

    def shut_tcp(self) -> None:
        """Take no new connection by TCP."""
        if self._tcp is not None:
            self._tcp.shut()

    async def close(self) -> None:
        """Take no new connection, and end those that are left."""
        await asyncio.gather(*(server.close() for server in self._servers))
        self._home.socket.unlink(missing_ok=True)


def _certificate(settings: ApiSettings) -> Callable[[], SSLContext] | None:
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    from holdfast.daemon.certificate import Certificate

    return Certificate(settings.tls_cert, settings.tls_key).current


def _unix_socket(home: Home) -> socket.socket:
    # This process holds the lock of the daemon, so a socket file that is there is of a dead daemon.
    home.socket.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(str(home.socket))
        home.socket.chmod(0o600)
    except OSError as error:
        listening.close()
        raise StoreUnavailable(
            f"the socket {home.socket} cannot be made ({error.strerror or error}); choose another --home"
        ) from error
    listening.listen(BACKLOG)
    return listening


def names(settings: ApiSettings) -> frozenset[str]:
    """The names by which callers may call this machine, besides those of loopback."""
    return frozenset({*settings.hosts, bracketed(settings.host)})


def _tcp_socket(host: str, port: int) -> socket.socket:
    listening: socket.socket | None = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        # With the protocol given, asyncio knows that it is TCP, and sends small packets at once.
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        if listening is not None:
            listening.close()
        raise StoreUnavailable(
            f"port {port} on {host} cannot be used ({error.strerror}); choose another --port"
        ) from error
    listening.listen(BACKLOG)
    return listening
