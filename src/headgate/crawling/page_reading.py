"""From a response to what the crawl needs of it: links to follow, title, language, digest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import structs

from headgate.model.fetch import Fetched
from headgate.model.page import Links
from headgate.reading.charset import decoded
from headgate.reading.content import decode_content
from headgate.reading.css_references import css_references, style_references
from headgate.reading.digests import content_digest
from headgate.reading.directives import x_robots_tag
from headgate.reading.links import DEFAULT_OPTIONS, LinkOptions, links_in
from headgate.reading.page_words import LinkWords, page_words
from headgate.reading.pdf_links import is_pdf, pdf_links
from headgate.reading.references import refresh_target
from headgate.reading.sitemaps import MOST_BYTES, Sitemap, read_sitemap
from headgate.reading.urls import in_header, join
from headgate.reading.xml_links import is_xml, xml_links

__all__ = ["ROBOTS_AGENT", "PageReader", "ReadPage", "is_html"]

ROBOTS_AGENT = "headgate"
"""The product token that robots rules know us by."""
_WITH_RESOURCES = LinkOptions(resources=True)
_MOST_DECODED_BYTES = 16_000_000
_HTML = ("text/html", "application/xhtml+xml")
_NOT_MODIFIED = 304
_MOVED = frozenset((300, 301, 302, 303, 307, 308))
_NO_KIND = frozenset(("*/*", "application/unknown", "unknown/unknown"))
_SNIFFED_BYTES = 512
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(?:!--|(?:!doctype html|html|head|body|title|meta|script|style|iframe"
    rb"|div|table|font|h1|a|b|br|p)(?=[\s>]))",
    re.IGNORECASE,
)


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
    requisites: Sequence[str] = ()
    """What a page or style sheet needs to be shown; if asked for."""


@dataclass(frozen=True, slots=True)
class PageReader:
    """Knows us by the product token that robots rules use."""

    agent: str = field(default=ROBOTS_AGENT)
    with_words: bool = False
    """There is a focus that wants to know what pages say."""
    with_requisites: bool = False
    ignore: tuple[str, ...] | None = None
    """Rules of what counts for nothing: the digest is of what counts. None: every byte does."""

    def read(self, fetched: Fetched, body: bytes | None = None) -> ReadPage:
        """Read a response that is neither redirect nor error; its body is decoded if not given."""
        if fetched.status == _NOT_MODIFIED:
            return ReadPage()
        if body is None:
            body = decode_content(fetched.payload, fetched.coding, _MOST_DECODED_BYTES).data
        refresh = self._refresh(fetched)
        further = (refresh,) if refresh else ()
        kind = fetched.header("content-type") or ""
        digest = self._digest(body, kind) if body else b""
        if not body or not is_html(kind, body):
            needed = self._of_sheet(body, kind, fetched.url)
            found = [*further, *_other_links(body, kind, fetched.url)]
            values = [value for name, value in fetched.headers if name == "x-robots-tag"]
            may_follow = not values or x_robots_tag(values, self.agent).follow
            followed = found if may_follow else []
            return ReadPage(
                links=Links(found), to_follow=followed, digest=digest, requisites=needed
            )
        decoded_page = decoded(body, kind)
        options = _WITH_RESOURCES if self.with_requisites else DEFAULT_OPTIONS
        page = links_in(decoded_page.text, fetched.url, decoded_page.codec, options)
        values = [value for name, value in fetched.headers if name == "x-robots-tag"]
        allowed = page.robots & x_robots_tag(values, self.agent) if values else page.robots
        to_follow: Sequence[str] = ()
        if allowed.follow:
            to_follow = page.urls
            if page.nofollow or refresh:
                to_follow = [url for url in page.urls if url not in page.nofollow]
                to_follow += [url for url in further if url not in page.urls]
        rels: Sequence[str] = ()
        if page.nofollow:
            rels = ["nofollow" if url in page.nofollow else "" for url in page.urls]
        links = Links(page.urls, rels)
        read = ReadPage(page.title, page.lang, links, to_follow, digest)
        if self.with_requisites:
            styles = _joined(style_references(decoded_page.text), page.base)
            needed = tuple(dict.fromkeys((*page.resources, *styles)))
            read = structs.replace(read, requisites=needed)
        if not self.with_words:
            return read
        text, link_words = page_words(decoded_page.text, page.base, decoded_page.codec)
        return structs.replace(read, text=text, link_words=link_words)

    def _of_sheet(self, body: bytes, kind: str, url: str) -> Sequence[str]:
        if not self.with_requisites or not kind.lower().lstrip().startswith("text/css"):
            return ()
        return _joined(css_references(decoded(body, kind).text), url)

    def _digest(self, body: bytes, kind: str) -> bytes:
        if self.ignore is None:
            return content_digest(body)
        from headgate.reading.counted_text import counted_digest  # here: few crawls need them
        from headgate.reading.noise import noise_of

        if "/" not in kind and not is_html(kind, body):
            kind = "application/octet-stream"
        return counted_digest(body, kind, noise_of(self.ignore))

    def read_sitemap(self, fetched: Fetched, body: bytes | None = None) -> Sitemap:
        if body is None:
            body = decode_content(fetched.payload, fetched.coding, MOST_BYTES).data
        return read_sitemap(body, fetched.url)

    def _refresh(self, fetched: Fetched) -> str:
        """Where a header says that a browser should go on to."""
        value = fetched.header("refresh")
        target = refresh_target(in_header(value)) if value else None
        return (target and join(fetched.url, target[1])) or ""

    def moved(self, fetched: Fetched) -> bool:
        """Whether it is a redirect that says where to: others are read as the pages they are."""
        return fetched.status in _MOVED and fetched.header("location") is not None

    def redirect_target(self, fetched: Fetched) -> str:
        """Absolute; empty when there is none or it cannot be understood."""
        location = in_header(fetched.header("location"))
        return (location and join(fetched.url, location)) or ""

    def retry_after(self, fetched: Fetched, wall: float) -> float | None:
        """Seconds from now that the server asked to be left alone."""
        value = (fetched.header("retry-after") or "").strip()
        if value.isascii() and value.isdigit() and len(value) < 10:
            return float(value)
        from email.utils import parsedate_to_datetime

        try:
            return max(parsedate_to_datetime(value).timestamp() - wall, 0.0)
        except (ValueError, OverflowError, OSError):
            return None


def _other_links(body: bytes, kind: str, url: str) -> Sequence[str]:
    """Of what is no page: feeds and other XML, PDF."""
    if is_xml(kind):
        return xml_links(body, url, kind)
    return pdf_links(body, url) if is_pdf(kind, body) else ()


def _joined(references: Sequence[str], base: str) -> Sequence[str]:
    urls = (join(base, reference) for reference in references)
    return tuple(dict.fromkeys(url for url in urls if url is not None))


def is_html(kind: str, body: bytes) -> bool:
    """By its Content-Type; without one that says something, by what it begins with."""
    if "/" in kind and kind not in _NO_KIND:
        return kind.lower().lstrip().startswith(_HTML)
    return _HTML_START.match(body, 0, _SNIFFED_BYTES) is not None
