"""Which addresses may be connected to.

A page can link to anything, and a name can resolve to anything, so links must not lead the crawler
into the network it runs in. An address that is not public — private, loopback, link-local, shared
(CGNAT), unique local, multicast, reserved, of any block with a special purpose, or an IPv6 address
that carries such an IPv4 address — is refused unless the user named the URL's host, or a network
that holds the address. A seed's host is allowed for its own site only. Naming an address allows it
as a host in URLs: a foreign name that resolves to it is still refused.

Public addresses are defined by tables of our own, from IANA's registries of special-purpose
addresses (IPv4 as of 2025-10-09, IPv6 as of 2025-10-09), since those of the ``ipaddress`` module
are older and change from one patch of Python to the next. Blocks that IANA calls globally reachable
are in them, too, if they are relays or sinks (AS112, AMT, ORCHID): no web server is there.

Names are resolved once, and the address that was checked is the one connected to, so DNS rebinding
gains nothing. Nor does a later change: a host that the user named and that once had a public
address is not followed to a private one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

__all__ = ["AddressGuard", "is_public", "leads_to_public"]

_SPECIAL_IPV4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
        "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
        "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15",
        "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    )
)  # fmt: skip
_GLOBAL_IPV6 = IPv6Network("2000::/3")
"""Global unicast addresses; others have a special purpose or none."""
_SPECIAL_IPV6 = tuple(
    IPv6Network(block)
    for block in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is public.

    >>> [is_public(ip_address(a)) for a in ("8.8.8.8", "100.64.0.1", "::ffff:10.0.0.1", "fe80::1")]
    [True, False, False, False]
    """
    if isinstance(address, IPv4Address):
        return not any(address in block for block in _SPECIAL_IPV4)
    if address.scope_id is not None:
        return False
    inner = _carried(address)
    if inner is not None:
        return is_public(inner)
    return address in _GLOBAL_IPV6 and not any(address in block for block in _SPECIAL_IPV6)


@lru_cache(maxsize=4096)
def leads_to_public(address: str) -> bool:
    """The same for an address that was connected to."""
    return is_public(ip_address(address))


def _carried(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address embedded in a translated or tunnelled IPv6 address."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)


class AddressGuard:
    """Decides on (host, address) pairs, by the hosts and networks that the user named."""

    def __init__(
        self, named: Iterable[str] = (), named_for: Iterable[tuple[str, str]] = ()
    ) -> None:
        """``named_for``: pairs of a site and a host."""
        self._hosts_of = {(site, host.strip("[]").lower()) for site, host in named_for}
        self._hosts: set[str] = set()
        self._seen_public: set[str] = set()
        """Hosts that had a public address."""
        self._networks: list[IPv4Network | IPv6Network] = []
        for name in named:
            if "/" in name:
                self._networks.append(ip_network(name, strict=False))
            else:
                self._hosts.add(name.strip("[]").lower())

    def allows(self, host: str, address: str, site: str = "") -> bool:
        """Whether a site may connect to the address for a URL with this host."""
        try:
            public = leads_to_public(address)
        except ValueError:
            return False
        named = host in self._hosts or (site, host) in self._hosts_of
        if public:
            if named:
                self._seen_public.add(host)
            return True
        if named and host not in self._seen_public:
            return True
        return any(ip_address(address) in network for network in self._networks)
