"""The fetcher: one request, one response.

Redirects are returned; the crawl follows them under its site's rules. A response has its exact
head, and its body still in its content coding, as it is archived.

Steps: find the origin, take or open a connection, pay for the bytes that the response may bring,
send, wait. A kept connection that the server closed before the first byte of the response is
replaced once, silently: a GET may be repeated.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from types import TracebackType
from typing import Self

import msgspec
from msgspec.structs import replace

from headgate.bandwidth import receive_window
from headgate.bandwidth.receive_window import fetches_at_once
from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.ports import Clock
from headgate.fetching.connection import Connection, Surroundings
from headgate.fetching.dns import (
    AddressGuard,
    CachedResolver,
    NetworkResolver,
    Resolver,
    leads_to_public,
)
from headgate.fetching.errors import FetchFault
from headgate.fetching.exchange import Exchange, Reply, RequestHeads, Witness
from headgate.fetching.identity import identities
from headgate.fetching.limits import Limits
from headgate.fetching.meter import Meter, ResponseMeter
from headgate.fetching.open_files import give_large_blocks_back, most_idle
from headgate.fetching.opener import Opener
from headgate.fetching.origin import Origin, Origins
from headgate.fetching.pool import Pool, Supply
from headgate.fetching.response import ResponseFilter
from headgate.fetching.tls import Tls
from headgate.model.errors import UserMistake
from headgate.model.fetch import NOTHING_ANNOUNCED, Announced, Fetched, FetchFailure, FetchRequest
from headgate.model.site import Access
from headgate.model.version import VERSION

__all__ = ["FetcherSettings", "HttpFetcher"]

_TURNS = 3
"""How often a response may be put off: once, unless its server changes its behaviour."""
_TICKS_PER_TIMEOUT = 8
_SLOWEST_TICK_SECONDS = 0.25


class FetcherSettings(msgspec.Struct, frozen=True):
    """How to behave on the web."""

    contact: str
    """How webmasters can reach the user: a URL or a mail address."""
    limits: Limits = Limits()
    named: frozenset[str] = frozenset()
    """Hosts, addresses and networks that all sites may use though they are private."""
    named_for: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a site and a host that only this site may use though it is private."""
    verify_tls: bool = True
    authorities: str | None = None
    """A file of certificates to trust instead of the system's."""
    smooth: bool = False
    """Whether bytes should arrive in small bursts, for the sake of other users of the line."""
    access: tuple[tuple[str, Access, tuple[str, ...]], ...] = ()
    """Identities of sites that have one: site, settings, URLs whose hosts may learn it."""
    accept: str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

    def __post_init__(self) -> None:
        if not (self.contact.isascii() and self.contact.isprintable()):
            raise UserMistake(
                f"the contact {self.contact!r} cannot stand in a header; write a URL or a mail"
                " address, without line ends and in ASCII"
            )

    @property
    def user_agent(self) -> str:
        return f"Headgate/{VERSION} (+{self.contact})"


class HttpFetcher:
    """Use as ``async with HttpFetcher(...) as fetcher``, within one event loop."""

    def __init__(
        self,
        settings: FetcherSettings,
        meter: Meter | None = None,
        resolver: Resolver | None = None,
        *,
        clock: Clock,
    ) -> None:
        """``clock`` stands still while the machine is suspended: as the timers of the event loop,
        and since no response is late, and no server slow, for what our machine slept."""
        give_large_blocks_back()
        self._clock = clock
        self.meter = meter or Meter(clock=clock.now, smooth=settings.smooth)
        """Rates are set there."""
        self._tallies = ServerTallies()
        self.servers = self._tallies.by_address
        """Counters for each server address; they only grow."""
        self._limits = settings.limits
        idle = settings.limits.idle_connections
        self._pool = Pool(replace(settings.limits, idle_connections=most_idle(idle)))
        self._around = Surroundings(settings.limits, self.meter, clock.now, self._pool.forget)
        self._resolver = resolver or CachedResolver(NetworkResolver(), clock.now)
        tls = Tls(verify=settings.verify_tls, authorities=settings.authorities)
        guard = AddressGuard(settings.named, settings.named_for)
        self._identities = identities(settings.access)
        self._opener = Opener(self._around, self._resolver, guard, tls, self._identities)
        self._supply = Supply(self._opener, self._pool)
        self._origins = Origins()
        self._heads = RequestHeads(
            settings.user_agent, settings.accept, self._identities, clock.wall
        )
        self._ledger = WireLedger()
        self._tick_seconds = _tick_seconds(settings.limits)
        self._ticker = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)

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
        """Close idle connections. The caller must cancel running fetches first."""
        self._ticker.cancel()
        self._pool.close()
        self.meter.close()
        await self._resolver.close()

    async def fetch(
        self, request: FetchRequest, witness: Witness | None = None
    ) -> Fetched | FetchFailure:
        """The response, or why there is none; raises only CancelledError, and `WorldFault` if this
        machine can open no connection: the URL is as good as before."""
        left = self._clock.wall()
        began = self._clock.now()
        try:
            origin, target = self._origins.locate(request.url)
            identity = self._identities.get(request.site)
            if identity is not None:
                origin = identity.route(origin)
                await identity.enter(request.site, self._ask)
            return await self._fetch(request, origin, target, witness)
        except FetchFault as fault:
            seconds = self._clock.now() - began
            return FetchFailure(
                request.url,
                fault.kind,
                detail=fault.detail,
                wall_time=left,
                seconds=seconds,
                wire_bytes=fault.wire_bytes,
            )

    async def _ask(self, request: FetchRequest) -> Fetched | FetchFailure:
        """The same for logging in."""
        try:
            origin, target = self._origins.locate(request.url)
            origin = self._identities[request.site].route(origin)
            return await self._fetch(request, origin, target)
        except FetchFault as fault:
            return FetchFailure(request.url, fault.kind, fault.detail)

    def connections(self, site: str, url: str, expected_bytes: float) -> int:
        """Number of concurrent fetches that use the site's share at its host, within politeness."""
        origin, identity = self._origins.locate(url)[0], self._identities.get(site)
        if identity is not None:
            origin = identity.route(origin)
        rtt, most = self._opener.rtt(origin) or 0.0, self._limits.connections_per_host
        demand = self.meter.demand(site, rtt, expected_bytes, most)
        by_windows = receive_window.connections(demand)
        tally = self._tallies.of_host(origin.host)
        return min(fetches_at_once(by_windows, demand.share, expected_bytes, tally), most)

    def under_way(self, site: str) -> int:
        """Wire bytes received for a site's incomplete responses."""
        return self._ledger.under_way(site)

    def take_cut_off(self, site: str) -> int:
        """Wire bytes of the site's cancelled fetches since the last call."""
        return self._ledger.take_cut_off(site)

    def announced(self, site: str) -> Announced:
        """Bytes still to come of the site's current responses, as far as known."""
        return self._ledger.announced(site)

    def carried(self) -> int:
        """Wire bytes received for all responses since the start."""
        return self._ledger.carried()

    async def _fetch(
        self, request: FetchRequest, origin: Origin, target: str, witness: Witness | None = None
    ) -> Fetched:
        head = self._heads.write(request, origin, target)
        repeatable = request.method == "GET"
        connection = self._supply.kept(origin, request) if repeatable else None
        if connection is None:
            connection = await self._supply.open(origin, request)
        untouched, later = 1, _TURNS
        while True:
            try:
                return await self._exchange(request, connection, head, target, witness)
            except FetchFault as fault:
                untouched, later = untouched - fault.untouched, later - fault.later
                again = repeatable and (fault.untouched or fault.later)
                if not again or min(untouched, later) < 0:
                    raise
                self._ledger.cut_off(request.site, fault.wire_bytes)
            connection = await self._supply.open(origin, request)

    async def _exchange(
        self,
        request: FetchRequest,
        connection: Connection,
        head: bytes,
        target: str,
        witness: Witness | None,
    ) -> Fetched:
        bodiless = request.method == "HEAD"
        wanted = ResponseFilter.for_request(request)
        reply = Reply(request.max_bytes, self._limits, wanted, witness, bodiless=bodiless)
        exchange = Exchange(request, reply)
        asked = self._clock.now()
        self.meter.under_way[request.site] += 1
        try:
            if not self.meter.limiter.free(request.site):
                line = connection.channel.line
                most = self._limits.connections_per_host
                sealed = connection.channel.stream is not None
                expected = request.expected_bytes
                exchange.response_meter = ResponseMeter(
                    self.meter, request.site, line, expected, most, sealed=sealed
                )
                await self._around.crumbs.turn(connection.origin.host, exchange)
                await exchange.response_meter.pay_for_request()
            self._ledger.begin(request.site, connection)
            left = self._clock.wall()
            began = self._clock.now()
            await connection.start(head + request.body, exchange)
        except FetchFault as fault:
            self._supply.drop(connection)
            where = f"through the proxy at {connection.address}: " if connection.proxied else ""
            raise fault.on(where, exchange.wire_bytes) from fault
        except BaseException:
            self._supply.drop(connection)
            self._ledger.cut_off(request.site, exchange.wire_bytes)
            raise
        finally:
            self.meter.under_way[request.site] -= 1
            self._around.crumbs.leave(connection.origin.host, exchange)
            self._ledger.end(request.site, connection, exchange.wire_bytes)
        self._tallies.count(connection, exchange, asked, began)
        self._supply.release(connection, exchange)
        if not request.own_head:
            await self._heads.keep_cookies(request.site, connection.origin, target, reply)
        heads = self._heads.archived(request.site, head, reply.head.raw)
        return _fetched(request.url, heads, connection, left, exchange)

    def _tick(self) -> None:
        now = self._clock.now()
        for connection in list(self._ledger):
            connection.look_after(now)
        self._around.crumbs.observe(now)
        self._pool.sweep(now)
        self._ticker = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)


def _tick_seconds(limits: Limits) -> float:
    shortest = min(limits.first_byte_seconds, limits.stall_seconds, limits.total_seconds)
    return min(shortest / _TICKS_PER_TIMEOUT, _SLOWEST_TICK_SECONDS)


def _fetched(
    url: str, heads: tuple[bytes, bytes], connection: Connection, left: float, exchange: Exchange
) -> Fetched:
    """``heads``: of request and response, as they may be archived."""
    reply = exchange.reply
    assert reply.body is not None
    proxied, stream = connection.proxied, connection.channel.stream
    return Fetched(
        url,
        reply.head.status,
        headers=reply.head.headers,
        request_head=heads[0],
        response_head=heads[1],
        payload=reply.body.payload,
        address="" if proxied else connection.address,
        wall_time=left,
        first_byte_seconds=exchange.first_byte - exchange.sent,
        seconds=exchange.finished - exchange.sent,
        wire_bytes=exchange.wire_bytes,
        truncated=reply.body.truncated,
        public=proxied or leads_to_public(connection.address),
        tls=None if stream is None else stream.facts,
    )


class WireLedger:
    """Accounts for every byte received: in flight, reported with its response, or cut off.

    At any time each byte is in exactly one of the three, so their sum is right.

    Indexed by site: thousands may be queried one by one.
    """

    def __init__(self) -> None:
        self._under_way: defaultdict[str, set[Connection]] = defaultdict(set)
        self._cut_off: Counter[str] = Counter()
        self._carried = 0

    def __iter__(self) -> Iterator[Connection]:
        """Connections with a request in flight."""
        return chain.from_iterable(self._under_way.values())

    def begin(self, site: str, connection: Connection) -> None:
        self._under_way[site].add(connection)

    def end(self, site: str, connection: Connection, wire_bytes: int) -> None:
        """The exchange ended, in whatever way, perhaps before it began."""
        connections = self._under_way.get(site, set())
        connections.discard(connection)
        if not connections:
            self._under_way.pop(site, None)
        self._carried += wire_bytes

    def cut_off(self, site: str, wire_bytes: int) -> None:
        """Bytes of a response that is not reported."""
        self._cut_off[site] += wire_bytes

    def take_cut_off(self, site: str) -> int:
        """Bytes cut off since the last call."""
        return self._cut_off.pop(site, 0)

    def under_way(self, site: str) -> int:
        """Wire bytes received for incomplete responses."""
        connections = self._under_way.get(site)
        return sum(each.under_way(site) for each in connections) if connections else 0

    def announced(self, site: str) -> Announced:
        """Bytes still to come of current responses, as far as known."""
        connections = self._under_way.get(site)
        if not connections:
            return NOTHING_ANNOUNCED
        known = [connection.announced(site) for connection in connections]
        sizes = [size for size in known if size is not None]
        return Announced(sum(sizes), len(sizes))

    def carried(self) -> int:
        """Wire bytes received for all responses since the start."""
        return self._carried + sum(connection.arrived for connection in self)


class ServerTallies:
    """Counters per server, updated after each exchange.

    A tally for each address; only grows.
    """

    def __init__(self) -> None:
        self.by_address: dict[str, ServerTally] = {}
        self._by_host: dict[str, ServerTally] = {}
        """The tallies by host."""

    def of_host(self, host: str) -> ServerTally | None:
        return self._by_host.get(host)

    def count(self, connection: Connection, exchange: Exchange, asked: float, began: float) -> None:
        """``asked``: when the fetch had a connection; ``began``: when it was paid for."""
        tally = self.by_address.get(connection.address)
        if tally is None:
            tally = self.by_address[connection.address] = ServerTally()
        tally.hosts.add(connection.origin.host_line)
        tally.saw_round_trip(connection.channel.line.rtt)
        self._by_host[connection.origin.host] = tally
        # The exchange's own time does not include waiting for credit.
        held = exchange.finished - asked - (exchange.finished - exchange.sent)
        first_byte = exchange.first_byte - exchange.sent
        tally.count(began, exchange.finished, exchange.wire_bytes, first_byte, held)
