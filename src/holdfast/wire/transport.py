"""HTTP to the daemon over its unix socket, or over TCP with a token, with the standard library's client.

Connections are kept and reused. A call that may have come through is repeated only where a repeat is harmless.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import msgspec

from holdfast.core.errors import HoldfastError, NoDaemon, OutcomeUnknown
from holdfast.store.locks import is_locked
from holdfast.wire.home import Address
from holdfast.wire.problem import Problem

CALL_S = 60.0
PATIENCE_S = 10.0
FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 1.0
NOT_READY = "ERR_NOT_READY"


class Connection(http.client.HTTPConnection):
    """HTTP on a unix socket or on TCP."""

    def __init__(self, address: Address, timeout: float) -> None:
        super().__init__(address.host, address.port or None, timeout=timeout)
        self._address = address

    def connect(self) -> None:
        if self._address.socket is not None:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._address.socket)
            return
        super().connect()
        if self._address.is_tls:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self._address.host)


class Transport:
    """Calls to one daemon, from any thread."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Connection] = []
        self._has_met_it = False
        self._headers = {"Content-Type": "application/json"}
        if address.token is not None:
            self._headers["Authorization"] = f"Bearer {address.token}"

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
        """The body of the answer; raises the error that the daemon reports. `again` is the body of a repeat."""
        until, pause = time.monotonic() + PATIENCE_S, FIRST_PAUSE_S
        while True:
            connection = self._take(timeout)
            is_fresh, is_sent = connection.sock is None, False
            try:
                connection.request(method, self.address.prefix + path, body, self._headers)
                is_sent = True
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                failure: HoldfastError = self._unreachable(error)
                if is_sent and not is_repeatable:
                    raise OutcomeUnknown(
                        f"the daemon went away during {method} {path}; look before you repeat"
                    ) from error
                # A kept connection may have been closed long ago, which says nothing about the daemon.
                if is_fresh and not self._is_coming_back():
                    raise failure from error
            else:
                self._has_met_it = True
                self._idle.append(connection)
                if response.status < 400:
                    return content
                problem = read_problem(response.status, content)
                if problem.code != NOT_READY:
                    raise problem.error()
                failure, is_fresh = NoDaemon(problem.detail), True
            if time.monotonic() > until:
                raise failure
            if is_fresh:
                time.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE_S)
            if is_sent and again is not None:
                body = again

    def lines(self, path: str, timeout: float = CALL_S) -> Iterator[bytes]:
        """The lines of a long answer, as they come, on a connection of its own."""
        with closing(self._open(path, timeout)) as response:
            try:
                yield from response
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(error) from error

    def chunks(self, path: str, timeout: float = CALL_S) -> Iterator[bytes]:
        """A long answer in pieces, as they come, on a connection of its own."""
        with closing(self._open(path, timeout)) as response:
            try:
                while chunk := response.read1(65_536):
                    yield chunk
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(error) from error

    def close(self) -> None:
        """Let the idle connections go."""
        while self._idle:
            self._idle.pop().close()

    def _open(self, path: str, timeout: float) -> http.client.HTTPResponse:
        connection = Connection(self.address, timeout)
        try:
            connection.request("GET", self.address.prefix + path, headers=self._headers)
            response = connection.getresponse()
            self._has_met_it = True
            if response.status >= 400:
                raise read_problem(response.status, response.read()).error()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from error
        # Nobody else holds the connection: it ends with the response.
        connection.sock = None
        return response

    def _take(self, timeout: float) -> Connection:
        try:
            connection = self._idle.pop()
        except IndexError:
            return Connection(self.address, timeout)
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        return connection

    def _is_coming_back(self) -> bool:
        """Whether it is worth waiting: the daemon is starting, or this program has spoken with it before."""
        lock = self.address.lock
        return self._has_met_it or (lock is not None and is_locked(lock) is True)

    def _unreachable(self, error: BaseException) -> NoDaemon:
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return NoDaemon(f"no daemon answers at {self.address} ({said}); start one with: holdfast up")


def read_problem(status: int, content: bytes) -> Problem:
    """The problem that an answer holds; whoever stands between us and the daemon may answer otherwise."""
    try:
        return msgspec.json.decode(content, type=Problem)
    except msgspec.DecodeError:
        said = content[:200].decode("utf-8", "replace")
        return Problem(title="Error", status=status, detail=f"HTTP {status}: {said}", code="ERR_HTTP")


def quoted(value: Any) -> str:
    """A value as it stands in a path or a query."""
    return quote(value if isinstance(value, str) else msgspec.json.encode(value).decode().strip('"'), safe="")
