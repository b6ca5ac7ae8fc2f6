"""The troubles of a store: what kinds there are, which of them keep an engine from writing, and who is told.

An engine that cannot write refuses at once, with the reason, while it reads on, and finds out by itself when writing
works again. How an engine tells one kind from another, and how it tries, is its own affair.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from holdfast.core.errors import HoldfastError, StoreBusy, StoreCorrupt, StoreFull, StoreUnavailable
from holdfast.core.job import Millis

FIRST_TRY_S, LONGEST_TRY_S = 0.5, 5.0
CALM_S = 60.0  # a trouble that comes back sooner is the same one

log = logging.getLogger("holdfast.store")


class Kind(StrEnum):
    """What can be wrong with a store."""

    BUSY = "busy"
    FULL = "full"
    IO = "io"
    READ_ONLY = "read-only"
    CORRUPT = "corrupt"
    MEMORY = "memory"
    LOST = "lost"


# A lack of memory passes, and each write finds out for itself. Another program's lock lasts if it is still there when
# somebody has waited for it.
LASTING = frozenset({Kind.FULL, Kind.IO, Kind.READ_ONLY, Kind.CORRUPT, Kind.LOST})
MAY_LAST = LASTING | {Kind.BUSY}

ADVICE = {
    Kind.BUSY: "Close that program, or wait for it: writing goes on by itself then",
    Kind.FULL: "Free some space: writing goes on by itself then",
    Kind.IO: "Look after the disk: writing goes on by itself when it works again",
    Kind.READ_ONLY: "Make it writable: writing goes on by itself then",
    Kind.CORRUPT: "Restore it from a backup: holdfast db restore",
    Kind.LOST: "Writing goes on by itself when it is back",
}


class Trouble(Struct, frozen=True):
    """What keeps an engine from writing, in words too, and since when."""

    kind: Kind
    says: str
    since: Millis

    @property
    def sentence(self) -> str:
        """All that a person should know."""
        return f"{self.says}; nothing can be written. {ADVICE[self.kind]}"

    def refusal(self, retry_after: float) -> HoldfastError:
        """The error for whoever wants to write meanwhile; nothing was written."""
        said = f"{self.says}; nothing was written. {ADVICE[self.kind]}"
        match self.kind:
            case Kind.CORRUPT:
                return StoreCorrupt(said)
            case Kind.FULL:
                error: HoldfastError = StoreFull(said)
            case Kind.BUSY:
                error = StoreBusy(said)
            case _:
                error = StoreUnavailable(said)
        error.retry_after = retry_after
        return error


class Alert(Struct, frozen=True):
    """A trouble that people are to be told of; `ended_at` is None where each write found out for itself."""

    kind: Kind
    says: str
    since: Millis
    ended_at: Millis | None = None


class Troubles:
    """What an engine of this process has met. Safe to use from any thread."""

    def __init__(self) -> None:
        self.failures: Counter[Kind] = Counter()
        self.on_alert: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._current: Trouble | None = None
        self._alerts: list[Alert] = []
        self._alerted_at: dict[Kind, float] = {}
        self._try_at = 0.0
        self._pause = FIRST_TRY_S
        self._calm_since = 0.0

    @property
    def current(self) -> Trouble | None:
        """What keeps the engine from writing now."""
        return self._current

    @property
    def try_in(self) -> float | None:
        """In how many seconds the engine should try again whether it can write; None: nothing keeps it."""
        return None if self._current is None else max(0.0, self._try_at - time.monotonic())

    def refusal(self) -> HoldfastError | None:
        """The error for whoever wants to write now, if that is of no use."""
        trouble = self._current
        return None if trouble is None else trouble.refusal(max(1.0, round(self._try_at - time.monotonic(), 1)))

    def count(self, kind: Kind, says: str, now: Millis, *, lasts: bool) -> None:
        """A transaction failed. Unless that lasts, it is told of now; otherwise when it is over."""
        with self._lock:
            self.failures[kind] += 1
        if not lasts:
            log.error("%s", says, extra={"event": "store_failed", "kind": kind.value})
            self._alert(Alert(kind, says, now))

    def begin(self, kind: Kind, says: str, now: Millis) -> None:
        """From now on the engine cannot write."""
        with self._lock:
            if self._current is not None:
                return
            if time.monotonic() - self._calm_since > CALM_S:
                self._pause = FIRST_TRY_S
            # What the caller can do about his own write is not for those who come later.
            trouble = self._current = Trouble(kind, says.partition("; ")[0], now)
            self._try_at = time.monotonic() + self._pause
        extra = {"event": "store_trouble", "kind": kind.value}
        log.error("%s", trouble.sentence, extra=extra)

    def tried_in_vain(self) -> None:
        """It still cannot."""
        with self._lock:
            self._pause = min(self._pause * 2, LONGEST_TRY_S)
            self._try_at = time.monotonic() + self._pause

    def end(self, now: Millis) -> None:
        """It can write again."""
        with self._lock:
            trouble, self._current = self._current, None
            self._calm_since = time.monotonic()
        if trouble is None:
            return
        seconds = max(0, now - trouble.since) / 1000
        extra = {"event": "store_recovered", "kind": trouble.kind.value, "seconds": seconds}
        log.warning("writing works again after %.1f s; what was wrong: %s", seconds, trouble.says, extra=extra)
        self._alert(Alert(trouble.kind, trouble.says, trouble.since, now))

    def take_alerts(self) -> list[Alert]:
        """What nobody was told of yet."""
        with self._lock:
            alerts, self._alerts = self._alerts, []
        return alerts

    def give_back(self, alerts: list[Alert]) -> None:
        """They could not be told."""
        with self._lock:
            self._alerts[:0] = alerts

    def _alert(self, alert: Alert) -> None:
        with self._lock:
            last = self._alerted_at.get(alert.kind)
            if last is not None and time.monotonic() - last < CALM_S:
                return
            self._alerted_at[alert.kind] = time.monotonic()
            self._alerts.append(alert)
        try:
            self.on_alert()
        except Exception:
            # Whoever met the trouble has others to answer.
            log.exception("an alert was not heard")
