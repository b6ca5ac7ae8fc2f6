"""Threads for plain functions. They are daemons: a function that never returns must not keep the process alive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class Threads:
    """Grows with the work; the caller bounds how much of it there is at once."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0

    def run(self, function: Callable[[], None]) -> None:
        """Call `function` in a thread."""
        with self._lock:
            self._busy += 1
            if self._busy > self._threads:
                self._threads += 1
                threading.Thread(target=self._serve, name=f"holdfast-task-{self._threads}", daemon=True).start()
        self._work.put(function)

    def close(self) -> None:
        """Let idle threads go; one that is stuck goes with the process."""
        with self._lock:
            for _ in range(self._threads):
                self._work.put(None)

    def _serve(self) -> None:
        while True:
            function = self._work.get()
            if function is None:
                return
            try:
                function()
            finally:
                with self._lock:
                    self._busy -= 1
