"""Names to addresses: resolved without blocking, cached for their time to live, checked."""

from __future__ import annotations

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Protocol

import msgspec

from headgate.fetching.errors import FetchFault
from headgate.fetching.open_files import try_one
from headgate.model.fetch import FailureKind

if TYPE_CHECKING:
    import aiodns

__all__ = [
    "AddressGuard",
    "CachedResolver",
    "DnsAnswer",
    "FixedResolver",
    "NetworkResolver",
    "Resolver",
    "is_public",
    "leads_to_public",
]


# Resolves names without blocking, and caches answers by their time to live.
#
# c-ares (aiodns) asks: no thread waits on a dead name server, and answers carry their time to live,
# which getaddrinfo hides. It reads the hosts file and resolv.conf as the system does.
#
# Lifetimes are bounded: zero does not cause a query per fetch, and an hour is the longest. Negative
# answers are cached for a shorter time. Concurrent queries for a name share one answer.


LEAST_LIFETIME_SECONDS = 60.0
GREATEST_LIFETIME_SECONDS = 3600.0
FAILURE_LIFETIME_SECONDS = 60.0
REMEMBERED_NAMES = 20_000


class DnsAnswer(msgspec.Struct, frozen=True):
    """The addresses of a name."""

    addresses: tuple[str, ...]
    lifetime_seconds: float


class Resolver(Protocol):
    """Finds a name's addresses or raises a FetchFault of kind DNS; an OSError if this machine is
    at fault (`limits`)."""

    async def resolve(self, host: str) -> DnsAnswer: ...

    async def close(self) -> None: ...


class NetworkResolver:
    """Queries the configured name servers. c-ares is loaded for the first name."""

    def __init__(self, timeout_seconds: float = 5.0, tries: int = 2) -> None:
        self._timeout_seconds = timeout_seconds
        self._tries = tries
        self._resolver: aiodns.DNSResolver | None = None

    async def resolve(self, host: str) -> DnsAnswer:
        if self._resolver is None:
            try_one()  # c-ares would never learn its name servers
        import aiodns

        if self._resolver is None:
            self._resolver = aiodns.DNSResolver(timeout=self._timeout_seconds, tries=self._tries)
        try:
            found = await self._resolver.getaddrinfo(
                host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM
            )
        except aiodns.error.DNSError as error:
            try_one()
            raise FetchFault(FailureKind.DNS, f"{host}: {error.args[-1]}") from error
        # IPv4 first: if both exist, it is the one that is hardly ever broken.
        nodes = sorted(found.nodes, key=lambda node: node.family != socket.AF_INET)
        addresses = tuple(
            dict.fromkeys(
                raw.decode() if isinstance(raw := node.addr[0], bytes) else str(raw)
                for node in nodes
            )
        )
        if not addresses:
            raise FetchFault(FailureKind.DNS, f"{host}: the name has no address")
        return DnsAnswer(addresses, float(min(node.ttl for node in nodes)))

    async def close(self) -> None:
        if self._resolver is not None:
            await self._resolver.close()


class FixedResolver:
    """Answers from a table; for tests and closed worlds. ``*`` stands for any other name."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = dict(table)
        self.asked: list[str] = []

    async def resolve(self, host: str) -> DnsAnswer:
        self.asked.append(host)
        address = self._table.get(host) or self._table.get("*")
        if address is None:
            raise FetchFault(FailureKind.DNS, f"{host}: Domain name not found")
        return DnsAnswer((address,), 0.0)

    async def close(self) -> None:
        pass


class _Remembered(msgspec.Struct, frozen=True):
    until: float
    answer: DnsAnswer | FetchFault


class CachedResolver:
    """Caches another resolver's answers; the least recently used are dropped first."""

    def __init__(self, resolver: Resolver, clock: Callable[[], float]) -> None:
        self._resolver = resolver
        self._clock = clock
        self._known: OrderedDict[str, _Remembered] = OrderedDict()
        self._asking: dict[str, asyncio.Task[DnsAnswer | FetchFault | OSError]] = {}

    async def resolve(self, host: str) -> DnsAnswer:
        known = self._known.get(host)
        if known is not None and known.until > self._clock():
            self._known.move_to_end(host)
            return _told(known.answer)
        task = self._asking.get(host)
        if task is None:
            task = asyncio.ensure_future(self._ask(host))
            self._asking[host] = task
            task.add_done_callback(lambda _: self._asking.pop(host, None))
        return _told(await asyncio.shield(task))

    async def close(self) -> None:
        for task in list(self._asking.values()):
            task.cancel()
        await self._resolver.close()

    async def _ask(self, host: str) -> DnsAnswer | FetchFault | OSError:
        """Errors are returned: perhaps nobody waits for them any more."""
        try:
            answer: DnsAnswer | FetchFault = await self._resolver.resolve(host)
        except FetchFault as fault:
            answer = fault
        except OSError as error:  # nothing was learned about the name
            return error
        self._known[host] = _Remembered(self._clock() + _lifetime(answer), answer)
        self._known.move_to_end(host)
        while len(self._known) > REMEMBERED_NAMES:
            self._known.popitem(last=False)
        return answer


def _told(answer: DnsAnswer | FetchFault | OSError) -> DnsAnswer:
    if isinstance(answer, FetchFault):
        raise FetchFault(answer.kind, answer.detail)
    if isinstance(answer, OSError):
        raise OSError(*answer.args)
    return answer


def _lifetime(answer: DnsAnswer | FetchFault) -> float:
    if isinstance(answer, FetchFault):
        return FAILURE_LIFETIME_SECONDS
    return min(max(answer.lifetime_seconds, LEAST_LIFETIME_SECONDS), GREATEST_LIFETIME_SECONDS)


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
    """Which addresses may be connected to.

    A page can link to anything, and a name can resolve to anything, so links must not lead the
    crawler into the network it runs in. An address that is not public — private, loopback,
    link-local, shared (CGNAT), unique local, multicast, reserved, of any block with a special
    purpose, or an IPv6 address that carries such an IPv4 address — is refused unless the user named
    the URL's host, or a network that holds the address. A seed's host is allowed for its own site
    only. Naming an address allows it as a host in URLs: a foreign name that resolves to it is still
    refused.

    Public addresses are defined by tables of our own, from IANA's registries of special-purpose
    addresses (IPv4 as of 2025-10-09, IPv6 as of 2025-10-09), since those of the ``ipaddress``
    module are older and change from one patch of Python to the next. Blocks that IANA calls
    globally reachable are in them, too, if they are relays or sinks (AS112, AMT, ORCHID): no web
    server is there.

    Names are resolved once, and the address that was checked is the one connected to, so DNS
    rebinding gains nothing. Nor does a later change: a host that the user named and that once had a
    public address is not followed to a private one.

    Decides on (host, address) pairs, by the hosts and networks that the user named.
    """

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
