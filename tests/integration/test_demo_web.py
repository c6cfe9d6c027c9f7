"""The demo web behaves as it says, over real sockets, and as the real fetcher sees it."""

from __future__ import annotations

import asyncio
import re
import struct
import time
import zlib
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import pytest
import uvloop
from tests.machine import Machine

import headgate
from headgate.engine.clock import AwakeClock
from headgate.features.demo.sites import DemoRequest, demo_sites
from headgate.features.demo.web import DemoPlace, DemoWeb
from headgate.fetching.client import FetcherSettings, HttpFetcher
from headgate.model.fetch import FailureKind, Fetched, FetchFailure, FetchRequest
from headgate.model.units import Bytes, BytesPerSecond, Seconds

LINE = BytesPerSecond(300_000)


class Visit:
    """A demo web and a fetcher to visit it with."""

    def __init__(self, web: DemoWeb, fetcher: HttpFetcher) -> None:
        self.web = web
        self.fetcher = fetcher

    def place(self, name: str) -> DemoPlace:
        return next(place for place in self.web.places if place.name == name)

    async def outcome(self, name: str, path: str, **headers: str) -> Fetched | FetchFailure:
        url = urljoin(self.place(name).seed, path)
        extra = tuple((key.replace("_", "-"), value) for key, value in headers.items())
        return await self.fetcher.fetch(FetchRequest(url, name, 10_000, 10_000_000, extra))

    async def fetched(self, name: str, path: str = "/", **headers: str) -> Fetched:
        outcome = await self.outcome(name, path, **headers)
        assert isinstance(outcome, Fetched), outcome
        return outcome

    async def failure(self, name: str, path: str) -> FailureKind:
        outcome = await self.outcome(name, path)
        assert isinstance(outcome, FetchFailure), outcome
        return outcome.kind


@asynccontextmanager
async def visiting() -> AsyncIterator[Visit]:
    async with DemoWeb() as web:
        hosts = frozenset(urlsplit(place.seed).hostname or "" for place in web.places)
        async with HttpFetcher(
            FetcherSettings("https://example.org/", named=hosts), clock=AwakeClock()
        ) as fetcher:
            yield Visit(web, fetcher)


def run(visit: Coroutine[None, None, None]) -> None:
    uvloop.run(asyncio.wait_for(visit, 30))


def links(page: Fetched) -> list[str]:
    targets = re.findall(r'href="([^"]+)"', page.payload.decode())
    return [urljoin(page.url, target) for target in targets]


def test_the_same_seed_gives_the_same_web() -> None:
    for one, other in zip(demo_sites(1, 2026), demo_sites(1, 2026), strict=True):
        assert one.answering(DemoRequest("/")) == other.answering(DemoRequest("/"))
        assert one.bytes == other.bytes
    news, other_news = demo_sites(1, 2026)[0], demo_sites(2, 2026)[0]
    story = DemoRequest("/section-00/story-00.html")
    assert news.answering(story) != other_news.answering(story)


def test_its_deadlines_can_be_met_at_300_kb_a_second() -> None:
    sites = [
        headgate.Site(
            site.name,
            expect=Bytes(site.bytes),
            deadline=None if site.deadline is None else Seconds(site.deadline),
            max_rate=None if site.max_rate is None else BytesPerSecond(site.max_rate),
        )
        for site in demo_sites(1, 2026)
    ]
    plan = headgate.plan(sites, headgate.Budget(LINE))
    assert plan.feasible
    assert 25 < plan.makespan < 35


def test_every_site_has_a_host_of_its_own() -> None:
    async def visit() -> None:
        async with DemoWeb() as web, DemoWeb() as other:
            hosts = {urlsplit(place.seed).netloc for place in (*web.places, *other.places)}
            assert len(hosts) == 2 * len(web.places) == 14

    run(visit())


def test_the_news_link_to_all_that_their_sitemap_names() -> None:
    async def visit() -> None:
        async with visiting() as visit:
            front = await visit.fetched("fast-news")
            found = {front.url}
            todo = [front]
            while todo:
                new = {url for page in todo for url in links(page)} - found
                found |= new
                todo = [await visit.fetched("fast-news", url) for url in new]
            robots = (await visit.fetched("fast-news", "/robots.txt")).payload.decode()
            sitemap = await visit.fetched("fast-news", robots.split("Sitemap: ")[1].strip())
            named = re.findall("<loc>([^<]+)</loc>", sitemap.payload.decode())
            assert set(named) == found
            assert len(found) == 1 + 12 + 12 * 15
            assert sum(visit.web.asked("fast-news").values()) == len(found) + 2

    run(visit())


def test_pictures_are_pictures() -> None:
    async def visit() -> None:
        async with visiting() as visit:
            picture = (await visit.fetched("big-photos", "/pictures/07.png")).payload
            assert picture.startswith(b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", picture[16:24])
            (length,) = struct.unpack(">I", picture[33:37])
            assert len(zlib.decompress(picture[41 : 41 + length])) == height * (3 * width + 1)
            assert 140_000 < len(picture) < 160_000

    run(visit())


def test_the_slow_server_is_slow_on_all_connections_together() -> None:
    async def visit() -> None:
        async with visiting() as visit:
            began = time.monotonic()
            pages = await asyncio.gather(
                *(visit.fetched("slow-archive", f"/annal-0{number}.html") for number in range(3))
            )
            seconds = time.monotonic() - began
            assert sum(len(page.payload) for page in pages) / seconds < 41_000

    run(visit())


def test_the_far_server_is_far() -> None:
    async def visit() -> None:
        async with visiting() as visit:
            page = await visit.fetched("far-island", "/letter-03.html")
            assert page.first_byte_seconds >= 0.39  # timers are good to a millisecond or so

    run(visit())


def test_the_library_asks_for_patience_and_privacy() -> None:
    async def visit() -> None:
        async with visiting() as visit:
            robots = await visit.fetched("polite-library", "/robots.txt")
            rules = RobotFileParser()
            rules.parse(robots.payload.decode().splitlines())
            assert str(rules.crawl_delay("headgate")) == "1"
            front = await visit.fetched("polite-library")
            allowed = [rules.can_fetch("headgate", url) for url in links(front)]
            assert allowed == [True, False, False]

    run(visit())


def test_the_ruin_is_broken_in_every_way_it_says() -> None:
    async def visit() -> None:
        async with visiting() as visit:
            assert await visit.failure("broken", "/reset") is FailureKind.CLOSED
            assert await visit.failure("broken", "/short.html") is FailureKind.CLOSED
            assert (await visit.fetched("broken", "/short.html")).status == 200
            assert await visit.failure("broken", "/chunks") is FailureKind.BAD_HTTP
            hops = [await visit.fetched("broken", f"/loop/{name}") for name in ("one", "two")]
            assert [hop.header("location") for hop in hops] == ["/loop/two", "/loop/one"]
            statuses = [
                (await visit.fetched("broken", path)).status
                for path in ("/gone-1", "/always-500", "/always-500")
            ]
            assert statuses == [404, 500, 500]
            for path, first in (("/second-try.html", 500), ("/busy.html", 503)):
                tries = [await visit.fetched("broken", path) for _ in range(2)]
                assert [tried.status for tried in tries] == [first, 200]
            packed = await visit.fetched("broken", "/packed.html")
            assert packed.header("content-encoding") == "gzip"
            assert b"A packed page" in zlib.decompress(packed.payload, wbits=31)

    run(visit())


def test_the_calendar_has_no_end() -> None:
    async def visit() -> None:
        async with visiting() as visit:
            url = "/calendar/2026/01/"
            for _ in range(40):
                url = links(await visit.fetched("endless-calendar", url))[1]
            assert urlsplit(url).path == "/calendar/2029/05/"
            deeper = "/guide/more/"
            for _ in range(4):
                deeper = links(await visit.fetched("endless-calendar", deeper))[0]
            assert urlsplit(deeper).path == "/guide/more/more/more/more/more/"
            assert (await visit.fetched("endless-calendar", "/calendar/x/1/")).status == 404

    run(visit())


def test_a_page_that_has_not_changed_is_not_sent_again() -> None:
    async def visit() -> None:
        async with visiting() as visit:
            page = await visit.fetched("fast-news")
            again = await visit.fetched("fast-news", If_None_Match=page.header("etag") or "")
            assert (again.status, again.payload) == (304, b"")
            assert again.header("etag") == page.header("etag")

    run(visit())


@pytest.mark.parametrize(
    ("request_line", "status", "body"),
    [(b"HEAD / HTTP/1.1", b"200", False), (b"POST / HTTP/1.1", b"405", True), (b"?", b"405", True)],
)
def test_other_requests(request_line: bytes, status: bytes, body: bool) -> None:
    async def visit() -> None:
        async with DemoWeb() as web:
            address = urlsplit(web.places[0].seed)
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            for _ in range(2):  # on one connection
                writer.write(request_line + b"\r\nHost: x\r\n\r\n")
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.split(b" ")[1] == status
                length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
                assert len(await reader.readexactly(length if body else 0)) == length * body
            writer.close()

    run(visit())


def test_leaving_ends_conversations_under_way(machine: Machine) -> None:
    """The rest of this one would take three quarters of a second."""

    async def visit() -> None:
        async with DemoWeb() as web:
            slow = urlsplit(web.places[2].seed)
            reader, writer = await asyncio.open_connection(slow.hostname, slow.port)
            writer.write(b"GET /annal-00.html HTTP/1.1\r\n\r\n")
            await reader.readexactly(100)
            began = time.monotonic()
        assert machine.own_seconds(began, time.monotonic()) < 0.5
        writer.close()

    run(visit())
