"""Fetches robots.txt at the site's rate, keeps it for a day, and finds the sitemaps it names."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from headgate.crawling.page_reader import PageReader
from headgate.crawling.ports import Clock
from headgate.crawling.reading_process import Unreadable, read_aside
from headgate.frontier.events import Event, RobotsLearned, SitemapsNamed
from headgate.frontier.retries import RetryRules, is_busy, is_momentary, retry_after
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest
from headgate.model.page import Role
from headgate.reading.content_coding import decode_content
from headgate.reading.robots import EVERYTHING, MOST_BYTES, NOTHING, RobotsRules, rules_for_status
from headgate.reading.urls import in_header, join

__all__ = ["Discovery", "RobotsCache", "RobotsFile", "RobotsOf", "learn_robots", "sitemaps_of"]

Request = Callable[[FetchRequest], Awaitable[Fetched | FetchFailure]]
"""The type of `headgate.crawling.ports.Fetcher.fetch`."""

_MOST_REQUESTS = 6
"""Five redirects are followed."""
_MOST_SITEMAP_LINES = 1_000
_MOST_SECONDS = 30.0
"""For each request."""
_EXPECTED_BYTES = 2_000
_LARGE_BYTES = 20_000
"""From this size on, parsing takes longer than a few milliseconds."""


class RobotsFile(msgspec.Struct):
    """Fetches robots.txt at the site's rate, following redirects as in RFC 9309.

    The rules, and the outcomes of the fetches.
    """

    rules: RobotsRules = NOTHING
    outcomes: list[Fetched | FetchFailure] = msgspec.field(default_factory=list)
    unreadable: bool = False
    """It came, but reading it broke off: as if it were unreachable, since it may forbid all."""

    @property
    def trouble(self) -> str:
        """Why there are no rules, so that nothing may be fetched; empty: there are."""
        if not self.rules.unreachable:
            return ""
        last = self.outcomes[-1]
        if self.unreadable:
            return "robots.txt cannot be read"
        if isinstance(last, Fetched):
            return f"robots.txt is unavailable: status {last.status}"
        if last.kind is FailureKind.LOGIN:
            return f"login failed: {last.detail}"
        return f"robots.txt is unavailable: {_in_words(last)}"

    @property
    def momentary(self) -> bool:
        """Whether a retry may succeed."""
        last = self.outcomes[-1]
        ending = last.status if isinstance(last, Fetched) else last.kind
        busy = isinstance(ending, int) and is_busy(ending)
        return self.rules.unreachable and (busy or is_momentary(ending))


def _in_words(failure: FetchFailure) -> str:
    if failure.kind is FailureKind.FORBIDDEN_ADDRESS:
        return "it is at a private address that you did not name"
    if failure.kind is FailureKind.TLS:
        return f"TLS, {failure.detail}"
    return failure.detail or failure.kind


async def learn_robots(
    origin: str,
    site: str,
    fetch: Request,
    agent: str,
    most_requests: int = _MOST_REQUESTS,
    most_bytes: int = MOST_BYTES,
) -> RobotsFile:
    """The rules of an origin for ``agent``. After five redirects there are none: everything is
    allowed. If ``most_requests`` ends it before, or reading breaks off, nothing is.
    """
    found = RobotsFile()
    url = f"{origin}/robots.txt"
    most_bytes = min(most_bytes, MOST_BYTES)
    for _ in range(min(most_requests, _MOST_REQUESTS)):
        outcome = await fetch(
            FetchRequest(url, site, _EXPECTED_BYTES, most_bytes, most_seconds=_MOST_SECONDS)
        )
        found.outcomes.append(outcome)
        if isinstance(outcome, FetchFailure):
            return found
        target = _redirect(outcome)
        if target is None:
            await _read(found, outcome, site, agent)
            return found
        url = target
    if most_requests >= _MOST_REQUESTS:
        found.rules = EVERYTHING
    return found


async def _read(found: RobotsFile, fetched: Fetched, site: str, agent: str) -> None:
    body = decode_content(fetched.payload, fetched.coding, MOST_BYTES).data
    # A busy server gives no answer yet: it may well have rules, whatever its status begins with.
    status = 0 if is_busy(fetched.status) else fetched.status
    if len(body) < _LARGE_BYTES:
        found.rules = rules_for_status(status, body, agent)
        return
    try:
        found.rules = await read_aside(site, rules_for_status, status, body, agent)
    except Unreadable:
        found.unreadable = True


def sitemaps_of(rules: RobotsRules, origin: str) -> list[str]:
    """URLs of an origin's sitemaps: those in its robots.txt, or else the usual place."""
    if rules.unreachable:
        return []
    lines = rules.sitemaps[:_MOST_SITEMAP_LINES] or ("/sitemap.xml",)
    joined = [join(f"{origin}/", line) for line in lines]
    return [url for url in joined if url is not None]


def _redirect(fetched: Fetched) -> str | None:
    location = in_header(fetched.header("location"))
    if not 300 <= fetched.status < 400 or not location:
        return None
    target = join(fetched.url, location)
    if target is None or urlsplit(target).scheme not in ("http", "https"):
        return None
    return target


_GOOD_SECONDS = 86_400.0
_MOST_ORIGINS = 5_000
_MOST_HELD_BYTES = 64 << 20
"""Half a megabyte of hostile rules takes fourteen."""


class RobotsOf(msgspec.Struct, frozen=True):
    """What robots.txt was asked for: an origin, by a site, whose credentials and proxy the server
    sees, and the product token that the rules were read for."""

    origin: str
    site: str
    agent: str


class CachedRobots(msgspec.Struct, frozen=True):
    rules: RobotsRules
    """As the file has them, whatever the site ignores; without sitemaps."""
    public: bool
    """The origin is at a public address."""
    fetched: float
    """Seconds since 1970."""


class RobotsCache(msgspec.Struct):
    """Caches robots.txt of sites that are visited often, for a day, as RFC 9309 allows.

    Bounded: the least recently used origin is dropped first. An unreachable robots.txt is not
    cached.

    The cache of one node.
    """

    most_origins: int = _MOST_ORIGINS
    most_held_bytes: int = _MOST_HELD_BYTES
    _kept: OrderedDict[RobotsOf, CachedRobots] = msgspec.field(default_factory=OrderedDict)
    _held_bytes: int = 0

    def find(self, of: RobotsOf, wall: float) -> CachedRobots | None:
        """None: there is no valid entry. One from the future was stored by a wrong clock."""
        kept = self._kept.get(of)
        if kept is None or not 0 <= wall - kept.fetched < _GOOD_SECONDS:
            return None
        self._kept.move_to_end(of)
        return kept

    def keep(self, of: RobotsOf, rules: RobotsRules, *, public: bool, wall: float) -> None:
        before = self._kept.pop(of, None)
        if before is not None:
            self._held_bytes -= before.rules.paths.held_bytes
        if rules.unreachable:
            return
        self._kept[of] = CachedRobots(replace(rules, sitemaps=()), public, wall)
        self._held_bytes += rules.paths.held_bytes
        while len(self._kept) > self.most_origins or self._held_bytes > self.most_held_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._held_bytes -= dropped.rules.paths.held_bytes


_PATIENCE_SECONDS = 1.0


class Discovery(msgspec.Struct):
    """Fetches robots.txt of an origin before its first page, and finds its sitemaps.

    An unreachable robots.txt forbids everything (RFC 9309), so a temporary failure would cost the
    whole site: it is retried as often as a page, and then the host is given up with the reason. One
    that does not arrive, or arrives very slowly, is not waited for longer than a page of its size.

    If robots.txt names no sitemap, the usual place is tried.

    For one site run: ``keep`` stores what was fetched, ``tell`` passes on what was found.
    """

    site: str
    fetch: Request
    reader: PageReader
    clock: Clock
    keep: Callable[[Fetched | FetchFailure, Role], Awaitable[None]]
    send: Callable[[Event], object]
    retries: RetryRules
    longest_pause: float
    """A server that wants to be left alone for longer than these seconds is not waited for."""
    waiting: set[str] = msgspec.field(default_factory=set)
    """Origins that are paused, or slow to answer, at the moment."""
    cache: RobotsCache | None = None
    """What earlier visits learned, for sites that are visited often; an origin found here has its
    sitemaps skipped as well."""
    ignored: frozenset[str] = frozenset()
    """Hosts whose robots.txt is not obeyed; it may still name sitemaps."""
    reads_sitemaps: Callable[[str], bool] = lambda _: True
    """Whether the sitemaps of an origin are read here and not by another part of the site."""

    async def explore(self, origin: str) -> str:
        """Learn an origin's rules and sitemaps; returns why that failed, or nothing."""
        wall, of = self.clock.wall(), RobotsOf(origin, self.site, self.reader.agent)
        cached = None if self.cache is None else self.cache.find(of, wall)
        if cached is not None:
            rules = self._obeyed(cached.rules, origin)
            self._tell_of(origin, rules, public=cached.public)
            return ""
        with self._patience(origin):
            found = await self._robots(origin)
        for outcome in found.outcomes:
            await self.keep(outcome, Role.ROBOTS)
        rules = self._obeyed(found.rules, origin)
        first = found.outcomes[0]
        public = isinstance(first, Fetched) and first.public
        if self.cache is not None:
            self.cache.keep(of, found.rules, public=public, wall=wall)
        self._tell_of(origin, rules, public=public)
        if self.reads_sitemaps(origin):
            self.send(SitemapsNamed(sitemaps_of(rules, origin)))
        return found.trouble if rules.unreachable else ""

    def _tell_of(self, origin: str, rules: RobotsRules, *, public: bool) -> None:
        self.send(
            RobotsLearned(
                origin,
                rules.allows,
                rules.crawl_delay,
                public=public,
                unreachable=rules.unreachable,
                held_bytes=rules.paths.held_bytes,
            )
        )

    def _obeyed(self, rules: RobotsRules, origin: str) -> RobotsRules:
        ignored = urlsplit(origin).hostname in self.ignored
        return replace(EVERYTHING, sitemaps=rules.sitemaps) if ignored else rules

    async def _robots(self, origin: str) -> RobotsFile:
        tries = 1
        while True:
            found = await learn_robots(origin, self.site, self.fetch, self.reader.agent)
            last = found.outcomes[-1]
            wait = self.retries.wait(tries)
            if isinstance(last, Fetched):
                wait = max(wait, retry_after(last.header("retry-after"), self.clock.wall()) or 0.0)
            if not found.momentary or tries == self.retries.tries or wait > self.longest_pause:
                return found
            await self._pause(origin, wait)
            tries += 1

    async def _pause(self, origin: str, seconds: float) -> None:
        self.waiting.add(origin)
        await asyncio.sleep(seconds)

    @contextmanager
    def _patience(self, origin: str) -> Iterator[None]:
        """An origin that is slow to give its rules does not occupy a crawler."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(_PATIENCE_SECONDS, self.waiting.add, origin)
        try:
            yield
        finally:
            timer.cancel()
            self.waiting.discard(origin)
