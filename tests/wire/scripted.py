"""A server on a unix socket that does what a test tells it: answers, waits, or hangs up."""

from __future__ import annotations

import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from holdfast.wire.home import Address

Act = Callable[[socket.socket, bytes], bool]
"""What to do with a request; False hangs up afterwards."""


class Scripted:
    """Takes the next act for each request, and the last one for all that follow."""

    def __init__(self, path: Path, acts: list[Act]) -> None:
        self.address = Address(socket=str(path))
        self.requests: list[bytes] = []
        self.connections = 0
        self._acts = acts
        self._lock = threading.Lock()
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door.bind(str(path))
        self._door.listen(64)
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Hang up on everybody."""
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._door.accept()
                self._open.append(connection)
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while request := _read_request(connection):
                with self._lock:
                    self.requests.append(request)
                    act = self._acts.pop(0) if len(self._acts) > 1 else self._acts[0]
                if not act(connection, request):
                    return


def _read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65_536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next((int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length: ")), 0)
    while len(body) < length:
        body += connection.recv(65_536)
    return head + b"\r\n\r\n" + body


def says(body: bytes, status: int = 200, *, stay: bool = True, headers: str = "") -> Act:
    """Answer, and keep the connection or announce its end."""

    def act(connection: socket.socket, request: bytes) -> bool:
        closing = b"" if stay else b"Connection: close\r\n"
        head = f"HTTP/1.1 {status} X\r\n{headers}Content-Length: {len(body)}\r\n".encode()
        connection.sendall(head + closing + b"\r\n" + body)
        return stay

    return act


def hangs_up(connection: socket.socket, request: bytes) -> bool:
    """End the connection without a word."""
    return False


def answers_then_hangs_up(connection: socket.socket, request: bytes) -> bool:
    """Answer as if the connection stayed, and end it all the same."""
    says(b"1")(connection, request)
    return False


@contextmanager
def scripted(*acts: Act) -> Iterator[Scripted]:
    """A server with these acts, in a folder with a short name."""
    folder = Path(tempfile.mkdtemp(prefix="hf-"))
    server = Scripted(folder / "s", list(acts))
    try:
        yield server
    finally:
        server.close()
        shutil.rmtree(folder)
