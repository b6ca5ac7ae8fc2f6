"""Calls to the daemon from an event loop, without a thread in between. The control loop of a worker uses them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import cast

from holdfast.wire.home import Address
from holdfast.wire.http import HttpAnswer, Lines, ProtocolError, read_problem, request_bytes
from holdfast.wire.peer import Peer, Persistence
from holdfast.wire.tls import client_context

CONNECT_S = 10.0
CALL_S = 60.0


class AsyncConnection(asyncio.Protocol):
    """One connection; one answer at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer = HttpAnswer()
        self._moved = asyncio.Event()
        self._error: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio."""
        # The transports of other event loops, such as uvloop's, do not inherit from asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Called by asyncio."""
        try:
            self._answer.feed(data)
        except ProtocolError as error:
            self._error = error
        self._moved.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio."""
        self._error = exc or ConnectionResetError("the connection was closed")
        self._moved.set()

    @property
    def is_usable(self) -> bool:
        """Whether it can take another request."""
        return self._error is None

    def send(self, request: bytes) -> HttpAnswer:
        """Write a request. Its answer comes in pieces; see `more`."""
        if self._error is not None or self._transport is None:
            raise ConnectionResetError("the connection was closed")
        self._answer = HttpAnswer()
        self._transport.write(request)
        return self._answer

    async def more(self) -> None:
        """Wait until something has come in."""
        await self._moved.wait()
        self._moved.clear()
        if self._error is not None and not self._answer.is_complete:
            raise self._error

    def close(self) -> None:
        """Close it."""
        self._error = self._error or ConnectionResetError("the connection is closed")
        if self._transport is not None:
            self._transport.abort()


class AsyncTransport:
    """Calls to one daemon, from one event loop."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._idle: list[AsyncConnection] = []
        self._is_closed = False
        self.loop = asyncio.get_running_loop()

    async def call(
        self, method: str, path: str, body: bytes | None, *, again: bytes | None = None, is_repeatable: bool = True
    ) -> bytes:
        """As `Transport.call`."""
        trying = Persistence(self._peer, f"{method} {path}", is_repeatable=is_repeatable)
        while True:
            if again is not None and trying.may_have_come_through:
                body = again
            line, is_sent = self._take(), False
            is_fresh = line is None
            try:
                if line is None:
                    line = await _connect(self._peer.destination())
                is_sent = True
                async with asyncio.timeout(CALL_S):
                    answer = await self._exchange(line, method, path, body)
            except (OSError, ProtocolError) as error:
                if line is not None:
                    line.close()
                pause = trying.broke_off(error, is_fresh=is_fresh, is_sent=is_sent)
            except BaseException:
                if line is not None:
                    line.close()
                raise
            else:
                self._give_back(line, answer)
                content = answer.take()
                if answer.status < 400:
                    return content
                pause = trying.answered(read_problem(answer.status, content), answer.retry_after)
            await asyncio.sleep(pause)

    async def lines(self, path: str, silence: float = CALL_S) -> AsyncGenerator[bytes, None]:
        """The lines of a long answer, as they come, on a connection of its own."""
        lines = Lines()
        try:
            line = await _connect(self._peer.destination())
        except OSError as error:
            raise self._peer.unreachable(error) from error
        try:
            answer = line.send(self._request("GET", path, None))
            while not answer.is_complete:
                async with asyncio.timeout(silence):
                    await line.more()
                if answer.has_begun and answer.status < 400:
                    self._peer.has_met_it = True
                    for text in lines.feed(answer.take()):
                        yield text
            if answer.status >= 400:
                raise read_problem(answer.status, answer.take()).error()
        except (OSError, ProtocolError) as error:
            raise self._peer.unreachable(error) from error
        finally:
            line.close()

    def close(self) -> None:
        """Close the connections, each when its call has ended."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().close()

    async def _exchange(self, line: AsyncConnection, method: str, path: str, body: bytes | None) -> HttpAnswer:
        answer = line.send(self._request(method, path, body))
        while not answer.is_complete:
            await line.more()
        return answer

    def _request(self, method: str, path: str, body: bytes | None) -> bytes:
        return request_bytes(method, self._peer.address.prefix + path, self._peer.headers(), body)

    def _take(self) -> AsyncConnection | None:
        while self._idle:
            line = self._idle.pop()
            if line.is_usable:
                return line
            line.close()
        return None

    def _give_back(self, line: AsyncConnection, answer: HttpAnswer) -> None:
        self._peer.has_met_it = True
        if answer.keeps_open and line.is_usable and not self._is_closed:
            self._idle.append(line)
        else:
            line.close()


async def _connect(address: Address) -> AsyncConnection:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(CONNECT_S):
        if address.socket is not None:
            _, line = await loop.create_unix_connection(AsyncConnection, address.socket)
        else:
            tls = client_context(address.ca) if address.is_tls else None
            _, line = await loop.create_connection(AsyncConnection, address.host, address.port, ssl=tls)
    return line
