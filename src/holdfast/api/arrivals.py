"""Connections by TCP that have not shown a valid token yet. Anybody can make one, so there are only a few.

When there are too many, the oldest one that has said nothing is closed, never the newest refused: a caller that comes
and says what it wants gets its turn, however many others only sit there.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

# So long a new one may stay even while others press: to send its first byte, and to get from there to its token.
# Those that press wait in the queue of the kernel.
SILENCE_S = 0.002
SPEECH_S = 0.25


class Arrival:
    """One connection without a token: since when it has been silent, or speaking. `close` ends it in any state."""

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
        """How long to wait before the next one can be taken; 0 if there is room, or one that can be closed for it."""
        if len(self) < self._most:
            return 0.0
        return max(0.0, min(ends for _, ends in self._oldest()) - now)

    def add(self, arrival: Arrival) -> None:
        """Take one that has said nothing yet. If there are too many, the oldest silent one goes."""
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
        """The oldest silent one and the oldest other one, as far as there are any, each with the end of its respite."""
        groups = ((self._silent, SILENCE_S), (self._speaking, SPEECH_S))
        return [(old, old.since + respite) for group, respite in groups for old in islice(group, 1)]

    def leave(self, arrival: Arrival) -> None:
        """It has shown its token, or is gone."""
        self._silent.pop(arrival, None)
        self._speaking.pop(arrival, None)

    def close_silent(self, since: float) -> None:
        """Close those that have said nothing since this time or longer."""
        for arrival in [arrival for arrival in self._silent if arrival.since <= since]:
            self.leave(arrival)
            arrival.close()

    def close(self) -> None:
        """Close all of them."""
        for arrival in [*self._silent, *self._speaking]:
            self.leave(arrival)
            arrival.close()
