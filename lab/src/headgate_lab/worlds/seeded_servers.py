"""The servers of a virtual web, by seed: their speeds, failures, changes and false lengths.

Every random number depends on the seed, the URL and the number of requests for it, never on a
shared generator: an answer does not depend on other requests in between. `pages` says what is at
each URL, so that a test knows what a crawl must find.

A site has robots.txt with a section that is forbidden and a sitemap, if its manner says so; some
pages have moved, some are large, and a page changes from time to time and says so with an ETag.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from headgate.model.fetch import FailureKind, FetchRequest
from headgate.testing.simulated_web import Answer
from headgate_lab.worlds.virtual_server import Edits, render
from headgate_lab.worlds.virtual_web import VirtualWeb

__all__ = ["Chance", "SeededServers", "ServerManner"]

_HTML = ("content-type", "text/html; charset=utf-8")
_PATIENCE_SECONDS = {
    FailureKind.REFUSED: 0.01,
    FailureKind.DNS: 0.1,
    FailureKind.CLOSED: 0.2,
    FailureKind.CONNECT_TIMEOUT: 15.0,
    FailureKind.FIRST_BYTE_TIMEOUT: 30.0,
    FailureKind.STALLED: 30.0,
}
"""Time-out of the fetcher."""
_FAULTS = tuple(_PATIENCE_SECONDS)
_BAD_STATUSES = (500, 502, 503, 429, 404, 403)


@dataclass(frozen=True, slots=True)
class ServerManner:
    """How one server behaves."""

    first_byte_seconds: float = 0.05
    bytes_per_second: float = math.inf
    """To one connection."""
    page_bytes: float = 12_000.0
    """In the middle; one in fifty has twenty times as many."""
    faults: float = 0.0
    """Share of requests that end in no response, or in a status of trouble."""
    moved: float = 0.0
    """Share of pages that redirect to their parent's first child."""
    lies: float = 0.0
    """Share of responses that say a wrong length."""
    has_robots: bool = False
    crawl_delay: float = 0.0
    has_sitemap: bool = False
    changes_seconds: float = math.inf
    """How long a page stays as it is."""


class Chance:
    """Numbers from 0 to 1 by a seed and whatever they are to depend on."""

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(8, "little")

    def of(self, *what: object) -> float:
        """
        >>> chance = Chance(1)
        >>> chance.of("a", 1) == chance.of("a", 1) != chance.of("a", 2)
        True
        """
        text = "\0".join(map(str, what)).encode()
        digest = blake2b(text, digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, "little") / 2**64


class SeededServers:
    """All servers of a web; `answer` is what a `SimulatedWeb` asks."""

    def __init__(self, web: VirtualWeb, seed: int, manners: Sequence[ServerManner]) -> None:
        """Sites take turns with the manners."""
        self.web = web
        self.asked: Counter[str] = Counter()
        self._chance = Chance(seed)
        self._manners = manners

    def manner(self, site: int) -> ServerManner:
        return self._manners[site % len(self._manners)]

    def answer(self, request: FetchRequest, wall: float) -> Answer:
        """A URL may be answered differently at each request."""
        url = request.url
        self.asked[url] += 1
        site = self.site_of(url)
        if site is None:
            return Answer(fault=FailureKind.DNS, first_byte_seconds=0.1)
        manner = self.manner(site)
        said = self._trouble(url, manner) or self._page(request, site, manner, wall)
        lie = self._chance.of("lie", url, self.asked[url])
        return _with_way(said, manner, f"192.0.2.{1 + site % 250}", lie)

    def site_of(self, url: str) -> int | None:
        label = url.removeprefix("http://s").partition(".")[0]
        return int(label) if label.isdigit() and int(label) < self.web.sites else None

    def links(self, url: str) -> list[str]:
        """Within the site, as they stand on a page that is there."""
        page = self.web.page_of(url)
        if page is None:
            return []
        home = self.web.url(int(self.web.first[self.web.site[page]]))
        return [home, *map(self.web.url, self.web.children(page))]

    def target(self, url: str) -> str | None:
        """Where a page has moved to; None: it has not."""
        page = self.web.page_of(url)
        if page is None or self.web.parent[page] < 0:
            return None
        manner = self.manner(int(self.web.site[page]))
        if self._chance.of("moved", url) >= manner.moved:
            return None
        first = self.web.url(self.web.children(int(self.web.parent[page]))[0])
        return first if first != url else self.web.url(int(self.web.parent[page]))

    def forbidden(self, site: int) -> str:
        """The path that robots.txt forbids; empty: none."""
        return "/1/" if self.manner(site).has_robots else ""

    def listed(self, site: int) -> list[str]:
        """Pages of the sitemap."""
        if not self.manner(site).has_sitemap:
            return []
        first, end = int(self.web.first[site]), int(self.web.first[site + 1])
        return [self.web.url(page) for page in range(first, end, 3)]

    def body(self, url: str, wall: float) -> bytes:
        page = self.web.page_of(url)
        assert page is not None
        manner = self.manner(int(self.web.site[page]))
        plain = render(self.web, page, Edits())
        size = manner.page_bytes * (20.0 if self._chance.of("large", url) < 0.02 else 1.0)
        size *= 0.5 + self._chance.of("size", url)
        version = f"<!-- version {self._version(url, manner, wall)} -->".encode()
        return plain + version + b" " * max(int(size) - len(plain) - len(version), 0)

    def _version(self, url: str, manner: ServerManner, wall: float) -> int:
        if math.isinf(manner.changes_seconds):
            return 0
        return math.floor(wall / manner.changes_seconds + self._chance.of("phase", url))

    def _trouble(self, url: str, manner: ServerManner) -> Answer | None:
        number = self.asked[url]
        if self._chance.of("trouble", url, number) >= manner.faults:
            return None
        which = self._chance.of("which", url, number)
        if which < 0.5:
            kind = _FAULTS[int(2 * which * len(_FAULTS))]
            part = self._chance.of("part", url, number)
            broken = kind in (FailureKind.CLOSED, FailureKind.STALLED)
            return Answer(
                body=bytes(int(manner.page_bytes)),
                fault=kind,
                share_before_fault=part if broken else 0.0,
                first_byte_seconds=_PATIENCE_SECONDS[kind],
            )
        status = _BAD_STATUSES[int((2 * which - 1) * len(_BAD_STATUSES))]
        more = (("retry-after", "7"),) if status in (503, 429) else ()
        return Answer(status, (_HTML, *more), b"<p>trouble")

    def _page(self, request: FetchRequest, site: int, manner: ServerManner, wall: float) -> Answer:
        url = request.url
        path = url.partition(".test")[2]
        if path == "/robots.txt":
            return self._robots(site, manner)
        if path == "/sitemap.xml" and manner.has_sitemap:
            rows = "".join(f"<url><loc>{page}</loc></url>" for page in self.listed(site))
            return Answer(200, (("content-type", "text/xml"),), f"<urlset>{rows}</urlset>".encode())
        if self.web.page_of(url) is None:
            return Answer(404, (_HTML,), b"<p>none")
        target = self.target(url)
        if target is not None:
            return Answer(301, (_HTML, ("location", target)))
        etag = f'"{self._version(url, manner, wall)}"'
        if ("If-None-Match", etag) in request.headers:
            return Answer(304, (("etag", etag),))
        return Answer(200, (_HTML, ("etag", etag)), self.body(url, wall))

    def _robots(self, site: int, manner: ServerManner) -> Answer:
        if not (manner.has_robots or manner.has_sitemap or manner.crawl_delay):
            return Answer(404, (_HTML,), b"<p>none")
        lines = ["User-agent: *", f"Disallow: {self.forbidden(site)}"]
        if manner.crawl_delay:
            lines.append(f"Crawl-delay: {manner.crawl_delay:g}")
        if manner.has_sitemap:
            lines.append(f"Sitemap: http://{self.web.name(site)}/sitemap.xml")
        return Answer(200, (("content-type", "text/plain"),), "\n".join(lines).encode())


def _with_way(said: Answer, manner: ServerManner, address: str, lie: float) -> Answer:
    """The answer, with its speed and faults."""
    return Answer(
        said.status,
        said.headers,
        body=said.body,
        fault=said.fault,
        share_before_fault=said.share_before_fault,
        first_byte_seconds=said.first_byte_seconds if said.fault else manner.first_byte_seconds,
        bytes_per_second=manner.bytes_per_second,
        address=address,
        announced=3.0 if lie < manner.lies else 1.0,
    )
