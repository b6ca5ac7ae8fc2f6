"""Finds out, in a thread of its own, when a server takes writes again."""

from __future__ import annotations

import threading
from collections.abc import Callable

from holdfast.store.trouble import Troubles


class Recovering:
    """Tries to write, less and less often, for as long as there is a trouble. A try that goes well ends the trouble."""

    def __init__(self, troubles: Troubles, can_write: Callable[[], bool], now: Callable[[], int]) -> None:
        self._troubles = troubles
        self._can_write = can_write
        self._now = now
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="holdfast-recovering", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """Try no more."""
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        while (wait := self._troubles.try_in) is not None and not self._stopping.wait(wait):
            if self._can_write():
                self._troubles.end(self._now())
            else:
                self._troubles.tried_in_vain()
