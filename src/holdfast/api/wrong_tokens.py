"""Wrong tokens. They are counted, and slow down the address that they come from."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct

from holdfast.api.refused_counter import RefusedCounter

# People mistype, and a program with an old token tries a few times.
FREE_TRIES = 5
LONGEST_WAIT_S = 60.0
FORGOTTEN_AFTER_S = 600.0
MOST_ADDRESSES = 10_000


class WrongTries(Struct):
    """The wrong tokens of one address."""

    count: int
    last_at: float


class WrongTokens:
    """Remembers the addresses that have tried. It makes no call wait: a try that comes too early is refused."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.refused = RefusedCounter("wrong_token", "wrong tokens", now)
        self._now = now
        self._tries: OrderedDict[str, WrongTries] = OrderedDict()  # the one whose last try is longest ago comes first

    def wait_s(self, address: str) -> float:
        """How long an address has to wait before its next token is checked."""
        tries = self._tries.get(_network(address))
        if tries is None or tries.count < FREE_TRIES:
            return 0.0
        # The exponent is bounded too, as there may be very many tries.
        wait = min(2.0 ** min(tries.count - FREE_TRIES, 10), LONGEST_WAIT_S)
        return max(0.0, tries.last_at + wait - self._now())

    def note(self, address: str, reason: str) -> None:
        """Note a wrong token."""
        now, network = self._now(), _network(address)
        self._forget(now)
        tries = self._tries.pop(network, None) or WrongTries(0, now)
        self._tries[network] = WrongTries(tries.count + 1, now)
        if len(self._tries) > MOST_ADDRESSES:
            self._tries.popitem(last=False)
        self.refused.count(address, reason)

    def _forget(self, now: float) -> None:
        while self._tries:
            network, tries = next(iter(self._tries.items()))
            if now - tries.last_at < FORGOTTEN_AFTER_S:
                return
            del self._tries[network]


def _network(address: str) -> str:
    """The address. For IPv6, the network of one customer, who can use all addresses in it."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.ip_network((int(found) >> 64 << 64, 64)))
