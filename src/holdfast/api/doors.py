"""Who may come in: on the unix socket the user who runs the daemon, on TCP whoever has the token."""

from __future__ import annotations

import hmac
import os
import socket
import struct
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from holdfast.api.answers import problem


class UnixDoor(HttpToolsProtocol):
    """HTTP on the unix socket; a peer of another user is turned away before a byte is read."""

    def connection_made(self, transport: Any) -> None:
        if _peer_user(transport.get_extra_info("socket")) in (os.getuid(), 0):
            super().connection_made(transport)
        else:
            transport.abort()


def _peer_user(peer: socket.socket) -> int:
    if hasattr(socket, "SO_PEERCRED"):
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    return os.getuid()  # the socket's mode 0600 is the check where the kernel does not tell


class TcpDoor:
    """Bearer token, Host and Origin, in front of the application on TCP."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal({name: value for name, value in scope["headers"]})
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, headers: dict[bytes, bytes]) -> Any:
        host = headers.get(b"host", b"").decode("latin-1").rpartition(":")[0] or headers.get(b"host", b"").decode(
            "latin-1"
        )
        if host not in self._hosts:
            return problem(421, "ERR_HOST", f"the daemon does not answer for host {host!r}")
        origin = headers.get(b"origin")
        if origin is not None and origin.decode("latin-1").partition("://")[2].rpartition(":")[0] not in self._hosts:
            return problem(403, "ERR_ORIGIN", "requests from web pages of other origins are refused")
        given = headers.get(b"authorization", b"")
        if not hmac.compare_digest(given, b"Bearer " + self._token):
            return problem(
                401, "ERR_TOKEN", "the token is missing or wrong; it is in the file `token` of the home folder"
            )
        return None
