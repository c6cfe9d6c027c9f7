"""The fetcher: one GET, one answer.

Redirects are answers here; the crawl follows them under its site's rules. A response is given out
with its exact head and its body still in its content coding, as an archive keeps it.

Order of things: find the origin, take a connection or open one, pay for what the response may
bring, send, wait. A kept connection that the server closed before a byte of the response came is
replaced once, without anyone noticing: a GET may be repeated.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain
from types import TracebackType
from typing import Self

from headgate.fetching.addresses import AddressGuard, leads_to_public
from headgate.fetching.connection import Connection, Surroundings
from headgate.fetching.cookies import CookieJar, names_a_domain, public_suffixes
from headgate.fetching.dns import CachedResolver, NetworkResolver, Resolver
from headgate.fetching.exchange import Exchange
from headgate.fetching.faults import FetchFault
from headgate.fetching.limits import Limits
from headgate.fetching.metering import Meter
from headgate.fetching.opener import Opener
from headgate.fetching.origin import Origin, Origins
from headgate.fetching.pool import Pool
from headgate.fetching.reply import Reply
from headgate.fetching.tap import Tap
from headgate.fetching.tls import Tls
from headgate.fetching.wanted import Wanted
from headgate.model.errors import UserMistake
from headgate.model.fetch import Announced, Fetched, FetchFailure, FetchRequest
from headgate.traffic import window
from headgate.traffic.fan_out import fetches_at_once
from headgate.traffic.server_tally import ServerTally

__all__ = ["FetcherSettings", "HttpFetcher"]

_TURNS = 3
"""So often a response may be put off: once, unless its server is now this way and now that."""
_TICKS_PER_TIMEOUT = 8
_SLOWEST_TICK_SECONDS = 0.25
_FIELD_VALUE = re.compile(r"[!-~\xa0-\xff](?:[\t -~\xa0-\xff]*[!-~\xa0-\xff])?")
"""RFC 9110 5.5. What a server, or a file, gave us to send back may be anything."""


@dataclass(frozen=True, slots=True)
class FetcherSettings:
    """How to behave on the web."""

    contact: str
    """Where a webmaster reaches whoever runs this: a URL or a mail address."""
    limits: Limits = field(default=Limits())
    named: frozenset[str] = frozenset()
    """Hosts, addresses and networks that the user named for all sites: these may be private."""
    named_for: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a site and a host that the user named for it alone."""
    verify_tls: bool = True
    authorities: str | None = None
    """A file of certificates to trust instead of the system's."""
    smooth: bool = False
    """Whether bytes should come in small lumps, for the sake of others on the line."""
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

    def __post_init__(self) -> None:
        if not (self.contact.isascii() and self.contact.isprintable()):
            raise UserMistake(
                f"the contact {self.contact!r} cannot stand in a header; write a URL or a mail"
                " address, without line ends and in ASCII"
            )

    @property
    def user_agent(self) -> str:
        return f"Headgate/{version('headgate')} (+{self.contact})"


class HttpFetcher:
    """Use as ``async with HttpFetcher(...) as fetcher``, within one event loop."""

    def __init__(
        self,
        settings: FetcherSettings,
        meter: Meter | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self.meter = meter or Meter(smooth=settings.smooth)
        """Rates are set there."""
        self.servers: dict[str, ServerTally] = {}
        """What each address did for us; only grows."""
        self._by_host: dict[str, ServerTally] = {}
        """The same tallies, by the host that was asked last."""
        self._limits = settings.limits
        self._around = Surroundings(settings.limits, self.meter)
        self._pool = Pool(settings.limits)
        self._around.dropped = self._pool.forget
        self._resolver = resolver or CachedResolver(NetworkResolver())
        tls = Tls(verify=settings.verify_tls, authorities=settings.authorities)
        guard = AddressGuard(settings.named, settings.named_for)
        self._opener = Opener(self._around, self._resolver, guard, tls)
        self._origins = Origins()
        self._jars: dict[str, CookieJar] = {}
        self._knows_suffixes = False
        self._under_way: defaultdict[str, set[Connection]] = defaultdict(set)
        """By site: thousands of them may be asked about one by one."""
        self._carried = 0
        self._cut_off: Counter[str] = Counter()
        self._same_lines = (
            f"User-Agent: {settings.user_agent}\r\nAccept: {settings.accept}\r\n"
            "Accept-Encoding: gzip, deflate, br, zstd\r\n"
        )
        self._ticker = asyncio.get_running_loop().call_later(self._tick_seconds(), self._tick)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close what is idle. Fetches under way are the caller's to cancel first."""
        self._ticker.cancel()
        self._pool.close()
        self.meter.close()
        await self._resolver.close()

    async def fetch(self, request: FetchRequest) -> Fetched | FetchFailure:
        """The response, or why there is none; raises nothing but cancellation."""
        left = time.time()
        began = time.monotonic()
        try:
            origin, target = self._origins.locate(request.url)
            return await self._fetch(request, origin, target)
        except FetchFault as fault:
            seconds = time.monotonic() - began
            return FetchFailure(
                request.url, fault.kind, fault.detail, left, seconds, fault.wire_bytes
            )

    def connections(self, site: str, url: str, expected_bytes: float) -> int:
        """How many fetches at once use up the site's share on its host, within politeness."""
        host = self._origins.locate(url)[0].host
        rtt, most = self._opener.rtt(host) or 0.0, self._limits.connections_per_host
        demand = self.meter.demand(site, rtt, expected_bytes, most)
        by_windows = window.connections(demand)
        tally = self._by_host.get(host)
        return min(fetches_at_once(by_windows, demand.share, expected_bytes, tally), most)

    def under_way(self, site: str) -> int:
        """Wire bytes of a site that came for responses not yet whole."""
        return sum(connection.under_way(site) for connection in self._under_way.get(site, ()))

    def take_cut_off(self, site: str) -> int:
        """Wire bytes of the site's cancelled fetches, each told once."""
        return self._cut_off.pop(site, 0)

    def announced(self, site: str) -> Announced:
        """What the site's responses under way have still to bring, where they say it."""
        known = [connection.announced(site) for connection in self._under_way.get(site, ())]
        sizes = [size for size in known if size is not None]
        return Announced(sum(sizes), len(sizes))

    def carried(self) -> int:
        """Wire bytes that came for all responses since the beginning."""
        under_way = chain.from_iterable(self._under_way.values())
        return self._carried + sum(connection.arrived for connection in under_way)

    async def _fetch(self, request: FetchRequest, origin: Origin, target: str) -> Fetched:
        head = self._request_head(request, origin, target)
        connection = self._fitting(origin, request) or await self._open(origin, request)
        untouched, later = 1, _TURNS
        while True:
            try:
                return await self._exchange(request, connection, head, target)
            except FetchFault as fault:
                untouched, later = untouched - fault.untouched, later - fault.later
                if not (fault.untouched or fault.later) or min(untouched, later) < 0:
                    raise
                self._cut_off[request.site] += fault.wire_bytes
            connection = await self._open(origin, request)

    def _fitting(self, origin: Origin, request: FetchRequest) -> Connection | None:
        """A kept connection, as wide as today's rates ask for; others are closed on the way."""
        while (connection := self._pool.take(origin)) is not None:
            if self._opener.fits(connection, request):
                return connection
            self._pool.drop(origin, connection)
        return None

    async def _open(self, origin: Origin, request: FetchRequest) -> Connection:
        connection = await self._pool.claim(origin)
        if connection is not None and self._opener.fits(connection, request):
            return connection
        if connection is not None:
            connection.close()
        try:
            return await self._opener.open(origin, request)
        except BaseException:
            self._pool.drop(origin, None)
            raise

    async def _exchange(
        self, request: FetchRequest, connection: Connection, head: bytes, target: str
    ) -> Fetched:
        reply = Reply(request.max_bytes, self._limits, Wanted.of(request))
        exchange = Exchange(request, reply)
        asked = time.monotonic()
        try:
            if not self.meter.governor.free(request.site):
                line = connection.channel.line
                most = self._limits.connections_per_host
                exchange.tap = Tap(self.meter, request.site, line, request.expected_bytes, most)
                await self._around.crumbs.turn(connection.origin.host, exchange)
                await exchange.tap.pay_for_request()
            self._under_way[request.site].add(connection)
            left = time.time()
            began = time.monotonic()
            await connection.start(head, exchange)
        except BaseException as error:
            self._pool.drop(connection.origin, connection)
            if isinstance(error, FetchFault):
                error.wire_bytes = exchange.wire_bytes
            else:
                self._cut_off[request.site] += exchange.wire_bytes
            raise
        finally:
            self._leave(request.site, connection)
            self._around.crumbs.leave(connection.origin.host, exchange)
            self._carried += exchange.wire_bytes
        self._count(connection, exchange, asked, began)
        self._release(connection, exchange)
        await self._keep_cookies(request.site, connection.origin, target, reply)
        return _fetched(request.url, head, connection.address, left, exchange)

    def _leave(self, site: str, connection: Connection) -> None:
        connections = self._under_way.get(site, set())
        connections.discard(connection)
        if not connections:
            self._under_way.pop(site, None)

    def _count(
        self, connection: Connection, exchange: Exchange, asked: float, began: float
    ) -> None:
        tally = self.servers.get(connection.address)
        if tally is None:
            tally = self.servers[connection.address] = ServerTally()
        tally.hosts.add(connection.origin.host_line)
        self._by_host[connection.origin.host] = tally
        # What the exchange counts as its own time leaves out the waiting for credit.
        held = exchange.finished - asked - (exchange.finished - exchange.sent)
        first_byte = exchange.first_byte - exchange.sent
        tally.count(began, exchange.finished, exchange.wire_bytes, first_byte, held)

    def _release(self, connection: Connection, exchange: Exchange) -> None:
        if connection.served == 1:
            self._opener.learn(connection)
        if exchange.reply.reusable and not connection.closed:
            self._pool.give(connection, exchange.finished)
        else:
            self._pool.drop(connection.origin, connection)

    def _request_head(self, request: FetchRequest, origin: Origin, target: str) -> bytes:
        lines = f"GET {target} HTTP/1.1\r\nHost: {origin.host_line}\r\n{self._same_lines}"
        jar = self._jars.get(request.site)
        if jar is not None:
            cookies = jar.header(origin.host, target, secure=origin.secure, now=time.time())
            if cookies:
                lines += f"Cookie: {cookies}\r\n"
        for name, value in request.headers:
            if _FIELD_VALUE.fullmatch(value):
                lines += f"{name}: {value}\r\n"
        return f"{lines}\r\n".encode("latin-1", "replace")

    async def _keep_cookies(self, site: str, origin: Origin, target: str, reply: Reply) -> None:
        for name, value in reply.head.headers:
            if name == "set-cookie":
                if not self._knows_suffixes and names_a_domain(value):
                    await asyncio.to_thread(public_suffixes)
                    self._knows_suffixes = True
                jar = self._jars.setdefault(site, CookieJar())
                jar.store(origin.host, target, value, time.time())

    def _tick_seconds(self) -> float:
        limits = self._limits
        shortest = min(limits.first_byte_seconds, limits.stall_seconds, limits.total_seconds)
        return min(shortest / _TICKS_PER_TIMEOUT, _SLOWEST_TICK_SECONDS)

    def _tick(self) -> None:
        now = time.monotonic()
        for connection in list(chain.from_iterable(self._under_way.values())):
            connection.look_after(now)
        self._around.crumbs.look(now)
        self._pool.sweep(now)
        self._ticker = asyncio.get_running_loop().call_later(self._tick_seconds(), self._tick)


def _fetched(url: str, head: bytes, address: str, left: float, exchange: Exchange) -> Fetched:
    reply = exchange.reply
    assert reply.body is not None
    return Fetched(
        url,
        reply.head.status,
        reply.head.headers,
        head,
        reply.head.raw,
        reply.body.payload,
        address,
        left,
        exchange.first_byte - exchange.sent,
        exchange.finished - exchange.sent,
        exchange.wire_bytes,
        reply.body.truncated,
        leads_to_public(address),
    )
