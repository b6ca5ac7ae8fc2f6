"""The troubles of a store: their kinds, which of them keep an engine from writing, and what is told of them.

An engine that cannot write refuses writes at once, with the reason. It goes on reading, and finds out by itself when
writing works again. Each engine has its own way to find the kind of a trouble, and to try again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.errors import HoldfastError, StoreBusy, StoreCorrupt, StoreFull, StoreUnavailable
from holdfast.core.job import Millis

FIRST_TRY_S, LONGEST_TRY_S = 0.5, 5.0
LOGGED_EVERY_S = 10.0  # of a trouble that is met again and again
CALM_S = 60.0  # a trouble that comes back sooner is the same one

log = logging.getLogger("holdfast.store")


class TroubleKind(StrEnum):
    """What can be wrong with a store."""

    BUSY = "busy"
    FULL = "full"
    IO = "io"
    READ_ONLY = "read-only"
    CORRUPT = "corrupt"
    MEMORY = "memory"
    LOST = "lost"
    LOCKED = "locked"


# A lack of memory passes, so each write is tried. The lock of another program lasts if it was waited for in vain.
LASTING = frozenset({TroubleKind.FULL, TroubleKind.IO, TroubleKind.READ_ONLY, TroubleKind.CORRUPT, TroubleKind.LOST})
MAY_LAST = LASTING | {TroubleKind.BUSY}

ADVICE = {
    TroubleKind.BUSY: "Close that program, or wait for it: writing goes on by itself then",
    TroubleKind.FULL: "Free some space: writing goes on by itself then",
    TroubleKind.IO: "Look after the disk: writing goes on by itself when it works again",
    TroubleKind.READ_ONLY: "Make it writable: writing goes on by itself then",
    TroubleKind.CORRUPT: "Restore it from a backup: holdfast db restore",
    TroubleKind.LOST: "Writing goes on by itself when it is back",
    TroubleKind.LOCKED: "Wait for it, or end it (SELECT pg_terminate_backend): writing goes on by itself then",
}


def cause(message: str) -> str:
    """The first part of an error's message: what is wrong, without what its caller can do about the own write."""
    return message.partition("; ")[0]


class Trouble(Struct, frozen=True):
    """What keeps an engine from writing, and since when. `says` tells it to people.

    `refuses`: writes are refused at once. Otherwise each is tried, and waits.
    """

    kind: TroubleKind
    says: str
    since: Millis
    refuses: bool = True

    @property
    def sentence(self) -> str:
        """The trouble and what to do about it, for people."""
        return f"{self.says}; nothing can be written. {ADVICE[self.kind]}"

    def refusal(self, retry_after: float) -> HoldfastError:
        """The error for a write during the trouble."""
        said = f"{self.says}; nothing was written. {ADVICE[self.kind]}"
        match self.kind:
            case TroubleKind.CORRUPT:
                return StoreCorrupt(said)
            case TroubleKind.FULL:
                error: HoldfastError = StoreFull(said)
            case TroubleKind.BUSY:
                error = StoreBusy(said)
            case TroubleKind.LOCKED:
                # Others have waited for as long as a write may. Callers are told at once who is in the way.
                refused = StoreUnavailable(said)
                refused.is_worth_repeating = False
                return refused
            case _:
                error = StoreUnavailable(said)
        error.retry_after = retry_after
        return error


class Alert(Struct, frozen=True):
    """A trouble that people are told of. `ended_at` is None if it kept no other writes from being tried."""

    kind: TroubleKind
    says: str
    since: Millis
    ended_at: Millis | None = None


class Troubles:
    """What an engine of this process has met. Safe to use from any thread."""

    def __init__(self) -> None:
        self.failures: Counter[TroubleKind] = Counter()
        self.on_alert: Callable[[], None] = lambda: None
        self._lock = threading.Lock()
        self._current: Trouble | None = None
        self._alerts: list[Alert] = []
        self._alerted_at: dict[TroubleKind, float] = {}
        self._try_at = 0.0
        self._pause = FIRST_TRY_S
        self._calm_since = 0.0
        self._logged_at: float | None = None

    @property
    def current(self) -> Trouble | None:
        """What keeps the engine from writing now."""
        return self._current

    @property
    def kind(self) -> TroubleKind | None:
        """The kind of the trouble there is now."""
        trouble = self._current
        return None if trouble is None else trouble.kind

    @property
    def try_in(self) -> float | None:
        """In how many seconds the engine should try to write again. None: there is no trouble."""
        return None if self._current is None else max(0.0, self._try_at - time.monotonic())

    def refusal(self) -> HoldfastError | None:
        """The error for a write now, if there is a trouble."""
        trouble = self._current
        if trouble is None or not trouble.refuses:
            return None
        return trouble.refusal(max(1.0, round(self._try_at - time.monotonic(), 1)))

    def count(self, kind: TroubleKind, says: str, now: Millis, *, lasts: bool) -> None:
        """Count a failed transaction. If the trouble `lasts`, people are told when it is over, otherwise now."""
        with self._lock:
            self.failures[kind] += 1
        if not lasts:
            log.error("%s", says, extra={"event": "store_failed", "kind": kind.value})
            self._alert(Alert(kind, says, now))

    def begin(self, kind: TroubleKind, says: str, now: Millis, *, refuses: bool = True) -> None:
        """From now on the engine cannot write. Unless it `refuses`, writes are tried all the same.

        Of a trouble that does not refuse, or that did not until now, the newest reason counts.
        """
        with self._lock:
            before = self._current
            if before is not None and before.refuses and refuses:
                return
            trouble = self._current = Trouble(kind, says, now, refuses)
            if before is not None:
                trouble = self._current = replace(trouble, since=before.since, refuses=before.refuses or refuses)
            else:
                if time.monotonic() - self._calm_since > CALM_S:
                    self._pause = FIRST_TRY_S
                self._try_at = time.monotonic() + self._pause
            if not self._is_worth_a_line(is_new=before is None and refuses):
                return
        extra = {"event": "store_trouble", "kind": kind.value}
        log.error("%s", trouble.sentence, extra=extra)

    def _is_worth_a_line(self, *, is_new: bool) -> bool:
        """Whether the log needs a line. A trouble that is met again and again gets one now and then."""
        if not is_new and self._logged_at is not None and time.monotonic() - self._logged_at < LOGGED_EVERY_S:
            return False
        self._logged_at = time.monotonic()
        return True

    def tried_in_vain(self) -> None:
        """Another try has failed."""
        with self._lock:
            self._pause = min(self._pause * 2, LONGEST_TRY_S)
            self._try_at = time.monotonic() + self._pause

    def end(self, now: Millis) -> None:
        """The engine can write again."""
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
        """Take the alerts that have not been told yet."""
        with self._lock:
            alerts, self._alerts = self._alerts, []
        return alerts

    def give_back(self, alerts: list[Alert]) -> None:
        """Keep alerts that could not be told."""
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
            # The thread that met the trouble has callers to answer.
            log.exception("an alert was not heard")
