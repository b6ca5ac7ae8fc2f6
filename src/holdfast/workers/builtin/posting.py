"""One POST to a receiver that may fail, hang or lie: limited in time and size, and only to a checked address.

A name is resolved once. Every address is checked, and the connection goes to one of these addresses, so that it does
not matter if the name means another one a moment later. Redirects are not followed, and proxies of the environment are
not used.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, NoReturn, TypeAlias

from msgspec import Struct

from holdfast.core.rules import limits
from holdfast.core.webhooks.addresses import AddressPolicy
from holdfast.core.webhooks.webhook import Target

CONNECT_S = 5.0
BODY_S = 1.0  # once the status is known, the rest matters little
MOST_READ = 64 << 10
MOST_HEARD = 1 << 20  # bytes of a whole answer, whatever it says about its length
LOOK_S = 0.25

Resolve: TypeAlias = Callable[[str, int], list[str]]


class PostFailed(Exception):
    """There was no valid answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class PostAnswer(Struct, frozen=True):
    """The answer of the receiver, with the beginning of its body."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes


class PostPatience:
    """How long it may take in all. `check` may raise to end it sooner."""

    def __init__(self, seconds: float, check: Callable[[], None]) -> None:
        self._seconds = seconds
        self._ends = time.monotonic() + seconds
        self._check = check

    def left(self) -> float:
        """The seconds that are left. PostFailed if there are none."""
        self._check()
        left = self._ends - time.monotonic()
        if left <= 0:
            self.fail()
        return left

    def shorten(self, seconds: float) -> None:
        """From now on it may take this long at most."""
        self._ends = min(self._ends, time.monotonic() + seconds)

    def fail(self) -> NoReturn:
        """Raise that the time is over."""
        raise PostFailed("ERR_WEBHOOK_TIMEOUT", f"there was no answer within {self._seconds:g} s") from None


class Post(Struct, frozen=True):
    """What is sent, and where to."""

    target: Target
    headers: Mapping[str, str]
    body: bytes

    def encoded(self) -> bytes:
        """The request as bytes."""
        lines = [f"POST {self.target.path} HTTP/1.1", f"Host: {self.target.authority}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        lines += [f"Content-Length: {len(self.body)}", "Connection: close", "", ""]
        return "\r\n".join(lines).encode("ascii") + self.body


def send(post: Post, policy: AddressPolicy, patience: PostPatience, resolve: Resolve) -> PostAnswer:
    """Send it to the first address of the host that takes a connection. PostFailed if no answer comes in time."""
    try:
        addresses = checked_addresses(post.target, policy, patience, resolve)
        with _connected(post.target, addresses, patience) as line:
            return _talk(line, post, patience)
    except TimeoutError:
        patience.fail()
    except ssl.SSLCertVerificationError as error:
        raise PostFailed("ERR_WEBHOOK_TLS", f"its certificate cannot be trusted: {error.verify_message}") from None
    except ssl.SSLError as error:
        raise PostFailed("ERR_WEBHOOK_TLS", f"there is no secure connection: {error.reason or error}") from None
    except http.client.RemoteDisconnected:
        raise PostFailed("ERR_WEBHOOK_UNREACHABLE", "the connection was closed without an answer") from None
    except (http.client.HTTPException, ValueError) as error:
        said = f"what came back is not HTTP: {type(error).__name__} {limits.shown(str(error))}"
        raise PostFailed("ERR_WEBHOOK_ANSWER", said) from None
    except OSError as error:
        said = f"{post.target.authority} cannot be reached: {error.strerror or error}"
        raise PostFailed("ERR_WEBHOOK_UNREACHABLE", said) from None


def checked_addresses(target: Target, policy: AddressPolicy, patience: PostPatience, resolve: Resolve) -> list[str]:
    """The addresses of the host, each of which the policy allows."""
    addresses = _resolved(target, patience, resolve)
    if not addresses:
        raise PostFailed("ERR_WEBHOOK_UNREACHABLE", f"{target.host} has no address")
    for address in addresses:
        refusal = policy.refusal(target.host, address)
        if refusal is not None:
            raise PostFailed(
                "ERR_WEBHOOK_ADDRESS",
                f"{target.host} leads to {address}, which is {refusal}; nothing was sent. "
                "If that is what you want, allow it in the settings, in the section [webhooks]",
            )
    return addresses


def look_up(host: str, port: int) -> list[str]:
    """The addresses that the system knows for a host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(item[4][0]) for item in found))


def _resolved(target: Target, patience: PostPatience, resolve: Resolve) -> list[str]:
    """The addresses by the resolver of the system. It has no time limit, so it is left alone if it takes too long."""
    answers: SimpleQueue[list[str] | Exception] = SimpleQueue()

    def ask() -> None:
        try:
            answers.put(resolve(target.host, target.port))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, name="holdfast-resolve", daemon=True).start()
    while True:
        with suppress(Empty):
            answer = answers.get(timeout=min(patience.left(), LOOK_S))
            break
    if isinstance(answer, Exception):
        said = getattr(answer, "strerror", None) or answer
        raise PostFailed("ERR_WEBHOOK_UNREACHABLE", f"{target.host} cannot be resolved: {said}")
    return answer


def _connected(target: Target, addresses: list[str], patience: PostPatience) -> socket.socket:
    last: OSError | None = None
    for address in addresses:
        # It is an address, so it needs no resolver.
        try:
            line = socket.create_connection((address, target.port), min(CONNECT_S, patience.left()))
        except OSError as error:
            last = error
            continue
        try:
            return _secured(line, target, patience) if target.is_secure else line
        except BaseException:
            line.close()
            raise
    assert last is not None
    if isinstance(last, TimeoutError):
        patience.left()
        raise PostFailed("ERR_WEBHOOK_UNREACHABLE", f"{target.authority} took no connection in time")
    raise last


def _secured(line: socket.socket, target: Target, patience: PostPatience) -> socket.socket:
    # The time limit of a socket holds for the handshake as a whole.
    line.settimeout(patience.left())
    return ssl.create_default_context().wrap_socket(line, server_hostname=target.host)


def _talk(line: socket.socket, post: Post, patience: PostPatience) -> PostAnswer:
    left = memoryview(post.encoded())
    with suppress(BrokenPipeError, ConnectionResetError):
        # A receiver that does not read all of it may have answered already.
        while left:
            # Not `sendall`: over TLS it would have the whole time again for each piece.
            line.settimeout(patience.left())
            left = left[line.send(left) :]
    answer = http.client.HTTPResponse(_Line(line, patience), method="POST")  # type: ignore[arg-type]
    answer.begin()
    patience.shorten(BODY_S)
    body = b""
    with suppress(Exception):
        # The status says how it went. An error in the rest does not change that.
        body = answer.read(MOST_READ)
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return PostAnswer(answer.status, answer.reason, headers, body)


class _Line:
    """A socket whose bytes all have to come within the patience, however slowly, and up to a limit."""

    def __init__(self, line: socket.socket, patience: PostPatience) -> None:
        self._raw = _Bounded(line, patience)

    def makefile(self, mode: str) -> io.BufferedReader:
        """Called by the reader of the answer."""
        return io.BufferedReader(self._raw)


class _Bounded(io.RawIOBase):
    def __init__(self, line: socket.socket, patience: PostPatience) -> None:
        self._line = line
        self._patience = patience
        self._heard = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._heard >= MOST_HEARD:
            # A chunk of length -1 would be read to its end, which never comes.
            raise PostFailed("ERR_WEBHOOK_ANSWER", f"what came back is longer than {MOST_HEARD} bytes")
        while True:
            self._line.settimeout(min(self._patience.left(), LOOK_S))
            with suppress(TimeoutError):
                count = self._line.recv_into(buffer)
                self._heard += count
                return count
