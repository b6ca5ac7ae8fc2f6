"""Reads the clock of a server now and then, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import psycopg

from holdfast.core.errors import HoldfastError
from holdfast.core.job import Millis
from holdfast.core.machine.database_time import AGAIN_MS, Measurement
from holdfast.store.boot_clock import boot_time

CLOSE_S = 1.0
SLICE_S = 5.0  # Timers do not count while the machine sleeps. After a sleep the clock should be read soon.

# Takes a measurement, and says after how long it wants the next.
Heed: TypeAlias = Callable[[Measurement], Millis]

log = logging.getLogger("holdfast.store")


class ClockReader:
    """Reads the clock from its making until `close`."""

    def __init__(self, read: Callable[[], Measurement], heed: Heed) -> None:
        self._read = read
        self._heed = heed
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="holdfast-clock", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Read no more."""
        self._stopping.set()
        # The thread may wait for a server that does not answer. After that it reads nothing more.
        self._thread.join(CLOSE_S)

    def _work(self) -> None:
        due = boot_time() + AGAIN_MS
        while not self._stopping.wait(max(0.0, min(SLICE_S, (due - boot_time()) / 1000))):
            if boot_time() >= due:
                due = boot_time() + self._look()

    def _look(self) -> Millis:
        try:
            return self._heed(self._read())
        except HoldfastError as error:
            # The user of the clock notices that no measurement comes. The store tells of its troubles in its own way.
            log.debug("the clock of the database could not be read: %s", error)
            return AGAIN_MS


def read_clock(connection: psycopg.Connection[Any]) -> Measurement:
    """Read the clock of the server. The connection is in a transaction, or needs none."""
    asked = boot_time()
    row = connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint").fetchone()
    assert row is not None
    return Measurement.of(asked, row[0], boot_time())
