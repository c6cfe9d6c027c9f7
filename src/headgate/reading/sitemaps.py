"""Sitemaps: the pages a site lists of itself. XML, index, RSS, Atom and plain text, gzipped or not.

XML is read as a sequence of tags, not by an XML parser. Document types are ignored, so that entity
bombs and external files do not work (a file that declares entities is refused); and real sitemaps,
with bare ``&``, wrong namespaces and missing end tags, are read completely, where a parser must
stop at the first error. One pass, no tree.

Bounded by the protocol's own limits, 50,000 entries and 50 MB, and by what its URLs become: they
may be joined to a long one, and escapes are longer than what they stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from itertools import islice

import msgspec

from headgate.reading.charset import decoded
from headgate.reading.content_coding import decode_content
from headgate.reading.tags import attributes, unescaped
from headgate.reading.urls import UrlJoiner, normalise

__all__ = ["MOST_BYTES", "MOST_ENTRIES", "Sitemap", "parse_date", "read_sitemap"]

MOST_ENTRIES = 50_000
MOST_BYTES = 50_000_000
_MOST_CHARACTERS = 16_000_000
"""Of all URLs: 320 each on average."""
_MOST_TAGS = 2_000_000
"""Forty per entry: as many as the richest real sitemaps have."""

_MOST_LINES = 4 * MOST_ENTRIES
"""Of a plain list, including lines that are no URLs."""

_ENTRIES = frozenset((b"url", b"sitemap", b"item", b"entry"))
_EXTENSIONS = frozenset((b"image", b"video", b"news", b"pagemap", b"source"))
"""Elements with their own URLs and dates, which are not the entry's."""
_DATES = frozenset((b"lastmod", b"updated", b"pubdate", b"published", b"date"))
_ADDRESSES = frozenset((b"loc", b"link"))
_ROOTS = frozenset((b"urlset", b"sitemapindex", b"rss", b"rdf", b"feed"))
_PAGE_RELS = frozenset(("", "alternate"))

_LINE = re.compile(rb"[^\r\n]{1,4096}")
_ROOT = re.compile(rb"<!--[\s\S]*?(?:-->|\Z)|<(?:[\w.-]++:)?([a-z][\w.-]*+)", re.IGNORECASE)
_FRAMES = b"|".join(sorted(_ENTRIES | _EXTENSIONS))
_LEAVES = b"|".join(sorted(_DATES | _ADDRESSES))
_TAG = re.compile(
    rb"<(?:!--[\s\S]*?(?:-->|\Z)|!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)"
    rb"|(/?)(?:[\w.-]++:)?(" + _FRAMES + rb"|(?<!/)(?:" + _LEAVES + rb"))(?=[\s/>])([^<>]*+)>"
    rb"([^<]*+)(?:<!\[CDATA\[([\s\S]*?)\]\]>)?)",
    re.IGNORECASE,
)
"""A comment, CDATA outside of what we look for, or a tag: slash, name, attributes, and the text or
CDATA behind it. End tags of leaves are mostly passed over here already."""


class Sitemap(msgspec.Struct, frozen=True):
    """All URLs absolute and in normal form, each once."""

    pages: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()
    """Of an index: where to look further."""
    modified: dict[str, datetime] = msgspec.field(default_factory=dict)
    """When a page or a sitemap last changed, for those that say so; in UTC."""
    whole: bool = True
    """False: broken, refused or cut off."""


REFUSED = Sitemap(whole=False)


def read_sitemap(body: bytes, url: str) -> Sitemap:
    """Parse a sitemap; ``url``: its own.

    >>> read_sitemap(b"http://a/x\\nhttp://a/y\\n", "http://a/sitemap.txt").pages
    ('http://a/x', 'http://a/y')
    """
    whole = True
    if body.startswith(b"\x1f\x8b"):
        content = decode_content(body, "gzip", MOST_BYTES)
        body, whole = content.data, content.whole
    elif len(body) > MOST_BYTES:
        body, whole = body[:MOST_BYTES], False
    body = _as_utf8(body)
    if body[:1024].lstrip().startswith(b"<"):
        return _read_xml(body, url, whole)
    return _read_text(body, whole)


def _as_utf8(body: bytes) -> bytes:
    page = decoded(body[:1024])
    if page.codec == "utf-8":
        return body.removeprefix(b"\xef\xbb\xbf")
    return decoded(body).text.encode("utf-8", "replace")


def _read_text(body: bytes, whole: bool) -> Sitemap:
    pages: dict[str, None] = {}
    lines = _LINE.finditer(body)
    left = _MOST_CHARACTERS
    for line in islice(lines, _MOST_LINES):
        page = normalise(line[0].decode("utf-8", "replace"))
        if page is not None:
            pages[page] = None
            left -= len(page)
            if len(pages) == MOST_ENTRIES or left < 0:
                break
    return Sitemap(tuple(pages), whole=whole and next(lines, None) is None)


def _read_xml(body: bytes, url: str, whole: bool) -> Sitemap:
    root = next((match for match in _ROOT.finditer(body) if match[1]), None)
    if root is None or root[1].lower() not in _ROOTS or b"<!ENTITY" in body[: root.start()]:
        return REFUSED
    reader = _Reader(UrlJoiner(url))
    whole = reader.read(_TAG.finditer(body, root.end())) and whole
    ended = root[1] in body[-256:].rpartition(b"</")[2]
    return Sitemap(
        tuple(reader.pages), tuple(reader.sitemaps), reader.modified, whole=whole and ended
    )


class _Reader:
    """Takes tags in order. At most one entry is open, and in it at most one extension."""

    def __init__(self, resolver: UrlJoiner) -> None:
        self._resolver = resolver
        self._entry = b""
        self._extension = b""
        self._address: str | None = None
        self._date: datetime | None = None
        self.pages: dict[str, None] = {}
        self.sitemaps: dict[str, None] = {}
        self.modified: dict[str, datetime] = {}
        self._left = _MOST_CHARACTERS

    def read(self, tags: Iterator[re.Match[bytes]]) -> bool:
        """False: there was more than the limit."""
        for tag in islice(tags, _MOST_TAGS):
            if tag[2]:
                self._take(tag[2].lower(), tag)
            if max(len(self.pages), len(self.sitemaps)) >= MOST_ENTRIES or self._left < 0:
                break
        self._close_entry()
        return next(tags, None) is None

    def _take(self, name: bytes, tag: re.Match[bytes]) -> None:
        if name in _ENTRIES:
            self._close_entry()
            self._entry = b"" if tag[1] else name
            if self._entry == b"sitemap":
                self._found(self._joined(tag))
        elif name in _EXTENSIONS or self._extension:
            self._pass_extension(name, tag)
        elif tag[1]:
            return
        elif name in _DATES:
            self._date = self._date or parse_date(_text(tag))
        else:
            self._found(self._link_target(tag) if name == b"link" else self._joined(tag))

    def _close_entry(self) -> None:
        if self._address is not None and self._date is not None:
            self.modified[self._address] = self._date
        self._address = self._date = None
        self._extension = b""

    def _found(self, address: str | None) -> None:
        """The first URL is the entry's own; later ones are alternates."""
        if address is not None:
            self._left -= len(address)
            (self.sitemaps if self._entry == b"sitemap" else self.pages)[address] = None
            self._address = self._address or address

    def _pass_extension(self, name: bytes, tag: re.Match[bytes]) -> None:
        if tag[1]:
            self._extension = b"" if name == self._extension else self._extension
        elif not self._extension and not tag[3].endswith(b"/"):
            self._extension = name

    def _link_target(self, tag: re.Match[bytes]) -> str | None:
        """Target of a feed's link, as text or attribute, or of xhtml:link."""
        if b"=" not in tag[3]:
            return self._joined(tag)
        found = attributes(tag[3].decode("utf-8", "replace"))
        if found.get("rel", "") not in _PAGE_RELS or not found.get("href"):
            return None
        return self._resolver.join(found["href"])

    def _joined(self, tag: re.Match[bytes]) -> str | None:
        text = _text(tag)
        return self._resolver.join(text) if text else None


def _text(tag: re.Match[bytes]) -> str:
    raw = tag[4] if tag[5] is None else tag[5]
    text = raw.decode("utf-8", "replace").strip()
    return unescaped(text) if tag[5] is None else text


# Parses dates in sitemaps, feeds and headers.
#
# Read leniently: ISO 8601 and W3C's profile of it, with or without time, zone, seconds or leading
# zeros, and the dates of mail and HTTP. Without a zone, UTC is assumed. Nothing raises. Sites
# repeat the same few dates, so results are cached.


_ISO = re.compile(
    r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[Tt\s]\s*+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d++)?)?\s*+(?:([Zz])|([+-])(\d{2}):?(\d{2}))?)?)?)?\s*",
    re.ASCII,
)
_LONGEST = 64


def parse_date(text: str) -> datetime | None:
    """None: it cannot be parsed.

    >>> parse_date("2026-11-15T19:20:03+01:00"), parse_date("2026-11")
    (datetime.datetime(2026, 11, 15, 18, 20, 3, tzinfo=datetime.timezone.utc), \
datetime.datetime(2026, 11, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    return None if len(text) > _LONGEST else _parse_date(text)


@lru_cache(1_024)
def _parse_date(text: str) -> datetime | None:
    match = _ISO.fullmatch(text)
    try:
        moment = _mail_date(text) if match is None else _iso_date(match)
        return moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def _iso_date(match: re.Match[str]) -> datetime:
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    offset = timedelta(hours=int(match[9] or 0), minutes=int(match[10] or 0))
    zone = timezone(-offset if match[8] == "-" else offset)
    return datetime(year, month or 1, day or 1, hour, minute, second, tzinfo=zone)


def _mail_date(text: str) -> datetime:
    from email.utils import parsedate_to_datetime

    moment = parsedate_to_datetime(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
