"""How much all callers together may take: connections, and the bytes of open requests."""

from __future__ import annotations

import resource

from msgspec import Struct

from holdfast.api.refused_counter import RefusedCounter

MOST_CONNECTIONS = 4_096
MOST_ARRIVALS = 64
# Those of which nothing is read yet are bare sockets, so there may be more of them: a crowd of callers that all connect
# before the first of them sends its request.
MOST_SILENT = 1_024
# The database and the files of jobs need some of the descriptors that the system allows.
OTHER_FILES = 200
# So many connections are kept for the unix socket, whatever comes by TCP.
KEPT_FOR_SOCKET = 256
LEAST_CONNECTIONS = 40
# A request up to this size counts as small. There is room for it even if large ones have used up theirs.
SMALL_BODY = 64 << 10


class ConnectionLimits(Struct, frozen=True):
    """The limits of connections: in all, and by TCP. Those by TCP without a token yet come on top.

    Of these, `arrivals` may be read at once. `silent` ones have sent nothing, or wait until they are read.
    """

    most: int
    by_tcp: int
    arrivals: int
    silent: int

    @classmethod
    def of(cls, files: int) -> ConnectionLimits:
        """The limits of a process that may have so many files open."""
        spare = max(files - OTHER_FILES, LEAST_CONNECTIONS)
        arrivals = min(MOST_ARRIVALS, spare // 4)
        silent = min(MOST_SILENT, max(spare // 8, spare - arrivals - MOST_CONNECTIONS))
        most = min(MOST_CONNECTIONS, spare - arrivals - silent)
        return cls(most, most - min(KEPT_FOR_SOCKET, most // 4), arrivals, silent)


class ConnectionBudget:
    """Counts all connections. Those by TCP never take the last ones, which are for the unix socket."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._on_socket = 0
        self._by_tcp = 0

    def take(self, *, by_tcp: bool) -> bool:
        """Take room for one connection. False if there is none."""
        if self._on_socket + self._by_tcp >= self.limits.most or (by_tcp and self._by_tcp >= self.limits.by_tcp):
            return False
        self._count(1, by_tcp=by_tcp)
        return True

    def give_back(self, *, by_tcp: bool) -> None:
        """Give the room of an ended connection back."""
        self._count(-1, by_tcp=by_tcp)

    def refusal(self, *, by_tcp: bool) -> str:
        """The message for a caller for whom there is no room."""
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
        """Take room for more bytes of a request that has `held` already. False if there is none."""
        most = self.most if held + size <= SMALL_BODY else self._for_large
        if self._used + size > most:
            return False
        self._used += size
        return True

    def give_back(self, size: int) -> None:
        """Give the room for these bytes back."""
        self._used -= size


class Budgets(Struct, frozen=True):
    """What all connections share. `refused` counts requests that were refused before anybody looked at who called."""

    connections: ConnectionBudget
    bodies: BodyBudget
    refused: RefusedCounter


def make_room_for_files() -> ConnectionLimits:
    """Raise the limit of open files to what all connections need, as far as the system allows. Return the limits.

    No more than needed, as processes that this one starts inherit it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MOST_CONNECTIONS + MOST_ARRIVALS + MOST_SILENT + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return ConnectionLimits.of(needed)
    wanted = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        wanted = soft
    return ConnectionLimits.of(wanted)
