"""Counts refused requests, and logs them now and then, so that whoever sends many does not fill the log."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

LOGGED_EVERY_S = 10.0

log = logging.getLogger("holdfast.api")


class RefusedCounter:
    """One kind of refused requests. `counts` has them by reason; `what` names them in the log, as `event` does."""

    def __init__(self, event: str, what: str, now: Callable[[], float] = time.monotonic) -> None:
        self.counts: Counter[str] = Counter()
        self._event = event
        self._what = what
        self._now = now
        self._unlogged = 0
        self._logged_at: float | None = None

    def count(self, address: str, reason: str) -> None:
        """Count one. A line of the log stands for all since the line before."""
        self.counts[reason] += 1
        self._unlogged += 1
        now = self._now()
        if self._logged_at is None or now - self._logged_at >= LOGGED_EVERY_S:
            about = {"event": self._event, "address": address, "reason": reason, "count": self._unlogged}
            log.warning("%s: %d, the last one from %s", self._what, self._unlogged, address, extra=about)
            self._unlogged, self._logged_at = 0, now
