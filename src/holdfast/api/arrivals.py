"""Connections by TCP that have not shown a valid token yet. Anyone can make one, so their number is limited.

An arrival is silent until its first byte has come, then waits until there is room to read it, then speaks, and asks
while its first request is answered. Silent and waiting ones are bare sockets. Speaking and asking ones have a parser,
and maybe TLS, so there are fewer of them.

One is closed only if another needs its place and it has had its time: the oldest silent one of which no byte is there,
or the oldest that speaks and has not completed a request. So a caller that sends its request at once is answered,
however many others stay silent. If none can go, the next one waits.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile

# A silent one stays until its place is needed, and at least so long that this many can be taken in a second. A caller
# behind thousands of silent ones then waits for a fraction of a second.
MOST_NEW_IN_A_SECOND = 32_000
# One that is read stays at least so long, until its first request.
SPEECH_S = 0.25
# If there are bytes which the daemon has not read, the daemon is late. The connection gets its time again, but only so
# often: a stranger can send a byte at any moment.
MOST_SPARED = 20


class Arrival:
    """One connection without a token. `close` ends it.

    `since` is when it was accepted, later since when it has been speaking.
    """

    __slots__ = ("close", "connection", "has_asked", "is_connected", "since", "times_spared")

    def __init__(self, connection: socket.socket, since: float, close: Callable[[], None]) -> None:
        self.connection = connection
        self.since = since
        self.close = close
        self.is_connected = False
        self.has_asked = False
        self.times_spared = 0

    def has_bytes(self) -> bool:
        """Whether some are there that have not been read."""
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except OSError:
            return False


class Arrivals:
    """All of them, the oldest first. `when_changed` is called when there may be room for another one."""

    def __init__(self, most: int, most_silent: int) -> None:
        self.when_changed: Callable[[], None] = lambda: None
        self._most = most
        self._most_silent = most_silent
        self._silence_s = most_silent / MOST_NEW_IN_A_SECOND
        self._silent: dict[Arrival, None] = {}
        self._waiting: dict[Arrival, None] = {}
        self._speaking: dict[Arrival, None] = {}
        self._asking: dict[Arrival, None] = {}

    def __len__(self) -> int:
        return sum(map(len, self._groups()))

    @property
    def has_room(self) -> bool:
        """Whether another one can be accepted."""
        return len(self._silent) + len(self._waiting) < self._most_silent

    @property
    def has_waiting(self) -> bool:
        """Whether one waits until there is room to read it."""
        return bool(self._waiting)

    def make_room(self, now: float) -> bool:
        """Close the oldest silent one that has had its time. False if there is none."""
        for arrival in _late(self._silent, self._silence_s, now):
            if not arrival.has_bytes():
                self._end(arrival)
                return True
            self.speaks(arrival)
        return False

    def add(self, arrival: Arrival) -> None:
        """Take a new one, which is silent."""
        self._silent[arrival] = None

    def speaks(self, arrival: Arrival) -> None:
        """Its first byte has come."""
        if arrival in self._silent:
            del self._silent[arrival]
            self._waiting[arrival] = None

    def next_to_read(self, now: float) -> Iterator[Arrival]:
        """Let those speak that wait, as far as there is room."""
        while self._waiting and self._has_place(now):
            arrival = next(iter(self._waiting))
            del self._waiting[arrival]
            self._let_speak(arrival, now)
            yield arrival

    def asks(self, arrival: Arrival) -> None:
        """The head of a request is complete. Nobody closes it before the answer, which may need a look-up of its token.

        That holds for its first request only, so that a stranger cannot stay by asking again and again.
        """
        if arrival in self._speaking and not arrival.has_asked:
            arrival.has_asked = True
            del self._speaking[arrival]
            self._asking[arrival] = None

    def was_answered(self, arrival: Arrival, now: float) -> None:
        """It has its answer. If it had shown a valid token, it would not be here any more."""
        if arrival in self._asking:
            del self._asking[arrival]
            self._let_speak(arrival, now)
            self.when_changed()

    def next_end(self, *, is_accepting: bool) -> float | None:
        """When the next one has had its time, if another needs its place. None: only an event makes room."""
        ends: list[float] = []
        if not is_accepting:
            ends += [arrival.since + self._silence_s for arrival in _first(self._silent)]
        if self._waiting:
            ends += [arrival.since + SPEECH_S for arrival in _first(self._speaking)]
        return min(ends, default=None)

    def leave(self, arrival: Arrival) -> None:
        """Forget one that has shown its token, or is gone."""
        for group in self._groups():
            if arrival in group:
                del group[arrival]
                self.when_changed()

    def close_silent(self, since: float) -> None:
        """Close those that have been silent since this time or longer."""
        for arrival in _late(self._silent, 0.0, since):
            if arrival.has_bytes():
                self.speaks(arrival)
            else:
                self._end(arrival)

    def close(self) -> None:
        """Close all of them."""
        for arrival in [arrival for group in self._groups() for arrival in group]:
            self._end(arrival)

    def _groups(self) -> tuple[dict[Arrival, None], ...]:
        return self._silent, self._waiting, self._speaking, self._asking

    def _has_place(self, now: float) -> bool:
        """Whether there is room to read another one. If need be the oldest that has had its time is closed for it."""
        if len(self._speaking) + len(self._asking) < self._most:
            return True
        for arrival in _late(self._speaking, SPEECH_S, now):
            if arrival.times_spared >= MOST_SPARED or not arrival.has_bytes():
                self._end(arrival)
                return True
            arrival.times_spared += 1
            del self._speaking[arrival]
            self._let_speak(arrival, now)
        return False

    def _let_speak(self, arrival: Arrival, now: float) -> None:
        arrival.since = now
        self._speaking[arrival] = None

    def _end(self, arrival: Arrival) -> None:
        self.leave(arrival)
        arrival.close()


def _first(group: Iterable[Arrival]) -> list[Arrival]:
    """The oldest one, if there is one."""
    return [arrival for arrival, _ in zip(group, range(1), strict=False)]


def _late(group: Iterable[Arrival], respite: float, now: float) -> list[Arrival]:
    """Those that have had their time, the oldest first."""
    return list(takewhile(lambda arrival: arrival.since + respite <= now, group))
