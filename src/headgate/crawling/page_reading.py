"""From a response to what the crawl needs of it: links to follow, title, language, digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

import msgspec
from msgspec import structs

from headgate.model.fetch import Fetched
from headgate.model.page import Links
from headgate.reading.charset import decoded
from headgate.reading.content import decode_content
from headgate.reading.digests import content_digest
from headgate.reading.directives import x_robots_tag
from headgate.reading.links import links_in
from headgate.reading.page_words import LinkWords, page_words
from headgate.reading.sitemaps import MOST_BYTES, Sitemap, read_sitemap
from headgate.reading.urls import join

__all__ = ["PageReader", "ReadPage"]

_MOST_DECODED_BYTES = 16_000_000
_HTML = ("text/html", "application/xhtml+xml")
_NOT_MODIFIED = 304


class ReadPage(msgspec.Struct, frozen=True, gc=False):
    """What was read; all empty for what is no page of text."""

    title: str = ""
    language: str = ""
    links: Links | None = None
    """All links, for the table."""
    to_follow: Sequence[str] = ()
    """Those that page and server allow to follow."""
    digest: bytes = b""
    text: str = ""
    """What a reader sees; if asked for, like the next."""
    link_words: LinkWords | None = None


@dataclass(frozen=True, slots=True)
class PageReader:
    """Knows us by the product token that robots rules use."""

    agent: str = field(default="headgate")
    with_words: bool = False
    """There is a focus that wants to know what pages say."""

    def body(self, fetched: Fetched) -> bytes:
        """A response's payload without its content coding, as far as it is read."""
        coding = fetched.header("content-encoding")
        if not coding:
            return fetched.payload
        return decode_content(fetched.payload, coding, _MOST_DECODED_BYTES).data

    def read(self, fetched: Fetched, body: bytes) -> ReadPage:
        """Read a response that is neither redirect nor error, and what `body` makes of it."""
        if fetched.status == _NOT_MODIFIED or not body:
            return ReadPage()
        digest = content_digest(body)
        kind = fetched.header("content-type") or ""
        if not _is_html(kind, body):
            return ReadPage(digest=digest)
        decoded_page = decoded(body, kind)
        page = links_in(decoded_page.text, fetched.url, decoded_page.codec)
        values = [value for name, value in fetched.headers if name == "x-robots-tag"]
        allowed = page.robots & x_robots_tag(values, self.agent) if values else page.robots
        to_follow: Sequence[str] = ()
        if allowed.follow:
            to_follow = page.urls
            if page.nofollow:
                to_follow = [url for url in page.urls if url not in page.nofollow]
        rels: Sequence[str] = ()
        if page.nofollow:
            rels = ["nofollow" if url in page.nofollow else "" for url in page.urls]
        links = Links(page.urls, rels)
        read = ReadPage(page.title, page.lang, links, to_follow, digest)
        if not self.with_words:
            return read
        text, link_words = page_words(decoded_page.text, page.base, decoded_page.codec)
        return structs.replace(read, text=text, link_words=link_words)

    def read_sitemap(self, fetched: Fetched) -> Sitemap:
        coding = fetched.header("content-encoding") or ""
        body = decode_content(fetched.payload, coding, MOST_BYTES).data
        return read_sitemap(body, fetched.url)

    def redirect_target(self, fetched: Fetched) -> str:
        """Absolute; empty when there is none or it cannot be understood."""
        location = fetched.header("location")
        return (location and join(fetched.url, location)) or ""

    def retry_after(self, fetched: Fetched, wall: float) -> float | None:
        """Seconds from now that the server asked to be left alone."""
        value = (fetched.header("retry-after") or "").strip()
        if value.isascii() and value.isdigit() and len(value) < 10:
            return float(value)
        try:
            return max(parsedate_to_datetime(value).timestamp() - wall, 0.0)
        except (ValueError, OverflowError, OSError):
            return None


def _is_html(kind: str, body: bytes) -> bool:
    """By its Content-Type; without one, by what it begins with."""
    if kind:
        return kind.lower().lstrip().startswith(_HTML)
    start = body[:512].lstrip().lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body"))
