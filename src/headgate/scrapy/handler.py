"""The download handler: where Scrapy asks, and Headgate fetches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import Request
from scrapy.http import Response

from headgate.scrapy.addon import seat_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from headgate.scrapy.seat import Seat

__all__ = ["Handler"]


class Handler:
    """Scrapy makes one for http and one for https; both are the spider's one seat."""

    lazy = False

    def __init__(self, seat: Seat) -> None:
        self._seat = seat

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(seat_of(crawler))

    async def download_request(self, request: Request) -> Response:
        return await self._seat.download(request)

    async def close(self) -> None:
        await self._seat.close()
