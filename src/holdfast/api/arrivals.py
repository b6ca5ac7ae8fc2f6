"""Connections by TCP that have not shown a valid token yet. Anyone can make one, so their number is limited.

When there are too many, the oldest silent one is closed, and the newest is taken. So a caller that sends its request at
once is answered, however many others stay silent.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

# A new one may stay at least so long: until its first byte, and from there until its token. Further ones wait in the
# queue of the kernel meanwhile.
SILENCE_S = 0.002
SPEECH_S = 0.25


class Arrival:
    """One connection without a token, and since when it has been silent, or has sent something. `close` ends it."""

    __slots__ = ("close", "is_connected", "since")

    def __init__(self, since: float, close: Callable[[], None]) -> None:
        self.since = since
        self.close = close
        self.is_connected = False


class Arrivals:
    """All of them, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._silent: dict[Arrival, None] = {}
        self._speaking: dict[Arrival, None] = {}

    def __len__(self) -> int:
        return len(self._silent) + len(self._speaking)

    def wait_s(self, now: float) -> float:
        """How long to wait before the next one can be taken. 0 if there is room, or one can be closed for it."""
        if len(self) < self._most:
            return 0.0
        return max(0.0, min(ends for _, ends in self._oldest()) - now)

    def add(self, arrival: Arrival) -> None:
        """Take a new one, which is silent. If there are too many, the oldest silent one is closed."""
        if len(self) >= self._most:
            oldest = self._oldest()
            going = next((old for old, ends in oldest if ends <= arrival.since), oldest[0][0])
            self.leave(going)
            going.close()
        self._silent[arrival] = None

    def speaks(self, arrival: Arrival, now: float) -> None:
        """Its first byte has come."""
        if arrival in self._silent:
            del self._silent[arrival]
            arrival.since = now
            self._speaking[arrival] = None

    def _oldest(self) -> list[tuple[Arrival, float]]:
        """The oldest silent one and the oldest other one, if there are any, each with the time until which it stays."""
        groups = ((self._silent, SILENCE_S), (self._speaking, SPEECH_S))
        return [(old, old.since + respite) for group, respite in groups for old in islice(group, 1)]

    def leave(self, arrival: Arrival) -> None:
        """Forget one that has shown its token, or is gone."""
        self._silent.pop(arrival, None)
        self._speaking.pop(arrival, None)

    def close_silent(self, since: float) -> None:
        """Close those that have been silent since this time or longer."""
        for arrival in [arrival for arrival in self._silent if arrival.since <= since]:
            self.leave(arrival)
            arrival.close()

    def close(self) -> None:
        """Close all of them."""
        for arrival in [*self._silent, *self._speaking]:
            self.leave(arrival)
            arrival.close()
