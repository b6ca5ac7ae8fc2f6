"""One POST to somebody who may fail, hang or lie: bounded in time and size, and only to an address that was checked.

Names are resolved once; every address that comes back is checked, and the connection goes to one of those very
addresses, so that a name that means something else a moment later leads nowhere else. Redirects are not followed, and
proxies of the environment are not used.
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

from holdfast.core.addresses import AddressPolicy
from holdfast.core.limits import shown
from holdfast.core.webhook import Target

CONNECT_S = 5.0
BODY_S = 1.0  # once the status is known, the rest is of little interest
MOST_READ = 64 << 10
MOST_HEARD = 1 << 20  # all of an answer, whatever it says about its length
LOOK_S = 0.25

Resolve: TypeAlias = Callable[[str, int], list[str]]


class PostFailed(Exception):
    """Nothing came back that says how it went."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Answer(Struct, frozen=True):
    """What the receiver said; of the body, the beginning."""

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes


class Patience:
    """How long it may take in all. `check` raises what is to end it sooner."""

    def __init__(self, seconds: float, check: Callable[[], None]) -> None:
        self._seconds = seconds
        self._ends = time.monotonic() + seconds
        self._check = check

    def left(self) -> float:
        """The seconds that are left; PostFailed if there are none."""
        self._check()
        left = self._ends - time.monotonic()
        if left <= 0:
            self.fail()
        return left

    def shorten(self, seconds: float) -> None:
        """From now on it may take this long at most."""
        self._ends = min(self._ends, time.monotonic() + seconds)

    def fail(self) -> NoReturn:
        """The time is over."""
        raise PostFailed("ERR_WEBHOOK_TIMEOUT", f"there was no answer within {self._seconds:g} s") from None


class Post(Struct, frozen=True):
    """What is sent, and where to."""

    target: Target
    headers: Mapping[str, str]
    body: bytes

    def encoded(self) -> bytes:
        """The request as it goes over the line."""
        lines = [f"POST {self.target.path} HTTP/1.1", f"Host: {self.target.authority}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        lines += [f"Content-Length: {len(self.body)}", "Connection: close", "", ""]
        return "\r\n".join(lines).encode("ascii") + self.body


def send(post: Post, policy: AddressPolicy, patience: Patience, resolve: Resolve) -> Answer:
    """Send it to the first of the host's addresses that takes a connection; PostFailed if nobody answers in time."""
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
        said = f"what came back is not HTTP: {type(error).__name__} {shown(str(error))}"
        raise PostFailed("ERR_WEBHOOK_ANSWER", said) from None
    except OSError as error:
        said = f"{post.target.authority} cannot be reached: {error.strerror or error}"
        raise PostFailed("ERR_WEBHOOK_UNREACHABLE", said) from None


def checked_addresses(target: Target, policy: AddressPolicy, patience: Patience, resolve: Resolve) -> list[str]:
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


def _resolved(target: Target, patience: Patience, resolve: Resolve) -> list[str]:
    """The system's resolver knows no time limit: it is left behind if it takes too long."""
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


def _connected(target: Target, addresses: list[str], patience: Patience) -> socket.socket:
    last: OSError | None = None
    for address in addresses:
        # An address needs no resolver: what is connected to is what was checked.
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


def _secured(line: socket.socket, target: Target, patience: Patience) -> socket.socket:
    # The time limit of a socket holds for the handshake as a whole.
    line.settimeout(patience.left())
    return ssl.create_default_context().wrap_socket(line, server_hostname=target.host)


def _talk(line: socket.socket, post: Post, patience: Patience) -> Answer:
    left = memoryview(post.encoded())
    with suppress(BrokenPipeError, ConnectionResetError):
        # Who does not want to hear it all may have said so already.
        while left:
            # Not `sendall`: over TLS that would have the whole time anew for each piece.
            line.settimeout(patience.left())
            left = left[line.send(left) :]
    answer = http.client.HTTPResponse(_Line(line, patience), method="POST")  # type: ignore[arg-type]
    answer.begin()
    patience.shorten(BODY_S)
    body = b""
    with suppress(Exception):
        # The status says how it went; what is wrong with the rest does not change it.
        body = answer.read(MOST_READ)
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(answer.status, answer.reason, headers, body)


class _Line:
    """A socket whose bytes all have to come within the patience, however slowly they drip, and are bounded in all."""

    def __init__(self, line: socket.socket, patience: Patience) -> None:
        self._raw = _Bounded(line, patience)

    def makefile(self, mode: str) -> io.BufferedReader:
        """What the reader of the answer asks for."""
        return io.BufferedReader(self._raw)


class _Bounded(io.RawIOBase):
    def __init__(self, line: socket.socket, patience: Patience) -> None:
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
