"""Where webhooks may lead: to the public network, and to what is allowed besides."""

from __future__ import annotations

import pytest

from holdfast.core.errors import InvalidInput
from holdfast.core.webhooks.addresses import AddressPolicy, check_host

STRICT = AddressPolicy()
FORBIDDEN = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "not an address",
]
PUBLIC = [
    "1.1.1.1",
    "172.32.0.1",
    "93.184.215.14",
    "2606:4700::1111",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
    "2002:101:101::1",
]


@pytest.mark.parametrize("address", FORBIDDEN)
def test_what_only_this_machine_can_reach_is_refused(address: str) -> None:
    assert STRICT.refusal("hooks.example", address) is not None


@pytest.mark.parametrize("address", PUBLIC)
def test_the_public_network_is_not_refused(address: str) -> None:
    assert STRICT.refusal("hooks.example", address) is None


def test_a_network_that_is_allowed_is_not_refused_in_whatever_form_it_comes() -> None:
    policy = AddressPolicy.of(["127.0.0.0/8", "fd12::/16"])
    assert [policy.refusal("x", address) for address in ("127.0.0.1", "::ffff:127.0.0.1", "fd12::1")] == [None] * 3
    assert policy.refusal("x", "10.0.0.1") == "private"


def test_a_host_that_is_allowed_may_lead_anywhere_and_others_may_not() -> None:
    policy = AddressPolicy.of(["Intranet.Example."])
    assert policy.refusal("intranet.example", "10.0.0.1") is None
    assert policy.refusal("other.example", "10.0.0.1") == "private"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "db.localhost", "127.0.0.1", "[::1]", "169.254.169.254"])
def test_a_host_that_means_this_machine_by_its_name_is_refused_before_anything_is_resolved(host: str) -> None:
    assert STRICT.refusal_of_host(host) is not None
    assert STRICT.refusal_of_host("hooks.example") is None


@pytest.mark.parametrize(
    "host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "0x7f.1", "1.2.3.4.5", "bücher.example"]
)
def test_an_address_in_a_form_that_programs_read_differently_is_no_host(host: str) -> None:
    with pytest.raises(InvalidInput, match="host"):
        check_host(host)


@pytest.mark.parametrize("word", ["", " ", "10.0.0.0/99", "10.0.0.1/8", "1.2.3", "a/b"])
def test_what_cannot_be_allowed_is_refused_with_its_value(word: str) -> None:
    with pytest.raises(InvalidInput, match="use a host, an address or a network"):
        AddressPolicy.of([word])
