"""What the daemon of a home has left there about itself. It is believed only as long as that daemon lives."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import msgspec

from holdfast.core.webhooks import addresses
from holdfast.decoding import decode
from holdfast.store.machine import boot_id
from holdfast.wire.calls import PROTOCOL, Hello
from holdfast.wire.home import Address, Home


def left_at_home(home: Home) -> Hello | None:
    """The `Hello` that the daemon which lives in this home has left there. None: it has to be asked."""
    try:
        hello = decode(home.hello.read_bytes(), Hello)
        is_its_own = (
            hello.pid == int(home.lock.read_text()) and home.hello.stat().st_mtime_ns >= home.lock.stat().st_mtime_ns
        )
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    is_current = is_its_own and hello.boot_id == boot_id() and hello.protocol == PROTOCOL
    return hello if is_current and home.is_lived_in else None


def host_at_home(address: Address, hello: Hello) -> str | None:
    """The host to connect to if this is the address of the daemon that said `hello`; otherwise None.

    `localhost` may mean several addresses, and another user may listen on one of them.
    """
    if hello.tcp is None:
        return None
    own = urlsplit(hello.tcp)
    try:
        port = own.port
    except ValueError:
        return None
    if port is None or address.is_tls != (own.scheme == "https") or address.port != port:
        return None
    if address.is_tls and address.host == own.hostname:
        return address.host  # A certificate is for this name.
    host = _reached_by(own.hostname or "", port)
    if address.host == host or (address.host == "localhost" and addresses.is_loopback(host)):
        return address.host if address.is_tls else host
    return None


def _reached_by(listens_on: str, port: int) -> str:
    """The address by which this machine reaches a daemon that listens on such a host."""
    host = str(socket.getaddrinfo(listens_on, port, type=socket.SOCK_STREAM)[0][4][0])
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
