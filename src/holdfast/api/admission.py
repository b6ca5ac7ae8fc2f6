"""Who may call the daemon, and how much one connection may take of it.

On the unix socket that is the user who runs the daemon, on TCP a caller with a token. The head and the body of a
request have limits of time and bytes. The limits for all connections together are in `budgets`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Collection
from typing import Any

import httptools
import msgspec
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from holdfast.api.access import Access
from holdfast.api.answers import PROBLEM, RETRY_SOON, TITLES, Answer, problem, problem_of
from holdfast.api.arrivals import Arrival, Arrivals
from holdfast.api.budgets import Budgets
from holdfast.api.callers import CALLER, NOBODY, Caller
from holdfast.api.incoming import IS_OVER, AsgiApp, Receive, Scope, Send
from holdfast.core.access import ANYBODY, Role
from holdfast.core.errors import HoldfastError
from holdfast.wire.problem import Problem
from holdfast.wire.special_calls import SPECIAL_CALLS

MOST_HEADERS = 100
MOST_HEAD_BYTES = 64 << 10
HEAD_S = 10.0
BODY_S = 120.0
STALLED_S = 600.0
# So many requests may wait behind the one that is being answered, on one connection.
MOST_IN_A_ROW = 16
# The parser goes on through all it is given, also behind a request that is refused, so it is given little at once.
FED_AT_ONCE = 16 << 10
TOO_MANY = "ERR_TOO_MANY_CONNECTIONS"
SHOW_TOKEN = "holdfast.show_token"  # in the scope of a request by TCP: what tells its connection of a valid token
OPEN_PATHS = frozenset(call.path for call in SPECIAL_CALLS if call.role is ANYBODY)


class BoundedHttp(HttpToolsProtocol):
    """HTTP with limits for the head of a request, for its time, and for what all requests take together.

    `sweep` checks the time, from outside: so a request that comes in one piece, as nearly all do, costs nothing.
    """

    is_tcp = False

    def __init__(self, *args: Any, budgets: Budgets, **kw: Any) -> None:
        super().__init__(*args, **kw)
        self._budgets = budgets
        self._is_counted = False
        self._is_lost = False
        self._body_bytes = 0
        # A path may have secrets.
        self.access_log = False
        self._in_head = True
        self._in_body = False
        self._unread_bytes = 0  # of a head, or of a body since the last byte for its reader: trailers, sizes of chunks
        self._is_refused = False
        self._refusal: bytes | None = None  # of a request, until those before it have their answers
        self._answering: RequestResponseCycle | None = None  # `cycle` is the newest request, which may wait behind it
        # Since when the rest of a request has been missing, and since when the peer has not read the rest of an answer.
        self._slow_since: float | None = None
        self._stalled_since: float | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow = _ReadsInTurn(transport, self.pipeline)
        self._slow_since = self.loop.time()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()
        self._is_lost = True
        self._forget_bodies()
        if self._is_counted:
            self._is_counted = False
            self._budgets.connections.give_back(by_tcp=self.is_tcp)

    def count(self) -> bool:
        """Count this connection; False if there is no room for it."""
        # The caller may be known only after the connection has ended. What it took then would never be given back.
        if not self._is_counted and not self._is_lost:
            self._is_counted = self._budgets.connections.take(by_tcp=self.is_tcp)
        return self._is_counted or self._is_lost

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        for start in range(0, len(data), FED_AT_ONCE):
            if self._is_refused:
                return
            self._feed(data[start : start + FED_AT_ONCE])
        if self._in_head or self._in_body:
            if self._slow_since is None:
                self._slow_since = self.loop.time()
        else:
            self._slow_since = None

    def _feed(self, data: bytes) -> None:
        self._unread_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._refuse(400, "ERR_BAD_HTTP", "this is not HTTP/1.1")
        except httptools.HttpParserUpgrade:
            self._answer_without_upgrade()
        if self._unread_bytes > MOST_HEAD_BYTES and (self._in_head or self._in_body):
            self._refuse_head()

    def _answer_without_upgrade(self) -> None:
        """Read nothing more: the request wants another protocol behind it, but is answered as HTTP."""
        if not self._is_refused:
            self._is_refused = True
            self._budgets.refused.count(self._address(), "upgrade")
            self.cycle.keep_alive = False

    def on_message_begin(self) -> None:
        self._in_head, self._unread_bytes = True, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if len(self.url) + len(url) > MOST_HEAD_BYTES:
            self._refuse_head()
        else:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        # What comes behind a body in chunks is no header: access was decided by the head.
        if self._in_head and not self._is_refused:
            super().on_header(name, value)
            if len(self.headers) > MOST_HEADERS or len(name) + len(value) > MOST_HEAD_BYTES:
                self._refuse_head()

    def on_headers_complete(self) -> None:
        if not self._is_refused:
            if len(self.pipeline) >= MOST_IN_A_ROW:
                said = f"{MOST_IN_A_ROW} requests of this connection wait already; read answers before you send more"
                self._refuse(429, "ERR_TOO_MANY_IN_A_ROW", said)
            else:
                super().on_headers_complete()
                if not self.pipeline:
                    self._answering = self.cycle
        self._in_head, self._in_body, self._unread_bytes = False, True, 0

    def on_body(self, body: bytes) -> None:
        self._unread_bytes = 0
        if self._is_refused or self.cycle.response_complete or IS_OVER in self.scope:
            return
        if self._budgets.bodies.take(len(body), self._body_bytes):
            self._body_bytes += len(body)
            super().on_body(body)
        else:
            # The code that reads the request refuses it; the rest of its body is thrown away.
            self.scope[IS_OVER] = True  # type: ignore[literal-required]
            self.cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._in_body = False
        if not self._is_refused:
            super().on_message_complete()
        # The next head has not begun: between two requests a connection may be idle.

    def on_response_complete(self) -> None:
        if not self.pipeline:
            self._forget_bodies()
            if self._refusal is not None and not self.transport.is_closing():
                self._hang_up(self._refusal)
        self._answering = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        if not self.transport.is_closing():
            self.flow.resume_reading()  # The answer may have been to the last one that waited.

    def shutdown(self) -> None:
        # A caller that has not read its answer by now will not read it in the last moments either.
        if self.flow is not None and self.flow.write_paused:
            self.transport.abort()
        else:
            super().shutdown()

    def sweep(self, now: float) -> None:
        """Close the connection if it has kept the daemon waiting for too long."""
        if self.transport.is_closing():
            return
        if self._slow_since is not None and self.flow.read_paused:
            self._slow_since = now  # The daemon does not read, so it cannot know what has come.
        elif self._slow_since is not None:
            limit = HEAD_S if self._in_head else BODY_S
            if now - self._slow_since > limit:
                self._refuse(408, "ERR_TOO_SLOW", f"the request was not complete after {limit:g} seconds")
        if not self.flow.write_paused:
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = now
        elif now - self._stalled_since > STALLED_S:
            self.transport.abort()

    def _forget_bodies(self) -> None:
        self._budgets.bodies.give_back(self._body_bytes)
        self._body_bytes = 0

    def _refuse_head(self) -> None:
        said = f"the head of a request has at most {MOST_HEADERS} headers and {MOST_HEAD_BYTES} bytes"
        self._refuse(431, "ERR_HEAD_TOO_LARGE", said)

    def _refuse(self, status: int, code: str, detail: str) -> None:
        """Say why, behind the answers to earlier requests, and close the connection. Nothing more is read."""
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        self._budgets.refused.count(self._address(), code.removeprefix("ERR_").lower())
        body = msgspec.json.encode(Problem(TITLES[status], status, detail, code))
        head = f"content-type: {PROBLEM}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n".encode()
        for name, value in RETRY_SOON if status == 503 else ():
            head += name + b": " + value + b"\r\n"
        refusal = STATUS_LINE[status] + head + b"\r\n" + body
        if self.cycle is None or self.cycle.response_complete:
            self._hang_up(refusal)
        elif not self._in_body:
            self._refusal = refusal
        elif self.pipeline:
            # The refused one is the last of those that wait.
            self.pipeline.popleft()
            self._refusal = refusal
        else:
            self._hang_up(b"" if self.cycle.response_started else refusal)

    def _hang_up(self, last_words: bytes) -> None:
        self.transport.write(last_words)
        self.transport.close()

    def _address(self) -> str:
        return self.client[0] if self.client else "the socket"


class _ReadsInTurn(FlowControl):
    """Reads on only when no request of the connection waits for its turn, whoever asks."""

    def __init__(self, transport: asyncio.Transport, waiting: Collection[object]) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class UnixHttp(BoundedHttp):
    """HTTP on the unix socket. A peer of another user is refused before a byte is read."""

    def connection_made(self, transport: Any) -> None:
        self._peer = peer_user(transport.get_extra_info("socket"))
        if self._peer not in (os.getuid(), 0):
            transport.abort()
            return
        super().connection_made(transport)
        if not self.count():
            self._refuse(503, TOO_MANY, self._budgets.connections.refusal(by_tcp=False))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[CALLER] = Caller(Role.ADMIN, uid=self._peer)  # type: ignore[literal-required]

    def connection_lost(self, exc: Exception | None) -> None:
        if self.transport is not None:
            super().connection_lost(exc)


class TcpHttp(BoundedHttp):
    """HTTP on TCP. Before a valid token has come, a connection is one of the arrivals, and may have to make room."""

    is_tcp = True

    def __init__(self, *args: Any, arrivals: Arrivals, arrival: Arrival, **kw: Any) -> None:
        super().__init__(*args, **kw)
        self._arrivals = arrivals
        self._arrival = arrival

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arrival.close, self._arrival.is_connected = transport.abort, True

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[SHOW_TOKEN] = self._show_token  # type: ignore[literal-required]

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if not self._is_refused:
            self._arrivals.asks(self._arrival)

    def on_response_complete(self) -> None:
        self._arrivals.was_answered(self._arrival, self.loop.time())
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrivals.leave(self._arrival)
        super().connection_lost(exc)

    def _show_token(self) -> str | None:
        if self.count():
            self._arrivals.leave(self._arrival)
            return None
        return self._budgets.connections.refusal(by_tcp=True)


def show_token(scope: Scope) -> Answer | None:
    """Tell the connection of a request that its token is valid; a refusal if there is no room for it."""
    refusal: str | None = scope[SHOW_TOKEN]() if SHOW_TOKEN in scope else None
    return None if refusal is None else problem(503, TOO_MANY, refusal, RETRY_SOON)


def peer_user(peer: socket.socket) -> int:
    """The user at the other end of a unix socket."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    return os.getuid()  # if the kernel does not tell, the mode 0600 of the socket is the check


class TcpAccess:
    """Checks Host, Origin and the bearer token of requests by TCP.

    A web page in a browser of this machine can send requests here. It cannot know the token. Host shows it if the page
    has made a name of its own point here, and Origin shows where the page comes from. Calls that need no role are not
    checked.
    """

    def __init__(self, app: AsgiApp, access: Access, hosts: frozenset[str]) -> None:
        self._app = app
        self._access = access
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request through, or say why not."""
        try:
            refusal = await self._let_in(scope)
        except HoldfastError as error:
            refusal = problem_of(error)
        if refusal is not None:
            await refusal.send(send)
        else:
            await self._app(scope, receive, send)

    async def _let_in(self, scope: Scope) -> Answer | None:
        """Find out who calls. An answer says why the request is refused."""
        headers = scope["headers"]
        given = [value for name, value in headers if name == b"authorization"]
        stranger = self._stranger(headers)
        if scope["path"] in OPEN_PATHS and (stranger is not None or not given):
            scope[CALLER] = NOBODY
            return None
        if stranger is not None:
            return stranger
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        address = str((scope.get("client") or ("unknown",))[0])
        scope[CALLER] = await self._access.caller(token.strip() if scheme.lower() == b"bearer" else b"", address)
        return show_token(scope)

    def _stranger(self, headers: list[tuple[bytes, bytes]]) -> Answer | None:
        """A refusal if the request was meant for another host, or comes from a page of one."""
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or host_of(hosts[0].decode("latin-1")) not in self._hosts:
            said = "the daemon does not answer for this host; callers may use the names in api.hosts of holdfast.toml"
            return problem(421, "ERR_HOST", said)
        for name, value in headers:
            if name == b"origin" and host_of(value.decode("latin-1").partition("://")[2]) not in self._hosts:
                return problem(403, "ERR_ORIGIN", "requests from web pages of other origins are refused")
        return None


def host_of(text: str) -> str:
    """The host of `host:port`, in small letters; an IPv6 address keeps its brackets."""
    if text.startswith("["):
        return (text.partition("]")[0] + "]").lower()
    return text.partition(":")[0].lower().rstrip(".")
