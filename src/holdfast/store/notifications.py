"""How an engine hears of the commits of other processes, where a server tells it of them.

Any user of a database may send notifications, and a connection may break. Neither ends the listening, and both are
counted here.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

LOGGED_EVERY_S = 10.0
RECENT_S = 3_600.0

log = logging.getLogger("holdfast.store")


class NotificationFailure(StrEnum):
    """Why a notification was not heard."""

    LOST = "lost"
    UNREADABLE = "unreadable"


class Notifications:
    """What went wrong with them in this process. Safe to use from any thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.failures: Counter[NotificationFailure] = Counter()
        self._now = now
        self._lock = threading.Lock()
        self._lost: str | None = None
        self._unreadable: tuple[str, int] = ("", 0)
        self._unreadable_at: float | None = None
        self._logged_at: float | None = None

    @property
    def lost(self) -> str | None:
        """Why nothing is heard now, for people."""
        return self._lost

    @property
    def unreadable(self) -> str | None:
        """What came in the last hour that could not be read, for people."""
        with self._lock:
            if self._unreadable_at is None or self._now() - self._unreadable_at > RECENT_S:
                return None
            channel, pid = self._unreadable
            return (
                f"{self.failures[NotificationFailure.UNREADABLE]} notifications on channel {channel} could not be "
                f"read, the last one from the server process {pid}; take the right to connect from whoever has no "
                "business in this database (REVOKE CONNECT)"
            )

    def lose(self, error: BaseException) -> None:
        """Nothing is heard from now on."""
        said = " ".join(str(error).split()) or type(error).__name__
        with self._lock:
            self.failures[NotificationFailure.LOST] += 1
            self._lost = (
                f"what other programs commit is not heard ({said}); it is seen later than usual. "
                "The connection is made again by itself"
            )
        log.warning("%s", self._lost, extra={"event": "notifications_lost"})

    def resume(self) -> None:
        """Notifications are heard."""
        with self._lock:
            was_lost, self._lost = self._lost is not None, None
        if was_lost:
            log.info("what other programs commit is heard again", extra={"event": "notifications_heard"})

    def count_unreadable(self, channel: str, pid: int) -> None:
        """Count one that could not be read. A line of the log stands for all in ten seconds."""
        with self._lock:
            self.failures[NotificationFailure.UNREADABLE] += 1
            self._unreadable, self._unreadable_at = (channel, pid), self._now()
            is_told = self._logged_at is not None and self._now() - self._logged_at < LOGGED_EVERY_S
            if is_told:
                return
            self._logged_at = self._now()
        log.warning("%s", self.unreadable, extra={"event": "notifications_unreadable", "pid": pid})
