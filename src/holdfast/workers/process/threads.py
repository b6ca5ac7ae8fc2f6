"""Daemon threads for plain functions. A function that never returns cannot keep the process alive."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable


class Threads:
    """As many threads as are needed at once. The caller limits that."""

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
        """End idle threads. One that is stuck ends with the process."""
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
