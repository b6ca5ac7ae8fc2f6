"""Whether the clock can be relied on. While it cannot, nothing is fired, promoted or expired."""

from __future__ import annotations

import logging

from holdfast.runtime.clock import Clock

HELD_S = 2.0

log = logging.getLogger("holdfast.clock")


class ClockTrust:
    """Shared by the loops of one process that act by the clock. It logs when it begins and ends to hold them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._said: str | None = None

    def holds(self) -> bool:
        """Whether a loop has to wait, and ask again after `HELD_S`."""
        doubt = self._clock.doubt()
        if doubt is not None and self._said is None:
            log.warning("%s", doubt, extra={"event": "clock_doubted"})
        elif doubt is None and self._said is not None:
            log.warning("the clock of the database is known again", extra={"event": "clock_trusted"})
        self._said = doubt
        return doubt is not None
