"""The doors of the daemon: uvicorn on the unix socket and, with a token, on loopback TCP."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

from holdfast.api.doors import TcpDoor, UnixDoor
from holdfast.core.errors import StoreUnavailable
from holdfast.wire.home import Home

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


class QuietServer(uvicorn.Server):
    """Signals are the daemon's business."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Doors:
    """Listening from `open` until `close`."""

    def __init__(self, app: ASGIApp, home: Home, port: int | None) -> None:
        self._home = home
        unix = uvicorn.Config(app, http=UnixDoor, ws="none", lifespan="off", log_config=None, access_log=False)
        self._servers: list[tuple[QuietServer, socket.socket]] = [(QuietServer(unix), _unix_socket(home))]
        self.port: int | None = None
        if port is not None:
            tcp = _tcp_socket(port)
            self.port = tcp.getsockname()[1]
            door = TcpDoor(app, home.token.read_text(), LOOPBACK)
            config = uvicorn.Config(door, ws="none", lifespan="off", log_config=None, access_log=False)
            self._servers.append((QuietServer(config), tcp))
        self._tasks: list[asyncio.Task[None]] = []

    async def open(self) -> None:
        """Begin to listen."""
        self._tasks = [asyncio.create_task(server.serve(sockets=[door])) for server, door in self._servers]
        while not all(server.started for server, _ in self._servers):
            await asyncio.sleep(0.005)

    async def close(self) -> None:
        """Take no new connection, cut the long calls, let the short ones end."""
        for server, _ in self._servers:
            server.should_exit = True
            server.force_exit = True
        await asyncio.gather(*self._tasks)
        self._home.socket.unlink(missing_ok=True)


def _unix_socket(home: Home) -> socket.socket:
    # Only the holder of the daemon's lock comes here, so a socket file that is there is a dead daemon's.
    home.socket.unlink(missing_ok=True)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        door.bind(str(home.socket))
    except OSError as error:
        raise StoreUnavailable(f"the socket {home.socket} cannot be made ({error}); choose a shorter --home") from error
    home.socket.chmod(0o600)
    door.listen(1024)
    return door


def _tcp_socket(port: int) -> socket.socket:
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        door.bind(("127.0.0.1", port))
    except OSError as error:
        raise StoreUnavailable(
            f"port {port} on 127.0.0.1 cannot be used ({error.strerror}); choose another --port"
        ) from error
    door.listen(1024)
    return door
