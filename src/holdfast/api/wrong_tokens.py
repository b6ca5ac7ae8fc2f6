"""Wrong tokens: counted, logged now and then, and slowed by the address that they come from."""

from __future__ import annotations

import ipaddress
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable

from msgspec import Struct

# A person mistypes, and a program that was not told of a new token tries a few times.
FREE_TRIES = 5
LONGEST_WAIT_S = 60.0
FORGOTTEN_AFTER_S = 600.0
MOST_ADDRESSES = 10_000
LOGGED_EVERY_S = 10.0

log = logging.getLogger("holdfast.api")


class Tries(Struct):
    """The wrong tokens of one address."""

    count: int
    last_at: float


class WrongTokens:
    """Remembers who has tried. Nobody is made to wait here: a try that comes too early is turned away instead.

    `refused` counts what was turned away, by reason.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.refused: Counter[str] = Counter()
        self._now = now
        self._tries: OrderedDict[str, Tries] = OrderedDict()  # the one that has not tried for longest comes first
        self._untold = 0
        self._told_at: float | None = None

    def wait_s(self, address: str) -> float:
        """How long an address has to wait before another token of it is looked at."""
        tries = self._tries.get(_network(address))
        if tries is None or tries.count < FREE_TRIES:
            return 0.0
        # The exponent is bounded before the power is: tries can be many.
        wait = min(2.0 ** min(tries.count - FREE_TRIES, 10), LONGEST_WAIT_S)
        return max(0.0, tries.last_at + wait - self._now())

    def note(self, address: str, reason: str) -> None:
        """A token was wrong."""
        now, network = self._now(), _network(address)
        self._forget(now)
        tries = self._tries.pop(network, None) or Tries(0, now)
        self._tries[network] = Tries(tries.count + 1, now)
        if len(self._tries) > MOST_ADDRESSES:
            self._tries.popitem(last=False)
        self.count(address, reason)

    def count(self, address: str, reason: str) -> None:
        """A token was turned away; whoever tries fast does not fill the log."""
        self.refused[reason] += 1
        self._untold += 1
        now = self._now()
        if self._told_at is None or now - self._told_at >= LOGGED_EVERY_S:
            about = {"event": "wrong_token", "address": address, "reason": reason, "count": self._untold}
            log.warning("wrong tokens: %d, the last one from %s", self._untold, address, extra=about)
            self._untold, self._told_at = 0, now

    def _forget(self, now: float) -> None:
        while self._tries:
            network, tries = next(iter(self._tries.items()))
            if now - tries.last_at < FORGOTTEN_AFTER_S:
                return
            del self._tries[network]


def _network(address: str) -> str:
    """The address; of IPv6 the part that one customer has, who can call from all addresses in it."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found) >> 64 << 64, 64)))
