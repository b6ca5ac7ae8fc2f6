"""A receiver of webhooks on loopback: a real server, which can fail, hang and lie."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, TypeAlias

from msgspec import Struct

PATIENCE_S = 60.0
LOOPBACK = "127.0.0.0/8"


class Request(Struct, frozen=True):
    """What came in."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        """The event in it."""
        found: dict[str, Any] = json.loads(self.body)
        return found

    def is_signed_with(self, secret: str) -> bool:
        """Whether one of its signatures is that of the secret, by a computation of our own."""
        signed = self.headers["holdfast-timestamp"].encode() + b"." + self.body
        wanted = "v1=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
        return wanted in self.headers["holdfast-signature"].split(",")


Behaviour: TypeAlias = Callable[["Receiver", socket.socket], None]


class Receiver:
    """Answers each request with the next behaviour; the last one stays."""

    def __init__(self, *behaviours: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self._behaviours = list(behaviours) or [answering(204)]
        self._tls = tls
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self.requests: list[Request] = []
        self.said = 0
        self.arrivals: SimpleQueue[Request] = SimpleQueue()
        self.is_over = threading.Event()
        self._threads = [threading.Thread(target=self._serve, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}/hook?team=a"

    def behave(self, *behaviours: Behaviour) -> None:
        """Answer otherwise from now on."""
        self._behaviours = list(behaviours)

    def next(self) -> Request:
        """The next request that nobody has asked for yet."""
        return self.arrivals.get(timeout=PATIENCE_S)

    def close(self) -> None:
        """End everything that is under way."""
        self.is_over.set()
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        for thread in self._threads:
            thread.join(PATIENCE_S)

    def _serve(self) -> None:
        while not self.is_over.is_set():
            try:
                line, _ = self._door.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._attend, args=(line,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _attend(self, line: socket.socket) -> None:
        line.settimeout(PATIENCE_S)
        # A caller that gives up in the middle is nobody's failure here.
        with suppress(OSError), line:
            if self._tls is not None:
                with self._tls.wrap_socket(line, server_side=True) as secured:
                    self._talk(secured)
            else:
                self._talk(line)

    def _talk(self, line: socket.socket) -> None:
        request = read_request(line)
        self.requests.append(request)
        behaviour = self._behaviours.pop(0) if len(self._behaviours) > 1 else self._behaviours[0]
        self.arrivals.put(request)
        behaviour(self, line)


def read_request(line: socket.socket) -> Request:
    """All of a request."""
    with line.makefile("rb") as stream:
        first = stream.readline().decode("latin-1").strip()
        headers: dict[str, str] = {}
        while text := stream.readline().decode("latin-1").strip():
            name, _, value = text.partition(":")
            headers[name.lower()] = value.strip()
        return Request(first, headers, stream.read(int(headers.get("content-length", 0))))


@contextmanager
def receiving(*behaviours: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver that is gone afterwards."""
    receiver = Receiver(*behaviours, tls=tls)
    try:
        yield receiver
    finally:
        receiver.close()


def saying(text: bytes) -> Behaviour:
    """Sends these bytes, whatever they are, and hangs up."""

    def behave(receiver: Receiver, line: socket.socket) -> None:
        line.sendall(text)

    return behave


def answering(status: int, *headers: str, body: bytes = b"") -> Behaviour:
    """A proper answer."""
    head = "".join(f"{header}\r\n" for header in headers)
    return saying(f"HTTP/1.1 {status} Said\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def hanging(receiver: Receiver, line: socket.socket) -> None:
    """Never answers."""
    receiver.is_over.wait(PATIENCE_S)


def dripping(before: bytes) -> Behaviour:
    """Never comes to an end, and never stands still."""

    def behave(receiver: Receiver, line: socket.socket) -> None:
        line.sendall(before)
        while not receiver.is_over.wait(0.02):
            line.sendall(b"x")

    return behave


def endless(receiver: Receiver, line: socket.socket) -> None:
    """Takes it, and then talks as fast as it can."""
    flooding(b"HTTP/1.1 200 OK\r\n\r\n")(receiver, line)


def flooding(before: bytes, flood: bytes = b"x" * 65_536) -> Behaviour:
    """Begins like this, and then talks as fast as it can, without an end; `said` counts the bytes."""

    def behave(receiver: Receiver, line: socket.socket) -> None:
        line.sendall(before)
        while not receiver.is_over.is_set():
            line.sendall(flood)
            receiver.said += len(flood)

    return behave
