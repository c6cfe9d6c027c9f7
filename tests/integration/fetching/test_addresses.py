"""Which addresses are refused, in all their spellings."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from headgate.fetching.dns import AddressGuard, is_public, leads_to_public

_PRIVATE = """
    0.0.0.0 10.1.2.3 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1
    172.31.255.255 192.0.0.1 192.0.2.1 192.168.1.1 198.18.0.1 224.0.0.1 240.0.0.1 255.255.255.255
    :: ::1 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe 64:ff9b::10.0.0.1 2002:0a00:0001::1
    2001:0:53aa:64c:0:0:f5ff:fffe fc00::1 fd12:3456::1 fe80::1 fec0::1 ff02::1 2001:db8::1
    192.0.0.8 192.0.0.9 192.0.0.170 192.0.0.255 192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.6
    198.51.100.1 203.0.113.1 64:ff9b::192.0.0.1 ::ffff:192.0.0.1 2002:c000:0001::1
    64:ff9b:1::8.8.8.8 64:ff9b:1:ffff::1 100::1 100:0:0:1::1 ::8.8.8.8 ::ffff:0:8.8.8.8
    2001:1::1 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1 2001:1ff:ffff::1
    2620:4f:8000::1 3fff::1 3fff:fff::1 5f00::1 4000::1 8000::1 fe80::1%1
"""
_PUBLIC = """
    1.1.1.1 8.8.8.8 172.32.0.1 192.169.0.1 2606:4700::1111 64:ff9b::8.8.8.8 ::ffff:8.8.8.8
    192.0.1.1 192.0.3.1 192.88.98.1 198.17.255.255 198.20.0.1 223.255.255.255 2001:200::1
    2001:4860::1 2002:0808:0808::1 2a00::1 3ffe::1
"""


@pytest.mark.parametrize("address", _PRIVATE.split())
def test_private(address: str) -> None:
    assert not is_public(ip_address(address))
    assert not leads_to_public(address)
    assert not AddressGuard().allows("example.org", address)


@pytest.mark.parametrize("address", _PUBLIC.split())
def test_public(address: str) -> None:
    assert is_public(ip_address(address))
    assert leads_to_public(address)
    assert AddressGuard().allows("example.org", address)


def test_what_the_user_named_is_allowed_and_nothing_beside() -> None:
    guard = AddressGuard(["intranet.test", "127.0.0.1", "[::1]", "10.8.0.0/16"])
    assert guard.allows("intranet.test", "192.168.0.1")
    assert guard.allows("127.0.0.1", "127.0.0.1")
    assert guard.allows("::1", "::1")
    assert guard.allows("anything.test", "10.8.3.4")
    assert not guard.allows("anything.test", "10.9.0.1")
    assert not guard.allows("rebound.test", "127.0.0.1")
    assert not guard.allows("intranet.test", "not an address")


def test_a_host_is_named_for_its_own_site() -> None:
    guard = AddressGuard(["10.8.0.0/16"], [("intranet", "wiki.test"), ("local", "[::1]")])
    assert guard.allows("wiki.test", "192.168.0.1", "intranet")
    assert not guard.allows("wiki.test", "192.168.0.1", "stranger")
    assert not guard.allows("wiki.test", "192.168.0.1")
    assert guard.allows("::1", "::1", "local")
    assert not guard.allows("::1", "::1", "intranet")
    assert guard.allows("anything.test", "10.8.0.1", "stranger")


@pytest.mark.parametrize("private", ["127.0.0.1", "0.0.0.0", "::1", "::", "169.254.169.254"])
def test_a_public_name_that_turns_private_is_refused(private: str) -> None:
    guard = AddressGuard(["rebinding.test", "intranet.test"])
    assert guard.allows("intranet.test", private), "named, and private from the start"
    assert guard.allows("rebinding.test", "8.8.8.8")
    assert not guard.allows("rebinding.test", private)
    assert guard.allows("rebinding.test", "8.8.4.4")
