"""How much all callers together may take: connections, and the bytes of requests that are under way."""

from __future__ import annotations

import resource

from msgspec import Struct

MOST_CONNECTIONS = 4_096
MOST_ARRIVALS = 64
# The database and the files of jobs need some of the descriptors that the system allows.
OTHER_FILES = 200
# Whatever comes by TCP, so many connections of the unix socket still find room.
KEPT_FOR_SOCKET = 256
LEAST_CONNECTIONS = 32
# A request up to this size counts as small: it finds room even while large ones use up theirs.
SMALL_BODY = 64 << 10


class ConnectionLimits(Struct, frozen=True):
    """How many connections there may be in all, how many of these by TCP, and besides these without a token yet."""

    most: int
    by_tcp: int
    arrivals: int

    @classmethod
    def of(cls, files: int) -> ConnectionLimits:
        """The limits of a process that may have so many files open."""
        spare = max(files - OTHER_FILES, LEAST_CONNECTIONS)
        arrivals = min(MOST_ARRIVALS, spare // 4)
        most = min(MOST_CONNECTIONS, spare - arrivals)
        return cls(most, most - min(KEPT_FOR_SOCKET, most // 4), arrivals)


class ConnectionBudget:
    """Counts the connections of all doors. Those by TCP never take the last ones: these are for the unix socket."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._on_socket = 0
        self._by_tcp = 0

    def take(self, *, by_tcp: bool) -> bool:
        """Take room for one connection; False if there is none."""
        if self._on_socket + self._by_tcp >= self.limits.most or (by_tcp and self._by_tcp >= self.limits.by_tcp):
            return False
        self._count(1, by_tcp=by_tcp)
        return True

    def give_back(self, *, by_tcp: bool) -> None:
        """The connection has ended."""
        self._count(-1, by_tcp=by_tcp)

    def refusal(self, *, by_tcp: bool) -> str:
        """What to say to a caller for whom there is no room."""
        most = self.limits.by_tcp if by_tcp else self.limits.most
        return f"{most} connections are open already; use one for many calls, or try again later"

    def _count(self, change: int, *, by_tcp: bool) -> None:
        if by_tcp:
            self._by_tcp += change
        else:
            self._on_socket += change


class BodyBudget:
    """Counts the bytes of all requests whose answer is not complete. Large ones never take the last quarter."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._for_large = most - most // 4
        self._used = 0

    def take(self, size: int, held: int) -> bool:
        """Take room for more bytes of a request that holds some already; False if there is none."""
        most = self.most if held + size <= SMALL_BODY else self._for_large
        if self._used + size > most:
            return False
        self._used += size
        return True

    def give_back(self, size: int) -> None:
        """Those bytes are needed no longer."""
        self._used -= size


class Budgets(Struct, frozen=True):
    """What the doors share."""

    connections: ConnectionBudget
    bodies: BodyBudget


def make_room_for_files() -> ConnectionLimits:
    """Have the system allow this process the files that all connections need, as far as it does; what that leaves.

    No more than needed: processes that this one starts have the same limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MOST_CONNECTIONS + MOST_ARRIVALS + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return ConnectionLimits.of(needed)
    wanted = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        wanted = soft
    return ConnectionLimits.of(wanted)
