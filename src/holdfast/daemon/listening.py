"""Accepts connections, a few at a time, so that a flood of them cannot use up the files of the daemon.

On TCP a connection is counted from the moment it is accepted. Nothing is made for it (no TLS, no parser) before its
first byte has come.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from holdfast.api.admission import HEAD_S
from holdfast.api.arrivals import Arrival, Arrivals

HANDSHAKE_S = 5.0
GOODBYE_S = 2.0
AT_ONCE = 32
LOOK_S = 0.01
OUT_OF_FILES_S = 0.1
TELL_EVERY_S = 60.0

log = logging.getLogger("holdfast.daemon")


class Listener:
    """Accepts connections until it is closed. It is what uvicorn calls a server."""

    def __init__(self, listening: socket.socket, when_out_of_files: Callable[[], None] = lambda: None) -> None:
        self.make_protocol: Callable[..., asyncio.Protocol]
        self._listening = listening
        self._when_out_of_files = when_out_of_files
        self._loop: asyncio.AbstractEventLoop
        self._pause: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False
        self._told_at: float | None = None

    def start(self, make_protocol: Callable[..., asyncio.Protocol]) -> None:
        """Begin."""
        self.make_protocol = make_protocol
        self._loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        self._loop.add_reader(self._listening, self._accept)

    def close(self) -> None:
        """Take no more."""
        if not self._is_closed:
            self._is_closed = True
            self._loop.remove_reader(self._listening)
            if self._pause is not None:
                self._pause.cancel()

    async def wait_closed(self) -> None:
        """Returns at once: accepted connections belong to the server."""

    def sweep(self, now: float) -> None:
        """Close what has waited for too long."""

    def _wait_s(self) -> float:
        """How long to wait before the next one can be taken."""
        return 0.0

    def _accept(self) -> None:
        # Only so many in a row, so that open connections are served too.
        for _ in range(AT_ONCE):
            wait = self._wait_s()
            if wait > 0:
                # An open connection may show its token, or end, before that.
                self._rest(min(wait, LOOK_S))
                return
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._tell(error)
                self._when_out_of_files()
                self._rest(OUT_OF_FILES_S)
                return
            connection.setblocking(False)
            self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        self._begin(self._connect(connection))

    def _rest(self, seconds: float) -> None:
        """Leave the next ones in the queue of the kernel for a moment."""
        self._loop.remove_reader(self._listening)
        self._pause = self._loop.call_later(seconds, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listening, self._accept)

    def _tell(self, error: OSError) -> None:
        now = self._loop.time()
        if self._told_at is None or now - self._told_at > TELL_EVERY_S:
            self._told_at = now
            extra = {"event": "accept_failed"}
            log.warning("a connection cannot be taken (%s); the next try comes soon", error.strerror, extra=extra)

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, connection: socket.socket, tls: ssl.SSLContext | None = None, **more: Any) -> None:
        limits: dict[str, Any] = {}
        if tls is not None:
            limits = {"ssl": tls, "ssl_handshake_timeout": HANDSHAKE_S, "ssl_shutdown_timeout": GOODBYE_S}
        # A failed handshake does not matter here.
        with suppress(OSError):
            await self._loop.connect_accepted_socket(partial(self.make_protocol, **more), connection, **limits)


class TcpListener(Listener):
    """The same for TCP, where anyone can connect."""

    def __init__(
        self, listening: socket.socket, arrivals: Arrivals, tls: Callable[[], ssl.SSLContext] | None = None
    ) -> None:
        # Silent connections make room for others.
        super().__init__(listening, lambda: arrivals.close_silent(self._loop.time()))
        self._arrivals = arrivals
        self._tls = tls
        self._silence_s = HEAD_S if tls is None else HANDSHAKE_S

    def close(self) -> None:
        """Take no more, and close those that have not shown a token."""
        super().close()
        self._arrivals.close()

    def sweep(self, now: float) -> None:
        """Close those that have not sent a byte in time."""
        self._arrivals.close_silent(now - self._silence_s)

    def _wait_s(self) -> float:
        return self._arrivals.wait_s(self._loop.time())

    def _take(self, connection: socket.socket) -> None:
        arrival = Arrival(self._loop.time(), partial(self._drop, connection))
        self._arrivals.add(arrival)
        self._loop.add_reader(connection, self._heard, connection, arrival)

    def _drop(self, connection: socket.socket) -> None:
        self._loop.remove_reader(connection)
        # Reset at once: otherwise thousands of them would stay in the kernel for a minute.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    def _heard(self, connection: socket.socket, arrival: Arrival) -> None:
        """Its first byte has come, or its end."""
        try:
            is_there = bool(connection.recv(1, socket.MSG_PEEK))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            is_there = False
        if not is_there:
            self._arrivals.leave(arrival)
            self._drop(connection)
            return
        self._loop.remove_reader(connection)
        self._arrivals.speaks(arrival, self._loop.time())
        arrival.close = partial(_hang_up, connection)
        self._begin(self._welcome(connection, arrival))

    async def _welcome(self, connection: socket.socket, arrival: Arrival) -> None:
        try:
            tls = None if self._tls is None else self._tls()
            await self._connect(connection, tls, arrivals=self._arrivals, arrival=arrival)
        finally:
            # The protocol tells of the end of a connection, but not if the handshake failed.
            if not arrival.is_connected:
                self._arrivals.leave(arrival)


def _hang_up(connection: socket.socket) -> None:
    """End a connection during its handshake. Its reader sees the end."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
