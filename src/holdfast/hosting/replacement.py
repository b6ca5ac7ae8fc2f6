"""A worker process that a daemon, or a person, restarts: how it ends itself, so that another one replaces it."""

from __future__ import annotations

import logging
import os
import signal

from msgspec import Struct

from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.wire.home import Home
from holdfast.wire.places import REPLACE_ME
from holdfast.workers.exchange import ExchangeLoop

ALONE_S = 300.0
LOOK_S = 5.0

log = logging.getLogger("holdfast.worker")


class KeptBy(Struct, frozen=True):
    """The home of the daemon that restarts this worker. None if a person started it."""

    home: Home | None = None
    alone_s: float = ALONE_S

    def replace(self) -> None:
        """End at once, with everything that runs here, and ask for another worker."""
        os._exit(REPLACE_ME)

    def end(self) -> None:
        """Stop in order, as after a SIGTERM."""
        os.kill(os.getpid(), signal.SIGTERM)


class OrphanWatch(Loop):
    """Ends an idle worker that has seen no daemon for a while, or whose home folder is gone.

    A worker that still has something to deliver waits for the next daemon while the home folder is there.
    """

    def __init__(self, clock: Clock, kept: KeptBy, home: Home, exchange: ExchangeLoop) -> None:
        super().__init__(clock)
        self._kept = kept
        self._home = home
        self._exchange = exchange
        self._last_seen = clock.monotonic()

    async def tick(self) -> float | None:
        now = self.clock.monotonic()
        if self._home.is_lived_in:
            self._last_seen = now
        elif not self._home.folder.exists():
            if not self._exchange.runner.is_busy:
                log.warning("the home folder %s is gone; this worker ends", self._home.folder)
                self._kept.end()
                return None
        elif now - self._last_seen >= self._kept.alone_s and not self._exchange.held:
            log.warning("no daemon has lived in %s for %.0f s; this worker ends", self._home.folder, self._kept.alone_s)
            self._kept.end()
            return None
        return min(LOOK_S, self._kept.alone_s)
