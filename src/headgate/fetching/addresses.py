"""Which addresses may be connected to.

A page can link to anything, and a name can resolve to anything, so links must not lead the crawler
into the network it runs in. An address that is not public — private, loopback, link-local, shared
(CGNAT), unique local, multicast, reserved, or an IPv6 address that carries such an IPv4 address —
is refused unless the user named the URL's host, or a network that holds the address. Naming an
address names it as a host: a stranger's name that leads there is refused all the same.

The answer holds for the very address that is then connected to: names are resolved once, addresses
judged, and the judged address goes to connect(), so a name that changes its mind in between
(DNS rebinding) gains nothing. Nor does one that changes it later: a host that the user named and
that once was at a public address is not followed to a private one.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

__all__ = ["AddressGuard", "is_public"]

_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address belongs to the Internet at large.

    >>> [is_public(ip_address(a)) for a in ("8.8.8.8", "100.64.0.1", "::ffff:10.0.0.1", "fe80::1")]
    [True, False, False, False]
    """
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        inner = _carried(address)
        if inner is not None:
            return is_public(inner)
        if address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address a translated or tunnelled IPv6 address leads to."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


class AddressGuard:
    """Judges (host, address) pairs; made from the hosts and networks the user named."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        self._hosts: set[str] = set()
        self._seen_public: set[str] = set()
        """Of the hosts."""
        self._networks: list[IPv4Network | IPv6Network] = []
        for name in named:
            if "/" in name:
                self._networks.append(ip_network(name, strict=False))
            else:
                self._hosts.add(name.strip("[]").lower())

    def allows(self, host: str, address: str) -> bool:
        """Whether a connection to the address is in order when the URL says the host."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        named = host in self._hosts
        if is_public(parsed):
            if named:
                self._seen_public.add(host)
            return True
        if named and host not in self._seen_public:
            return True
        return any(parsed in network for network in self._networks)
