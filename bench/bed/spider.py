"""A spider on the bed: asks four sites for pages, again and again, under whatever settings it gets.

    python -m bench.bed.spider < JSON of `SpiderSettings`

Prints as JSON how many responses came, CPU seconds, and when the first was asked for and the last
taken in.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from itertools import islice, product
from typing import Any

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

__all__ = ["SpiderRun", "SpiderSettings"]

_AHEAD = 40
"""Requests that a spider has in its scheduler for each site, so that work remains."""


@dataclass(frozen=True, slots=True)
class SpiderSettings:
    """What is asked for, and how."""

    origins: list[str]
    pages: list[str]
    """Paths, without their slash."""
    each: int = 0
    """Pages of each site; 0: without an end, until Scrapy's own settings end it."""
    settings: dict[str, Any] | None = None


@dataclass(slots=True)
class SpiderRun:
    """What came of it."""

    responses: int = 0
    cpu_seconds: float = 0.0
    began: float = 0.0
    ended: float = 0.0


class BedSpider(scrapy.Spider):
    """Each response is followed by one more request to its site."""

    name = "bed"
    asked: SpiderSettings
    run: SpiderRun

    async def start(self) -> AsyncIterator[scrapy.Request]:
        self.run.began = time.time()
        turns = {origin: self._pages() for origin in self.asked.origins}
        most = min(_AHEAD, self.asked.each or _AHEAD)
        for _, (origin, pages) in product(range(most), turns.items()):
            yield self._request(origin, next(pages), pages)

    def parse(self, _: Response, **more: Any) -> Any:
        self.run.responses += 1
        self.run.ended = time.time()
        page = next(more["pages"], None)
        if page is not None:
            yield self._request(more["origin"], page, more["pages"])

    def _pages(self) -> Any:
        number = 0
        while not self.asked.each:
            yield f"{self.asked.pages[number % len(self.asked.pages)]}?{number}"
            number += 1
        yield from islice(self.asked.pages, self.asked.each)

    def _request(self, origin: str, page: str, pages: Any) -> scrapy.Request:
        url = f"{origin}/{page}"
        more = {"origin": origin, "pages": pages}
        return scrapy.Request(url, callback=self.parse, cb_kwargs=more, dont_filter=True)


def main() -> None:
    asked = SpiderSettings(**json.load(sys.stdin))
    run = SpiderRun()
    process = CrawlerProcess({"LOG_LEVEL": "ERROR", **(asked.settings or {})})
    before = time.process_time()
    process.crawl(BedSpider, asked=asked, run=run)
    process.start()
    run.cpu_seconds = time.process_time() - before
    print(json.dumps(asdict(run)))


if __name__ == "__main__":
    main()
