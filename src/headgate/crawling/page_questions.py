"""Messages between a crawl and its second reader: a page, and what was read in it.

A question is two lengths of four bytes, MessagePack, and the page's body as it is: packing it would
copy it twice. An answer is a length and MessagePack. In a module of its own, so that the process
that answers need not import asyncio and starts in half the time.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from headgate.crawling.page_reading import PageReader, ReadPage
from headgate.model.fetch import Fetched
from headgate.model.page import Links

__all__ = ["LENGTH_BYTES", "Answer", "Question"]

LENGTH_BYTES = 4


class Question(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What reading a page needs of its response besides the body."""

    agent: str
    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    ignore: tuple[str, ...] | None = None

    def read(self, body: bytes) -> ReadPage:
        fetched = Fetched(self.url, self.status, self.headers, b"", b"", body, "", 0.0, 0.0, 0.0, 0)
        return PageReader(self.agent, ignore=self.ignore).read(fetched, body)


class Answer(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What was read. ``to_follow`` is None if it is all links."""

    title: str
    language: str
    digest: bytes
    links: Links | None
    to_follow: Sequence[str] | None

    @classmethod
    def of(cls, read: ReadPage) -> Answer:
        links = read.links
        same = links is not None and read.to_follow is links.targets
        return cls(read.title, read.language, read.digest, links, None if same else read.to_follow)

    def page(self) -> ReadPage:
        to_follow = self.to_follow
        if to_follow is None:
            assert self.links is not None
            to_follow = self.links.targets
        return ReadPage(self.title, self.language, self.links, to_follow, self.digest)
