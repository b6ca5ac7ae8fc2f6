"""A line to the daemon on which answers get lost: the request arrives, and the connection breaks before the answer."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress
from pathlib import Path

PIECE = 1 << 16


class LossyLine:
    """Listens on a socket of its own in front of the daemon's, until it is closed. Loses a `share` of all answers."""

    def __init__(self, path: Path, daemon: Path, seed: int) -> None:
        self.lost = 0
        self.share = 0.0
        self._daemon = daemon
        self._random = random.Random(seed)
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door.bind(str(path))
        self._door.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Listen no longer."""
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._door.accept()
                there = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                there.connect(str(self._daemon))
                threading.Thread(target=self._forward, args=(caller, there), daemon=True).start()
                threading.Thread(target=self._answer, args=(caller, there), daemon=True).start()

    def _forward(self, caller: socket.socket, there: socket.socket) -> None:
        with suppress(OSError):
            while piece := caller.recv(PIECE):
                there.sendall(piece)
        _hang_up(caller, there)

    def _answer(self, caller: socket.socket, there: socket.socket) -> None:
        with suppress(OSError):
            while piece := there.recv(PIECE):
                if self._random.random() < self.share:
                    self.lost += 1
                    break
                caller.sendall(piece)
        _hang_up(caller, there)


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
