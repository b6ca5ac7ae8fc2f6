"""Calls to the daemon that block the calling thread. Connections are kept and used again.

A call that may have come through is repeated only where a repeat is harmless.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Generator
from contextlib import closing

from holdfast.wire.home import Address
from holdfast.wire.http import PIECE, HttpAnswer, Lines, ProtocolError, read_problem, request_bytes
from holdfast.wire.peer import Peer, Persistence

CALL_S = 60.0


class Connection:
    """A connection, made when it is first used."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._socket: socket.socket | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether it has not been used yet."""
        return self._socket is None

    @property
    def is_usable(self) -> bool:
        """Whether it can take a request. If anything came on it without one, the daemon has closed it."""
        if self._socket is None:
            return True
        if not hasattr(select, "poll"):
            return not select.select([self._socket], [], [], 0)[0]
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return not poll.poll(0)

    def send(self, request: bytes, timeout: float) -> None:
        """Write a request."""
        if self._socket is None:
            self._socket = self._connected(timeout)
        self._socket.settimeout(timeout)
        self._socket.sendall(request)

    def receive(self, answer: HttpAnswer) -> None:
        """Wait for more of the answer."""
        assert self._socket is not None
        data = self._socket.recv(PIECE)
        if not data:
            raise ConnectionResetError("the connection was closed")
        answer.feed(data)

    def close(self) -> None:
        """Close it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connected(self, timeout: float) -> socket.socket:
        address = self._address
        if address.socket is not None:
            made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            made.settimeout(timeout)
            try:
                made.connect(address.socket)
            except BaseException:
                made.close()
                raise
            return made
        tls = None
        if address.is_tls:
            from holdfast.wire.tls import client_context

            tls = client_context(address.ca)
        made = socket.create_connection((address.host, address.port), timeout)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made if tls is None else tls.wrap_socket(made, server_hostname=address.host)


class Transport:
    """Calls to one daemon, from any thread."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._idle: list[Connection] = []

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        again: bytes | None = None,
        is_repeatable: bool = True,
        timeout: float = CALL_S,
    ) -> bytes:
        """The body of the answer. Raise the error that the daemon reports. `again` is the body of a repeat."""
        trying = Persistence(self._peer, f"{method} {path}", is_repeatable=is_repeatable)
        while True:
            if again is not None and trying.may_have_come_through:
                body = again
            connection, is_fresh, is_sent = None, True, False
            answer = HttpAnswer()
            try:
                connection = self._take()
                is_fresh = connection.is_fresh
                connection.send(self._request(method, path, body), timeout)
                is_sent = True
                while not answer.is_complete:
                    connection.receive(answer)
            except (OSError, ProtocolError) as error:
                if connection is not None:
                    connection.close()
                pause = trying.broke_off(error, is_fresh=is_fresh, is_sent=is_sent)
            else:
                self._give_back(connection, answer)
                content = answer.take()
                if answer.status < 400:
                    return content
                pause = trying.answered(read_problem(answer.status, content), answer.retry_after)
            time.sleep(pause)

    def chunks(self, path: str, timeout: float = CALL_S) -> Generator[bytes, None, None]:
        """A long answer in pieces, as they come, on a connection of its own."""
        answer = HttpAnswer()
        try:
            with closing(Connection(self._peer.destination())) as connection:
                connection.send(self._request("GET", path, None), timeout)
                while not answer.is_complete:
                    connection.receive(answer)
                    if answer.has_begun and answer.status < 400 and (piece := answer.take()):
                        self._peer.has_met_it = True
                        yield piece
        except (OSError, ProtocolError) as error:
            raise self._peer.unreachable(error) from error
        if answer.status >= 400:
            raise read_problem(answer.status, answer.take()).error()

    def lines(self, path: str, timeout: float = CALL_S) -> Generator[bytes, None, None]:
        """The lines of a long answer, as they come, on a connection of its own."""
        lines = Lines()
        with closing(self.chunks(path, timeout)) as pieces:
            for piece in pieces:
                yield from lines.feed(piece)

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().close()

    def _request(self, method: str, path: str, body: bytes | None) -> bytes:
        return request_bytes(method, self._peer.address.prefix + path, self._peer.headers(), body)

    def _take(self) -> Connection:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return Connection(self._peer.destination())
            if connection.is_usable:
                return connection
            connection.close()

    def _give_back(self, connection: Connection, answer: HttpAnswer) -> None:
        self._peer.has_met_it = True
        if answer.keeps_open:
            self._idle.append(connection)
        else:
            connection.close()
