"""Accepts connections, a few at a time, so that a flood of them cannot use up the files of the daemon.

On TCP a connection is counted from the moment it is accepted. Nothing is made for it (no TLS, no parser) before its
first byte has come and there is room to read it.

When no more can be accepted, the listener rests: it watches its socket no longer, so that the loop has nothing to do
for those that wait in the queue of the kernel. It goes on when an arrival leaves, is answered, begins to be read, or
has had its time.
"""

from __future__ import annotations

import asyncio
import logging
import select
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

    def _has_room(self) -> bool:
        """Whether the next one can be taken."""
        return True

    def _accept(self) -> None:
        # Only so many in a row, so that open connections are served too.
        for _ in range(AT_ONCE):
            if not self._has_room():
                return
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._tell(error)
                self._when_out_of_files()
                self._rest()
                self._pause = self._loop.call_later(OUT_OF_FILES_S, self._go_on)
                return
            connection.setblocking(False)
            self._take(connection)

    def _take(self, connection: socket.socket) -> None:
        self._begin(self._connect(connection))

    def _rest(self) -> None:
        """Leave the next ones in the queue of the kernel, until somebody calls `_go_on`."""
        self._loop.remove_reader(self._listening)

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
        self._queue = select.poll()
        self._queue.register(listening, select.POLLIN)
        self._needs_room = False
        self._is_called = False
        self._next_end: asyncio.TimerHandle | None = None

    def start(self, make_protocol: Callable[..., asyncio.Protocol]) -> None:
        """Begin."""
        super().start(make_protocol)
        self._arrivals.when_changed = self._look_soon

    def close(self) -> None:
        """Take no more, and close those that have not shown a token."""
        super().close()
        if self._next_end is not None:
            self._next_end.cancel()
        self._arrivals.close()

    def sweep(self, now: float) -> None:
        """Close those that have not sent a byte in time."""
        self._arrivals.close_silent(now - self._silence_s)

    def _has_room(self) -> bool:
        if self._arrivals.has_room:
            return True
        # Nobody is closed for a connection that is not there.
        if not self._queue.poll(0):
            return False
        if self._arrivals.make_room(self._loop.time()):
            return True
        self._needs_room = True
        self._rest()
        self._await_end()
        return False

    def _look_soon(self) -> None:
        """Look again once this turn of the loop is over, in which more may change."""
        if not self._is_called and (self._needs_room or self._arrivals.has_waiting):
            self._is_called = True
            self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Read those that wait, and accept others, as far as there is room."""
        self._is_called = False
        if self._is_closed:
            return
        for arrival in self._arrivals.next_to_read(self._loop.time()):
            # One that was peeked at may still be watched.
            self._loop.remove_reader(arrival.connection)
            arrival.close = partial(_hang_up, arrival.connection)
            self._begin(self._welcome(arrival))
        if self._needs_room:
            self._needs_room = False
            self._go_on()
        self._await_end()

    def _await_end(self) -> None:
        """Look again when the next one has had its time, if another needs its place."""
        if self._next_end is not None:
            self._next_end.cancel()
        end = self._arrivals.next_end(is_accepting=not self._needs_room)
        self._next_end = None if end is None else self._loop.call_at(end, self._look)

    def _take(self, connection: socket.socket) -> None:
        arrival = Arrival(connection, self._loop.time(), partial(self._drop, connection))
        self._arrivals.add(arrival)
        self._loop.add_reader(connection, self._heard, arrival)

    def _drop(self, connection: socket.socket) -> None:
        self._loop.remove_reader(connection)
        # Reset at once: otherwise thousands of them would stay in the kernel for a minute.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    def _heard(self, arrival: Arrival) -> None:
        """Its first byte has come, or its end."""
        try:
            is_there = bool(arrival.connection.recv(1, socket.MSG_PEEK))
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            is_there = False
        if not is_there:
            self._arrivals.leave(arrival)
            self._drop(arrival.connection)
            return
        self._loop.remove_reader(arrival.connection)
        self._arrivals.speaks(arrival)
        self._look()

    async def _welcome(self, arrival: Arrival) -> None:
        try:
            tls = None if self._tls is None else self._tls()
            await self._connect(arrival.connection, tls, arrivals=self._arrivals, arrival=arrival)
        finally:
            # The protocol tells of the end of a connection, but not if the handshake failed.
            if not arrival.is_connected:
                self._arrivals.leave(arrival)


def _hang_up(connection: socket.socket) -> None:
    """End a connection during its handshake. Its reader sees the end."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
