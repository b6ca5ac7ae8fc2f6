"""The clock of the database server, for processes on machines whose own clock may be wrong."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from holdfast.core.errors import HoldfastError
from holdfast.core.job import Millis
from holdfast.core.machine import database_time
from holdfast.core.machine.clock_step import STEP_MS
from holdfast.core.machine.database_time import HELD, ClockDoubt, ClockEstimate, Measurement
from holdfast.runtime.clock import SystemClock
from holdfast.store.boot_clock import boot_time
from holdfast.store.forks import forget_after_fork

_DOUBTS = {
    ClockDoubt.SILENT: "the clock of the database has not been read for two minutes",
    ClockDoubt.JUMPED: "the clock of the database has jumped by more than a minute",
}

log = logging.getLogger("holdfast.clock")


class DatabaseClock:
    """The time since the boot, and how far the clock of the server is ahead of it by the newest measurement.

    `heed` takes the measurements. The clock never goes back, unless that of the server was set back by more than a
    minute, and that was measured twice. Before the first measurement, `open` is called for one. If that fails, nothing
    can be stored either, and the clock of this machine is used.
    """

    def __init__(self, since_boot: Callable[[], Millis] = boot_time) -> None:
        self._since_boot = since_boot
        self._own = SystemClock()
        self._lock = threading.Lock()
        self._estimate: ClockEstimate | None = None
        self._latest: Millis = 0
        self._was_off = False
        self.open: Callable[[], None] = lambda: None
        forget_after_fork(self)

    def now(self) -> Millis:
        estimate = self._found()
        if estimate is None:
            return self._own.now()
        with self._lock:
            self._latest = max(self._latest, self._since_boot() + estimate.measured.ahead)
            return self._latest

    def ahead(self) -> Millis:
        """Always 0: delays are not moved for a step of the clock of the server. Such a step looks the same as a machine
        that stood still for a while, which must not move the jobs of others.
        """
        return 0

    def monotonic(self) -> float:
        return time.monotonic()

    def timeout(self, seconds: float) -> float | None:
        return seconds

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

    def doubt(self) -> str | None:
        estimate = self._estimate
        why = None if estimate is None else database_time.doubt_at(estimate, self._since_boot())
        return None if why is None else f"{_DOUBTS[why]}: {HELD}"

    @property
    def is_known(self) -> bool:
        """Whether there is a measurement, so that `now` need not wait for one."""
        return self._estimate is not None

    def off_by(self) -> Millis:
        estimate = self._estimate
        return 0 if estimate is None else self._own.ahead() - estimate.measured.ahead

    def heed(self, found: Measurement) -> Millis:
        """Take a measurement, and return after how long the next one is due. Called from any thread."""
        with self._lock:
            before, self._estimate = self._estimate, database_time.weigh(self._estimate, found)
            if database_time.is_jump(before, self._estimate):
                self._latest = 0
            estimate = self._estimate
        self._tell_off(found.error)
        return database_time.next_in(estimate)

    def forget(self) -> object:
        """In a forked child: make a new lock, as a thread of the parent may hold the old one. Measurements stay."""
        inherited, self._lock = self._lock, threading.Lock()
        return inherited

    def _found(self) -> ClockEstimate | None:
        if self._estimate is None:
            try:
                self.open()
            except HoldfastError as error:
                log.debug("the clock of the database is not known yet: %s", error)
        return self._estimate

    def _tell_off(self, error: Millis) -> None:
        off = self.off_by()
        is_off = abs(off) > STEP_MS + error
        if is_off and not self._was_off:
            log.warning(
                "the clock of this machine is %.1f s %s the database's, which is the one that counts; set it",
                abs(off) / 1000,
                "ahead of" if off > 0 else "behind",
                extra={"event": "clock_off"},
            )
        elif self._was_off and not is_off:
            log.info("the clock of this machine agrees with the database's again", extra={"event": "clock_agrees"})
        self._was_off = is_off
