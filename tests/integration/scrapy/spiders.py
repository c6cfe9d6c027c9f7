"""Real spiders on a real Scrapy in this process, and a scripted server for them.

Scrapy runs without Twisted's reactor here, which a process can have only once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import scrapy
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.http import Response
from tests.integration.fetching.scripted import Script, Server, Wire, serving
from twisted.python.failure import Failure

ADDON = {"headgate.scrapy.Addon": 500}
BUDGET: dict[str, Any] = {"ADDONS": ADDON, "HEADGATE_BANDWIDTH": "unlimited"}

USUAL: dict[str, Any] = {
    "TWISTED_REACTOR_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
    "COOKIES_ENABLED": False,  # their middleware looks for a newer list of suffixes on the Internet
}


@dataclass
class Seen:
    """What a spider was given."""

    responses: list[Response] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def response(self) -> Response:
        assert not self.errors
        (response,) = self.responses
        return response

    @property
    def error(self) -> BaseException:
        assert not self.responses
        (error,) = self.errors
        return error


class Asking(scrapy.Spider):
    """Asks for what it is told."""

    name = "asking"
    requests: Iterable[scrapy.Request] = ()
    seen: Seen

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for request in self.requests:
            yield request.replace(callback=self.parse, errback=self.failed)

    def parse(self, response: Response, **_: Any) -> None:
        self.seen.responses.append(response)

    def failed(self, failure: Failure) -> None:
        assert failure.value is not None
        self.seen.errors.append(failure.value)


async def crawled(settings: dict[str, Any], *requests: scrapy.Request, **more: Any) -> Seen:
    """One spider, from its start to its end."""
    seen = Seen()
    runner = AsyncCrawlerRunner({**USUAL, "RETRY_ENABLED": False, **settings})
    crawler = runner.create_crawler(more.pop("spider", Asking))
    await runner.crawl(crawler, requests=requests, seen=seen, **more)
    seen.stats = crawler.stats.get_stats()
    return seen


def spidered(
    script: Script,
    ask: Callable[[Server], list[scrapy.Request]],
    more: dict[str, Any] | None = None,
    **settings: Any,
) -> tuple[Seen, Server]:
    """What a spider under the add-on gets from a server that does as the script says."""

    requests: list[bytes] = []

    async def recorded(wire: Wire) -> None:
        said = wire.said

        async def heard() -> bytes:
            head = await said()
            requests.extend([head] if head else [])
            return head

        wire.said = heard  # type: ignore[method-assign]
        await script(wire)

    async def play() -> tuple[Seen, Server]:
        async with serving(recorded) as server:
            server.requests = requests
            return await crawled({**BUDGET, **settings}, *ask(server), **(more or {})), server

    return asyncio.run(play())
