"""Reads what a crawl needs of a response: links to follow, title, language, digest."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec import structs

from headgate.model.fetch import REDIRECTS, Fetched
from headgate.model.page import Links
from headgate.reading.charset import decoded
from headgate.reading.content_coding import decode_content
from headgate.reading.digests import content_digest
from headgate.reading.links import DEFAULT_OPTIONS, LinkOptions, links_in, refresh_target
from headgate.reading.other_links import (
    css_references,
    is_pdf,
    is_xml,
    pdf_links,
    style_references,
    xml_links,
)
from headgate.reading.page_text import LinkWords, page_words
from headgate.reading.robots import x_robots_tag
from headgate.reading.sitemaps import MOST_BYTES, Sitemap, read_sitemap
from headgate.reading.urls import in_header, join

__all__ = ["ROBOTS_AGENT", "PageReader", "ReadPage", "is_html"]

ROBOTS_AGENT = "headgate"
"""Our product token in robots.txt."""
_WITH_RESOURCES = LinkOptions(resources=True)
_MOST_DECODED_BYTES = 16_000_000
_HTML = ("text/html", "application/xhtml+xml")
_NOT_MODIFIED = 304
_MOVED = REDIRECTS | {300}
_NO_KIND = frozenset(("*/*", "application/unknown", "unknown/unknown"))
_SNIFFED_BYTES = 512
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(?:!--|(?:!doctype html|html|head|body|title|meta|script|style|iframe"
    rb"|div|table|font|h1|a|b|br|p)(?=[\s>]))",
    re.IGNORECASE,
)


class ReadPage(msgspec.Struct, frozen=True, gc=False):
    """What was read; all empty if it is no text."""

    title: str = ""
    language: str = ""
    links: Links | None = None
    """All links, for the table."""
    to_follow: Sequence[str] = ()
    """Those that page and server allow us to follow."""
    digest: bytes = b""
    text: str = ""
    """The visible text; only if asked for, like the next two."""
    link_words: LinkWords | None = None
    requisites: Sequence[str] = ()
    """URLs of page requisites."""
    unreadable: bool = False
    """It is all empty because reading broke off."""


class PageReader(msgspec.Struct, frozen=True):
    """``agent`` is our product token in robots rules."""

    agent: str = ROBOTS_AGENT
    with_words: bool = False
    """Whether to read text and anchor texts, for a focus."""
    with_requisites: bool = False
    ignore: tuple[str, ...] | None = None
    """What the digest leaves out; None: it is over every byte."""

    def read(self, fetched: Fetched, body: bytes | None = None) -> ReadPage:
        """Read a response that is neither redirect nor error; its body is decoded if not given."""
        if fetched.status == _NOT_MODIFIED:
            return ReadPage()
        if body is None:
            body = decode_content(fetched.payload, fetched.coding, _MOST_DECODED_BYTES).data
        kind = fetched.header("content-type") or ""
        if body and is_html(kind, body):
            return self._read_html(fetched, body, kind)
        return self._read_other(fetched, body, kind)

    def _read_html(self, fetched: Fetched, body: bytes, kind: str) -> ReadPage:
        html = decoded(body, kind)
        options = _WITH_RESOURCES if self.with_requisites else DEFAULT_OPTIONS
        page = links_in(html.text, fetched.url, html.codec, options)
        nofollow = page.nofollow
        rels = ["nofollow" if url in nofollow else "" for url in page.urls] if nofollow else ()
        to_follow: Sequence[str] = ()
        if page.robots.follow and self._may_follow(fetched):
            to_follow, refresh = page.urls, _refresh(fetched)
            if nofollow or refresh:
                to_follow = [url for url in page.urls if url not in nofollow]
                to_follow += [refresh] if refresh and refresh not in page.urls else []
        links, digest = Links(page.urls, rels), self._digest(body, kind)
        read = ReadPage(page.title, page.lang, links, to_follow, digest)
        if self.with_requisites:
            styles = _joined(style_references(html.text), page.base)
            needed = tuple(dict.fromkeys((*page.resources, *styles)))
            read = structs.replace(read, requisites=needed)
        if self.with_words:
            text, link_words = page_words(html.text, page.base, html.codec)
            read = structs.replace(read, text=text, link_words=link_words)
        return read

    def _read_other(self, fetched: Fetched, body: bytes, kind: str) -> ReadPage:
        """Feeds and other XML, PDF, style sheets; anything else has no links."""
        refresh = _refresh(fetched)
        found = [*([refresh] if refresh else ()), *_other_links(body, kind, fetched.url)]
        return ReadPage(
            links=Links(found),
            to_follow=found if self._may_follow(fetched) else [],
            digest=self._digest(body, kind) if body else b"",
            requisites=self._of_sheet(body, kind, fetched.url),
        )

    def _may_follow(self, fetched: Fetched) -> bool:
        values = [value for name, value in fetched.headers if name == "x-robots-tag"]
        return not values or x_robots_tag(values, self.agent).follow

    def _of_sheet(self, body: bytes, kind: str, url: str) -> Sequence[str]:
        if not self.with_requisites or not kind.lower().lstrip().startswith("text/css"):
            return ()
        return _joined(css_references(decoded(body, kind).text), url)

    def _digest(self, body: bytes, kind: str) -> bytes:
        if self.ignore is None:
            return content_digest(body)
        from headgate.reading.change_detection import (
            counted_digest,  # here: few crawls need them
            noise_of,
        )

        if "/" not in kind and not is_html(kind, body):
            kind = "application/octet-stream"
        return counted_digest(body, kind, noise_of(self.ignore))

    def read_sitemap(self, fetched: Fetched, body: bytes | None = None) -> Sitemap:
        if body is None:
            body = decode_content(fetched.payload, fetched.coding, MOST_BYTES).data
        return read_sitemap(body, fetched.url)

    def moved(self, fetched: Fetched) -> bool:
        """Whether it is a redirect with a Location; others are read as pages."""
        return fetched.status in _MOVED and fetched.header("location") is not None

    def redirect_target(self, fetched: Fetched) -> str:
        """The absolute target; empty: there is none, or it is not a URL."""
        location = in_header(fetched.header("location"))
        return (location and join(fetched.url, location)) or ""


def _refresh(fetched: Fetched) -> str:
    """The target of a Refresh header; empty: there is none."""
    value = fetched.header("refresh")
    target = refresh_target(in_header(value)) if value else None
    return (target and join(fetched.url, target[1])) or ""


def _other_links(body: bytes, kind: str, url: str) -> Sequence[str]:
    if is_xml(kind):
        return xml_links(body, url, kind)
    return pdf_links(body, url) if is_pdf(kind, body) else ()


def _joined(references: Sequence[str], base: str) -> Sequence[str]:
    urls = (join(base, reference) for reference in references)
    return tuple(dict.fromkeys(url for url in urls if url is not None))


def is_html(kind: str, body: bytes) -> bool:
    """By the Content-Type, or by the first bytes if that says nothing."""
    if "/" in kind and kind not in _NO_KIND:
        return kind.lower().lstrip().startswith(_HTML)
    return _HTML_START.match(body, 0, _SNIFFED_BYTES) is not None
