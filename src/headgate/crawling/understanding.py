"""Turns the outcome of a fetch into an event for the frontier, and reads its contents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec.structs import replace

from headgate.crawling.page_reading import PageReader, ReadPage
from headgate.crawling.ports import Clock
from headgate.crawling.reading_aside import (
    Unreadable,
    read_aside,
    read_response,
    small_body,
)
from headgate.crawling.second_reader import SecondReader
from headgate.frontier.events import (
    ErrorStatus,
    FetchFailed,
    PageFetched,
    Redirected,
)
from headgate.model.fetch import Fetched, FetchFailure
from headgate.reading.sitemaps import Sitemap

__all__ = ["Choose", "Trouble", "Understanding"]

Choose = Callable[[str, Sequence[str]], Awaitable[Sequence[str]]]
"""The user's choice of the links of a page or sitemap to follow."""

Trouble = FetchFailed | Redirected | ErrorStatus
"""Events of a fetch that did not bring what was requested."""


class Understanding(msgspec.Struct, frozen=True):
    """Of one site. Large pages are read in another process, others here or by the second reader."""

    site: str
    reader: PageReader
    second_reader: SecondReader | None
    clock: Clock
    choose: Choose | None = None

    async def page(
        self, fetched: Fetched | FetchFailure, stored: Fetched | None
    ) -> tuple[PageFetched | Trouble, ReadPage]:
        """For a page that did not change, the archived response ``stored`` is read."""
        trouble = self.trouble(fetched)
        if trouble is not None or isinstance(fetched, FetchFailure):
            assert trouble is not None
            return trouble, ReadPage()
        read = await self._read(stored or fetched)
        followed = read.to_follow
        if self.choose is not None and followed:
            followed = await self.choose(fetched.url, followed)
        page = PageFetched(
            fetched.url,
            followed,
            read.digest,
            None,
            fetched.first_byte_seconds,
            _unfollowed(read),
            read.unreadable,
        )
        return page, read

    async def sitemap(self, fetched: Fetched) -> Sitemap:
        """Empty if it cannot be read."""
        try:
            sitemap = await read_response(self.site, self.reader.read_sitemap, fetched)
        except Unreadable:
            return Sitemap(whole=False)
        if self.choose is None or not sitemap.pages:
            return sitemap
        return replace(sitemap, pages=tuple(await self.choose(fetched.url, sitemap.pages)))

    def trouble(self, outcome: Fetched | FetchFailure) -> Trouble | None:
        """None: the fetch brought what was requested."""
        if isinstance(outcome, FetchFailure):
            return FetchFailed(outcome.url, outcome.kind)
        reader, seconds = self.reader, outcome.first_byte_seconds
        if reader.moved(outcome):
            return Redirected(outcome.url, reader.redirect_target(outcome), seconds)
        if outcome.status >= 400:
            retry_after = reader.retry_after(outcome, self.clock.wall())
            return ErrorStatus(outcome.url, outcome.status, retry_after, seconds)
        return None

    async def _read(self, fetched: Fetched) -> ReadPage:
        body = small_body(fetched)
        if body is None:
            try:
                return await read_aside(self.site, self.reader.read, fetched, None)
            except Unreadable:
                return ReadPage(unreadable=True)
        if self.second_reader is None:
            return self.reader.read(fetched, body)
        return await self.second_reader.read(self.reader, fetched, body)


def _unfollowed(read: ReadPage) -> Sequence[str]:
    if read.links is None or len(read.links.targets) == len(read.to_follow):
        return ()
    followed = frozenset(read.to_follow)
    return [url for url in read.links.targets if url not in followed]
