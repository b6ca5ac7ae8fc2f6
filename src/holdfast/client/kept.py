"""A worker process that somebody keeps: how it ends itself, so that another one can take its place."""

from __future__ import annotations

import logging
import os
import signal

from msgspec import Struct

from holdfast.runtime.clock import Clock
from holdfast.runtime.loop import Loop
from holdfast.store.locks import is_locked
from holdfast.wire.home import Home
from holdfast.wire.places import REPLACE_ME
from holdfast.workers.exchange import Exchange

ALONE_S = 300.0
LOOK_S = 5.0

log = logging.getLogger("holdfast.worker")


class Kept(Struct, frozen=True):
    """What such a process knows about who keeps it: the home of a daemon, or nothing if a person started it."""

    home: Home | None = None
    alone_s: float = ALONE_S

    def replace(self) -> None:
        """Go, with everything that still runs here, and ask for another one."""
        os._exit(REPLACE_ME)

    def end(self) -> None:
        """Stop in order, as if somebody had asked for it."""
        os.kill(os.getpid(), signal.SIGTERM)


class OrphanWatch(Loop):
    """Ends an idle worker that has seen no daemon for a while, or whose home folder is gone.

    One that still has something to deliver waits for the next daemon for as long as there is a home for it.
    """

    def __init__(self, clock: Clock, kept: Kept, home: Home, exchange: Exchange) -> None:
        super().__init__(clock)
        self._kept = kept
        self._home = home
        self._exchange = exchange
        self._last_seen = clock.monotonic()

    async def tick(self) -> float | None:
        now = self.clock.monotonic()
        if is_locked(str(self._home.lock)):
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
