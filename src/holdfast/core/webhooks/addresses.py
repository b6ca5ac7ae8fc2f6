"""Which addresses belong to this machine, and to which ones a webhook may be delivered.

A webhook must not reach what only the delivering machine can reach. Names are not resolved here: the code that connects
asks about each address that it is about to use.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

from msgspec import Struct

from holdfast.core.errors import InvalidInput
from holdfast.core.rules import limits, rule

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# Written out, because what Python counts as private differs from version to version.
_FORBIDDEN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("unspecified", ("0.0.0.0/8", "::/128")),
    ("loopback", ("127.0.0.0/8", "::1/128")),
    ("private", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")),
    ("shared by the networks of a provider", ("100.64.0.0/10",)),
    ("link-local", ("169.254.0.0/16", "fe80::/10", "fec0::/10")),
    ("unique-local", ("fc00::/7",)),
    # The one of Azure; those of the other clouds are link-local, private or unique-local.
    ("the metadata service of a cloud", ("168.63.129.16/32",)),
    ("multicast", ("224.0.0.0/4", "ff00::/8")),
    ("meant for examples and measurements", ("192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24")),
    ("meant for examples and measurements", ("2001:db8::/32", "3fff::/20")),
    ("reserved", ("192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4", "2001::/23")),
)
_GLOBAL_6 = "2000::/3"
_WITH_4_AT_THE_END = ("::ffff:0:0/96", "64:ff9b::/96")
_SIX_TO_FOUR = "2002::/16"
_LOW_32 = 0xFFFFFFFF


class AddressPolicy(Struct, frozen=True):
    """What is allowed besides the addresses of the public network: names of hosts, and networks."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    @staticmethod
    def of(words: Iterable[str], what: str = "webhook_allow") -> AddressPolicy:
        """The policy of a list like `["intranet.example", "10.1.0.0/16"]`. InvalidInput says what does not fit."""
        from holdfast.core.settings.rule_table import HOST

        hosts, networks = set(), []
        for word in rule.check_all(HOST, what, words):
            network = _network_of(word)
            if network is None:
                hosts.add(plain_host(word))
            else:
                networks.append(network)
        return AddressPolicy(frozenset(hosts), tuple(networks))

    def refusal(self, host: str, address: str) -> str | None:
        """Why nothing may be sent to this address of a host. None: it may."""
        if plain_host(host) in self.hosts:
            return None
        try:
            meant = _unwrapped(ip_address(address.partition("%")[0]))
        except ValueError:
            return "no address"
        if any(_is_in(meant, network) for network in self.networks):
            return None
        return _forbidden(meant)

    def refusal_of_host(self, host: str) -> str | None:
        """The same, as far as the host alone tells: it is an address, or a name of this machine."""
        name = plain_host(host)
        if name == "localhost" or name.endswith(".localhost"):
            return self.refusal(name, "127.0.0.1")
        try:
            ip_address(name)
        except ValueError:
            return None
        return self.refusal(name, name)


def check_host(host: str) -> str:
    """Check the host of the URL of a webhook. InvalidInput says what is wrong."""
    if not host.isascii():
        raise InvalidInput(f"host {limits.shown(host)} is not written in ASCII; use the form that begins with xn--")
    try:
        ip_address(host)
    except ValueError:
        if ":" in host or _looks_numeric(plain_host(host)):
            raise InvalidInput(
                f"host {limits.shown(host)} is no address: write it like 192.0.2.1 or [2001:db8::1]"
            ) from None
    return host


def flaw_of_host(word: str) -> str | None:
    """What keeps a word from being a host, an address or a network; None if nothing does."""
    try:
        _network_of(word)
    except ValueError as error:
        return str(error)
    return None if word.strip() else "it is empty"


def _network_of(word: str) -> Network | None:
    """The network, or the one address; None if it is the name of a host. ValueError says what it is not."""
    try:
        return ip_network(word.strip().strip("[]"))
    except ValueError:
        if "/" in word or _looks_numeric(plain_host(word)):
            raise
    return None


def plain_host(host: str) -> str:
    """A host as it is compared: in lower case, without brackets and the dot at the end."""
    return host.strip().strip("[]").removesuffix(".").lower()


def is_loopback(host: str) -> bool:
    """Whether the name of a host says that only this machine can reach it."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _looks_numeric(host: str) -> bool:
    """Whether it is an old form of an address, such as 2130706433 or 0x7f.1, which programs read differently."""
    last = host.rpartition(".")[2]
    return last.isdigit() or (last[:2] == "0x" and all(digit in "0123456789abcdef" for digit in last[2:]))


def _unwrapped(address: Address) -> Address:
    """The IPv4 address inside an IPv6 address, if packets to this one are sent to that one."""
    if any(_is_in(address, _network(text)) for text in _WITH_4_AT_THE_END):
        return IPv4Address(int(address) & _LOW_32)
    if _is_in(address, _network(_SIX_TO_FOUR)):
        return IPv4Address(int(address) >> 80 & _LOW_32)
    return address


def _is_in(address: Address, network: Network) -> bool:
    return address.version == network.version and address in network


def _forbidden(address: Address) -> str | None:
    for what, networks in _FORBIDDEN:
        if any(_is_in(address, _network(text)) for text in networks):
            return what
    return "reserved" if address.version == 6 and not _is_in(address, _network(_GLOBAL_6)) else None


@cache
def _network(text: str) -> Network:
    """Parsed at the first use: most programs never need it."""
    return ip_network(text)
