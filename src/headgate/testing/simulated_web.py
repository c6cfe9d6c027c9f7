"""A web in memory behind the port of a fetcher: latency, rates, faults and lies, no sockets.

Answers come from a pure function, like `seeded_servers`. The rest works as in the real fetcher: a
response comes piece by piece, at its server's speed; each piece is paid at the same meter as in a
real crawl, and has arrived once it is paid. So the line carries in any second what the limiter
granted in it.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from headgate.bandwidth import receive_window
from headgate.bandwidth.receive_window import fetches_at_once
from headgate.bandwidth.server_tally import ServerTally
from headgate.crawling.ports import Clock
from headgate.fetching.client import FetcherSettings
from headgate.fetching.errors import FetchFault
from headgate.fetching.meter import Meter
from headgate.fetching.response import ResponseFilter
from headgate.model.fetch import (
    NOTHING_ANNOUNCED,
    Announced,
    FailureKind,
    Fetched,
    FetchFailure,
    FetchRequest,
)

__all__ = ["Answer", "Answering", "Line", "ServerPace", "SimulatedExchange", "SimulatedWeb"]

_ROUND_TRIP_SECONDS = 0.03
_LUMP_SECONDS = 0.5
"""Of a slow server's response: so much comes at once at the most."""
_SAVED_SECONDS = 0.02


@dataclass(slots=True)
class ServerPace:
    """The speed of a server, which its concurrent responses share."""

    speeds: Sequence[tuple[float, float]]
    """(seconds from its first byte, bytes per second from then on)."""
    _began: float | None = None
    _free_at: float = 0.0

    def seconds(self, bytes_: int, now: float) -> float:
        """Seconds until it has sent so many more bytes. It saves up next to nothing while idle."""
        if self._began is None:
            self._began = now
        speed = [rate for since, rate in self.speeds if since <= now - self._began][-1]
        self._free_at = max(self._free_at, now - _SAVED_SECONDS) + bytes_ / speed
        return max(self._free_at - now, 0.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """A server's answer to one request, and its behaviour."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    fault: FailureKind | None = None
    """How it fails; None: it does not."""
    share_before_fault: float = 0.0
    """Of the response, that came until then."""
    first_byte_seconds: float = 0.05
    bytes_per_second: float = math.inf
    address: str = "192.0.2.1"
    announced: float = 1.0
    """Times its true length that the response says it has; not 1: a lie."""
    pace: ServerPace | None = None
    """Shared with other responses of the same server; None: this one is alone."""


Answering = Callable[[FetchRequest, float], Answer]
"""(what is asked, seconds since 1970)."""


@dataclass(slots=True)
class SimulatedExchange:
    """One request, as the server's own log would have it."""

    url: str
    site: str
    at: float
    """By the loop's time, like ``ended``."""
    answer: Answer
    wire_bytes: int = 0
    """That came until now."""
    ended: float | None = None
    """None: it is under way, or was given up."""
    fault: FailureKind | None = None
    """How it ended, where that was not well."""


@dataclass(slots=True)
class Line:
    """All traffic of a web, by any fetcher: the truth for tests."""

    exchanges: list[SimulatedExchange] = field(default_factory=list)
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    """(loop's time, wire bytes), in order."""

    @property
    def wire_bytes(self) -> int:
        return sum(amount for _, amount in self.arrivals)


class SimulatedWeb:
    """A `headgate.crawling.ports.Fetcher`; use as the real one, within a virtual loop."""

    def __init__(
        self, settings: FetcherSettings, answering: Answering, clock: Clock, line: Line
    ) -> None:
        self._loop = asyncio.get_running_loop()
        # As of a machine that was frozen: after a sleep the meter's clock has gone on.
        self.meter = Meter(clock=clock.now, smooth=settings.smooth)
        self.servers: dict[str, ServerTally] = {}
        self._by_host: dict[str, ServerTally] = {}
        self._limits = settings.limits
        self._user_agent = settings.user_agent
        self._answering = answering
        self._clock = clock
        self._line = line
        self._under_way: dict[str, dict[int, SimulatedExchange]] = {}
        """By site."""
        self._carried = 0
        self._cut_off: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.meter.close()

    async def fetch(self, request: FetchRequest) -> Fetched | FetchFailure:
        left, asked = self._clock.wall(), self._loop.time()
        answer = self._answering(request, left)
        exchange = SimulatedExchange(request.url, request.site, asked, answer)
        self._line.exchanges.append(exchange)
        coming = _coming(request, answer)
        fault, held = coming.fault, 0.0
        under_way = self._under_way.setdefault(request.site, {})
        under_way[id(exchange)] = exchange
        try:
            async with asyncio.timeout(_finite(request.most_seconds)):
                await asyncio.sleep(answer.first_byte_seconds)
                held = await self._bring(exchange, coming.wire_bytes)
        except TimeoutError:
            fault = FailureKind.TOO_SLOW
        except asyncio.CancelledError:
            self._cut_off[request.site] += exchange.wire_bytes
            raise
        finally:
            del under_way[id(exchange)]
        now = exchange.ended = self._loop.time()
        exchange.fault = fault
        if fault is not None:
            came = exchange.wire_bytes
            return FetchFailure(
                request.url,
                fault,
                detail="simulated",
                wall_time=left,
                seconds=now - asked,
                wire_bytes=came,
            )
        self._count(exchange, now, held)
        return Fetched(
            request.url,
            answer.status,
            headers=answer.headers,
            request_head=self._request_head(request),
            response_head=coming.head,
            payload=coming.body,
            address=answer.address,
            wall_time=left,
            first_byte_seconds=answer.first_byte_seconds,
            seconds=now - asked,
            wire_bytes=exchange.wire_bytes,
            truncated=coming.cut,
        )

    def under_way(self, site: str) -> int:
        exchanges = self._under_way.get(site)
        return sum(exchange.wire_bytes for exchange in exchanges.values()) if exchanges else 0

    def take_cut_off(self, site: str) -> int:
        return self._cut_off.pop(site, 0)

    def announced(self, site: str) -> Announced:
        exchanges = self._under_way.get(site)
        if not exchanges:
            return NOTHING_ANNOUNCED
        coming = [
            max(int(len(exchange.answer.body) * exchange.answer.announced) - exchange.wire_bytes, 0)
            for exchange in exchanges.values()
            if exchange.wire_bytes
        ]
        return Announced(sum(coming), len(coming))

    def carried(self) -> int:
        return self._carried

    def connections(self, site: str, url: str, expected_bytes: float) -> int:
        most = self._limits.connections_per_host
        demand = self.meter.demand(site, _ROUND_TRIP_SECONDS, expected_bytes, most)
        tally = self._by_host.get(urlsplit(url).hostname or "")
        by_windows = receive_window.connections(demand)
        return min(fetches_at_once(by_windows, demand.share, expected_bytes, tally), most)

    async def _bring(self, exchange: SimulatedExchange, whole: int) -> float:
        """Returns the seconds spent waiting for credit."""
        site, rate, held = exchange.site, exchange.answer.bytes_per_second, 0.0
        limiter = self.meter.limiter
        while (left := whole - exchange.wire_bytes) > 0:
            quantum = receive_window.read_quantum(limiter.total, limiter.share(site))
            piece = min(left, quantum)
            if exchange.answer.pace is not None:
                await asyncio.sleep(exchange.answer.pace.seconds(piece, self._loop.time()))
            elif rate < math.inf:
                piece = min(piece, max(int(rate * _LUMP_SECONDS), 1))
                await asyncio.sleep(piece / rate)
            waited = self._loop.time()
            await self.meter.pay(site, piece)
            held += self._loop.time() - waited
            exchange.wire_bytes += piece
            self._carried += piece
            self._line.arrivals.append((self._loop.time(), piece))
        return held

    def _count(self, exchange: SimulatedExchange, now: float, held: float) -> None:
        answer = exchange.answer
        host = urlsplit(exchange.url).hostname or ""
        tally = self.servers.setdefault(answer.address, ServerTally())
        tally.hosts.add(host)
        self._by_host[host] = tally
        tally.count(exchange.at, now, exchange.wire_bytes, answer.first_byte_seconds, held)

    def _request_head(self, request: FetchRequest) -> bytes:
        parts = urlsplit(request.url)
        lines = [f"GET {parts.path or '/'} HTTP/1.1", f"Host: {parts.netloc}"]
        lines += [f"{name}: {value}" for name, value in request.headers]
        return "\r\n".join((*lines, f"User-Agent: {self._user_agent}", "", "")).encode("latin-1")


@dataclass(frozen=True, slots=True)
class _Coming:
    """The outcome of an answer to a request."""

    head: bytes
    body: bytes
    cut: str
    """As in `Fetched.truncated`."""
    fault: FailureKind | None
    wire_bytes: int


def _coming(request: FetchRequest, answer: Answer) -> _Coming:
    """By what the server does, and then by what is wanted of it, as the real fetcher judges."""
    head, body, cut, fault = _head(answer), answer.body, "", answer.fault
    wanted = ResponseFilter.for_request(request)
    if wanted is not None and fault is None:
        try:
            wanted.judge(answer.status, answer.headers, int(len(body) * answer.announced))
        except FetchFault as unwanted:
            body, fault = b"", unwanted.kind
    if len(body) > request.max_bytes:
        body, cut = body[: request.max_bytes], "length"
    wire_bytes = math.ceil(receive_window.wire_bytes(len(head) + len(body)))
    if answer.fault is not None:
        wire_bytes = int(wire_bytes * answer.share_before_fault)
    return _Coming(head, body, cut, fault, wire_bytes)


def _finite(seconds: float) -> float | None:
    return None if math.isinf(seconds) else seconds


def _head(answer: Answer) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
    return f"HTTP/1.1 {answer.status} Said\r\n{lines}\r\n".encode("latin-1")
