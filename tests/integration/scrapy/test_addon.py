"""A Scrapy project under the add-on: the budget holds, sites are told apart, and what would not
hold is refused."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.http import Response
from tests.acceptance.small_web import SmallWeb
from tests.acceptance.small_web import serving as serving_pages
from tests.integration.fetching.scripted import Server, Wire, serving
from tests.integration.scrapy.spiders import ADDON, BUDGET, USUAL, Asking, Seen, crawled, spidered

from headgate.model.errors import UserMistake

PAGE = b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + bytes(20_000)


async def pages(wire: Wire) -> None:
    while await wire.said():
        await wire.say(PAGE)


def ten(server: Server) -> list[scrapy.Request]:
    return [scrapy.Request(server.url(f"/{number}")) for number in range(10)]


def test_the_budget_holds_and_the_report_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate")
    began = time.monotonic()
    seen, _ = spidered(pages, ten, HEADGATE_BANDWIDTH="100 KB/s")
    assert time.monotonic() - began > 1.8
    assert len(seen.responses) == 10
    assert seen.stats["headgate/wire_bytes"] > 200_000
    assert "of 100 KB/s used" in caplog.text
    assert "10 pages" in caplog.text


class Blocking(Asking):
    """Holds the event loop up."""

    def parse(self, response: Response, **more: Any) -> None:
        time.sleep(0.1)
        super().parse(response, **more)


def test_a_spider_that_blocks_the_loop_keeps_the_budget() -> None:
    began = time.monotonic()
    seen, _ = spidered(pages, ten, {"spider": Blocking}, HEADGATE_BANDWIDTH="100 KB/s")
    assert time.monotonic() - began > 1.8
    assert len(seen.responses) == 10


def test_sites_are_told_by_meta_by_the_file_and_by_domain(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headgate")

    async def play() -> None:
        async with serving(pages) as one, serving(pages, host="127.0.0.2") as two:
            file = tmp_path / "sites.toml"
            file.write_text(
                f'[budget]\nbandwidth = "2 MB/s"\n[site.docs]\nseeds = ["{one.url()}"]\n'
                'deadline = "1m"\nmax_pages = 5\n'
            )
            await crawled(
                {"ADDONS": ADDON, "HEADGATE": str(file)},
                scrapy.Request(one.url("/1")),
                scrapy.Request(one.url("/2"), meta={"headgate_site": "mine"}),
                scrapy.Request(two.url("/3", host="127.0.0.2")),
            )

    asyncio.run(play())
    assert "3 sites, 3 pages" in caplog.text
    assert "The deadline was met" in caplog.text
    assert "max_pages is the spider's to keep; set CLOSESPIDER_PAGECOUNT" in caplog.text


def test_a_site_stops_at_its_deadline_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headgate")

    async def play() -> Seen:
        async with serving(pages) as server:
            file = tmp_path / "sites.toml"
            file.write_text(
                f'[budget]\nbandwidth = "40 KB/s"\n[site.docs]\nseeds = ["{server.url()}"]\n'
                'deadline = "3s"\non_deadline = "stop"\n'
            )
            return await crawled({"ADDONS": ADDON, "HEADGATE": str(file)}, *ten(server))

    seen = asyncio.run(play())
    assert 0 < len(seen.responses) < 10
    assert seen.stats["headgate/wire_bytes"] < 180_000, "all ten are 210 KB"
    assert len(seen.responses) + len(seen.errors) == 10
    assert all("no more of docs is fetched: deadline" in str(error) for error in seen.errors)
    assert "Stopped at the deadline: docs" in caplog.text


class Titles(scrapy.Spider):
    """As Scrapy's tutorial has it: items of a page, and the links on it followed."""

    name = "titles"

    async def start(self) -> AsyncIterator[scrapy.Request]:
        yield scrapy.Request(self.seed)  # type: ignore[attr-defined]

    def parse(self, response: Any, **_: Any) -> Any:
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield from response.follow_all(css="a", callback=self.parse)


def items(settings: dict[str, Any], seed: str) -> list[tuple[str, str]]:
    found: list[dict[str, str]] = []

    async def play() -> None:
        runner = AsyncCrawlerRunner({**USUAL, "ROBOTSTXT_OBEY": True, **settings})
        crawler = runner.create_crawler(Titles)
        crawler.signals.connect(_collect, scrapy.signals.item_scraped)
        await runner.crawl(crawler, seed=seed)

    def _collect(item: dict[str, str]) -> None:
        found.append(item)

    asyncio.run(play())
    return sorted((item["url"], item["title"]) for item in found)


def test_a_spider_yields_the_same_with_and_without() -> None:
    with serving_pages(SmallWeb(12)) as web:
        ours = items(BUDGET, web.seed)
        assert len(ours) == 12
        assert ours == items({}, web.seed)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "set HEADGATE_BANDWIDTH"),
        ({"HEADGATE_BANDWIDTH": "fast"}, "HEADGATE_BANDWIDTH: 'fast' is not a rate"),
        ({"HEADGATE_BANDWIDTH": 0}, "must be more than 0"),
        ({"HEADGATE": "nowhere.toml"}, "HEADGATE: nowhere.toml: No such file"),
        (
            {
                "HEADGATE_BANDWIDTH": "1 MB/s",
                "DOWNLOAD_HANDLERS": {
                    "https": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"
                },
            },
            "the download handler of https is scrapy.core",
        ),
    ],
)
def test_what_cannot_hold_is_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        asyncio.run(crawled({"ADDONS": ADDON, **settings}))


@pytest.mark.parametrize(
    ("budget", "site", "words"),
    [
        ('quota = "1 GB/day"', "", "quota: spiders keep a bandwidth"),
        ("make_way = true", "", "make_way: spiders do not step back"),
        (
            "",
            'login = "http://a.test/in"\nlogin_fields = ["p=env:NONE"]',
            "log in by a FormRequest",
        ),
        ("", 'cookies = "cookies.txt"', "cookies are the spider's own"),
    ],
)
def test_what_a_file_says_and_spiders_cannot_keep_is_refused(
    tmp_path: Path, budget: str, site: str, words: str
) -> None:
    (tmp_path / "cookies.txt").write_text("# Netscape HTTP Cookie File\n")
    file = tmp_path / "sites.toml"
    file.write_text(
        f'[budget]\nbandwidth = "1 MB/s"\n{budget}\n[site.a]\nseeds = ["http://a.test/"]\n{site}\n'
    )
    with pytest.raises(UserMistake, match=words):
        asyncio.run(crawled({"ADDONS": ADDON, "HEADGATE": str(file)}))


def test_a_proxy_of_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with pytest.raises(UserMistake, match="the environment has http_proxy"):
        asyncio.run(crawled({**BUDGET, "HTTPPROXY_ENABLED": True}))


def test_spiders_of_one_process_share_one_budget() -> None:
    async def play() -> tuple[Seen, Seen]:
        async with serving(pages) as server:
            half = {**BUDGET, "HEADGATE_BANDWIDTH": "100 KB/s"}
            return await asyncio.gather(crawled(half, *ten(server)), crawled(half, *ten(server)))

    began = time.monotonic()
    both = asyncio.run(play())
    assert time.monotonic() - began > 3.6
    assert [len(seen.responses) for seen in both] == [10, 10]


def test_spiders_of_one_process_have_the_same_terms() -> None:
    async def play() -> Seen:
        async with serving(pages) as server:
            slow = {**BUDGET, "HEADGATE_BANDWIDTH": "50 KB/s"}
            going = asyncio.create_task(crawled(slow, *ten(server)[:4]))
            await asyncio.sleep(0.5)
            other = await crawled(BUDGET, *ten(server)[:1])
            await going
            return other

    assert "give all of them the same HEADGATE" in str(asyncio.run(play()).error)


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ([], 0, "1 site, 1 page"),
        (["-s", "ASYNCIO_EVENT_LOOP=uvloop.Loop"], 0, "1 site, 1 page"),
        (
            ["-s", "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"],
            1,
            "Headgate needs asyncio",
        ),
    ],
)
def test_the_command_of_scrapy(tmp_path: Path, more: list[str], code: int, words: str) -> None:
    """With Twisted's reactor, as most projects run."""
    spider = tmp_path / "spider.py"
    spider.write_text(
        "import scrapy\n\n\nclass One(scrapy.Spider):\n    name = 'one'\n\n"
        "    def parse(self, response):\n        yield {'url': response.url}\n"
    )
    with serving_pages(SmallWeb(1)) as web:
        options = ["-s", 'ADDONS={"headgate.scrapy.Addon": 500}', "-s", "HEADGATE_BANDWIDTH=1MB/s"]
        spider.write_text(spider.read_text() + f"\n    start_urls = [{web.seed!r}]\n")
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", "runspider", str(spider), *options, *more],
            capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path,
            env={key: value for key, value in os.environ.items() if "proxy" not in key.lower()},
        )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert words in done.stderr
