"""A web in memory whose pages come, go, change and fail by a script, and its plain reference crawl.

The reference knows nothing of frontiers and files: a queue, a set, and the rules as the manual has
them. A crawl of the real thing over the same web must come to the same set of pages.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b

from tests.idle_fetcher import IdleFetcher

from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest

ORIGIN = "http://site.test"
NOON = 1_794_744_000.0


def url_of(number: int) -> str:
    return f"{ORIGIN}/p{number}"


class Kind(StrEnum):
    """How a page answers today."""

    THERE = "there"
    MISSING = "404"
    GONE = "410"
    FORBIDDEN = "403"
    BROKEN = "500"
    SILENT = "silent"
    MOVED = "moved"
    """Redirects to the first of its links."""


@dataclass
class PageScript:
    kind: Kind = Kind.THERE
    links: tuple[int, ...] = ()
    version: int = 0
    validators: bool = True

    @property
    def body(self) -> bytes:
        """Pages with equal links have equal bytes."""
        anchors = "".join(f'<a href="{url_of(target)}">x</a>' for target in self.links)
        return f"<title>v{self.version}</title>{anchors}".encode().ljust(1500, b".")


@dataclass(frozen=True)
class Bounds:
    """What the user's file says of the site today."""

    seeds: tuple[int, ...] = (0,)
    depth: int | None = None
    exclude: str = ""

    def has(self, number: int) -> bool:
        return not (self.exclude and re.search(self.exclude, url_of(number)))


@dataclass
class ScriptedWeb(IdleFetcher):
    """Answers at once. ``stop_at``: calls ``stopped`` at that page's request and then is silent."""

    pages: dict[int, PageScript] = field(default_factory=dict)
    disallowed: frozenset[int] = frozenset()
    moment: float = NOON
    answered: list[int] = field(default_factory=list)
    """Pages that were answered, in order, since somebody cleared it."""
    stop_at: int | None = None
    stopped: Callable[[], None] = lambda: None
    ending: bool = False

    async def fetch(self, request: FetchRequest) -> Fetched | FetchFailure:
        await asyncio.sleep(0)  # before, not behind: what is answered is landed in the same step
        self.moment += 1.0
        path = request.url.removeprefix(ORIGIN)
        if path == "/robots.txt":
            rules = "".join(f"Disallow: /p{number}\n" for number in sorted(self.disallowed))
            return self._response(request, 200, f"User-agent: *\n{rules}".encode())
        if path == "/sitemap.xml":
            return self._response(request, 404, b"")
        if self.ending or len(self.answered) == self.stop_at:
            if not self.ending:
                self.ending = True
                self.stopped()
            await asyncio.get_running_loop().create_future()
        number = int(path.removeprefix("/p"))
        self.answered.append(number)
        return self._answer(request, self.pages.get(number, PageScript(Kind.MISSING)))

    def _answer(self, request: FetchRequest, page: PageScript) -> Fetched | FetchFailure:
        if page.kind is Kind.SILENT:
            return FetchFailure(request.url, FailureKind.REFUSED, "silent", self.moment)
        if page.kind is Kind.MOVED:
            target = url_of(page.links[0]) if page.links else "mailto:nobody"
            return self._response(request, 301, b"", location=target)
        if page.kind is not Kind.THERE:
            return self._response(request, int(page.kind), b"")
        etag = f'"{blake2b(page.body, digest_size=8).hexdigest()}"'
        if not page.validators:
            return self._response(request, 200, page.body)
        if ("If-None-Match", etag) in request.headers:
            return self._response(request, 304, b"", etag=etag)
        return self._response(request, 200, page.body, etag=etag)

    def _response(self, request: FetchRequest, status: int, body: bytes, **more: str) -> Fetched:
        headers = (("content-type", "text/html"), *more.items())
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        head = f"HTTP/1.1 {status} Said\r\n{lines}\r\n".encode()
        asked = b"GET / HTTP/1.1\r\n\r\n"
        return Fetched(
            request.url,
            status,
            headers=headers,
            request_head=asked,
            response_head=head,
            payload=body,
            address="192.0.2.1",
            wall_time=self.moment,
            first_byte_seconds=0.0,
            seconds=0.0,
            wire_bytes=100 + len(body),
        )


def reachable(web: ScriptedWeb, bounds: Bounds, starts: Mapping[int, int]) -> dict[int, int]:
    """What a crawl that knows nothing finds, with the depth of each page: today's links only.

    ``starts`` are pages to begin with beside the seeds, and their depths."""
    depths = {**starts, **dict.fromkeys(bounds.seeds, 0)}
    queue = deque(sorted(depths, key=depths.__getitem__))
    while queue:
        number = queue.popleft()
        page = web.pages.get(number, PageScript(Kind.MISSING))
        if number in web.disallowed:
            continue
        links: tuple[int, ...] = ()
        deeper = 1
        if page.kind is Kind.THERE:
            links = page.links
        elif page.kind is Kind.MOVED:
            links, deeper = page.links[:1], 0
        depth = depths[number] + deeper
        for target in links:
            seed_moved = page.kind is Kind.MOVED and depth == 0
            if target in depths or not (bounds.has(target) or seed_moved):
                continue
            if bounds.depth is None or depth <= bounds.depth:
                depths[target] = depth
                queue.append(target)
    return depths
