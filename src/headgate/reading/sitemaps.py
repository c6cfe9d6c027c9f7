"""Sitemaps: the pages a site lists of itself. XML, index, RSS, Atom and plain text, gzipped or not.

The XML is read as a stream of elements, namespaces looked past, since half of the real ones get
theirs wrong. A document type is refused: sitemaps need none, and entity bombs and files from
elsewhere come in through it. What is broken gives what was read before. Bounded by the protocol's
own limits: 50,000 entries, 50 MB.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers.expat import ExpatError, ParserCreate

from headgate.reading.charset import decode
from headgate.reading.content import decode_content
from headgate.reading.urls import join

__all__ = ["Sitemap", "read_sitemap"]

MOST_ENTRIES = 50_000
MOST_BYTES = 50_000_000
_LONGEST_TEXT = 4_096
_GZIP = b"\x1f\x8b"


@dataclass(slots=True)
class Sitemap:
    """All URLs absolute and in normal form, each once."""

    pages: list[str] = field(default_factory=list)
    sitemaps: list[str] = field(default_factory=list)
    """Of an index: where to look further."""
    whole: bool = True
    """False: broken, refused or cut off."""


class _RefusedError(Exception):
    pass


def read_sitemap(body: bytes, url: str) -> Sitemap:
    """Read a sitemap; ``url`` is where it came from.

    >>> read_sitemap(b"http://a/x\\nhttp://a/y\\n", "http://a/sitemap.txt").pages
    ['http://a/x', 'http://a/y']
    """
    whole = True
    if body.startswith(_GZIP):
        content = decode_content(body, "gzip", MOST_BYTES)
        body, whole = content.data, content.whole
    if body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        found = _read_xml(body[:MOST_BYTES], url)
    else:
        found = _read_text(body[:MOST_BYTES], url)
    found.whole = found.whole and whole and len(body) <= MOST_BYTES
    return found


def _read_text(body: bytes, url: str) -> Sitemap:
    lines = decode(body).splitlines()
    pages = [target for line in lines if "://" in line and (target := join(url, line.strip()))]
    return Sitemap(list(dict.fromkeys(pages))[:MOST_ENTRIES], whole=len(pages) <= MOST_ENTRIES)


def _read_xml(body: bytes, url: str) -> Sitemap:
    reader = _XmlReader(url)
    parser = ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    whole = True
    try:
        parser.Parse(body, True)
    except (ExpatError, _RefusedError, ValueError, LookupError):
        whole = False
    return Sitemap(list(reader.pages), list(reader.sitemaps), whole)


class _XmlReader:
    """Collects ``loc``, and ``link`` of feeds, by the element they stand in."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._path: list[str] = []
        self._text: list[str] = []
        self._length = 0
        self.pages: dict[str, None] = {}
        self.sitemaps: dict[str, None] = {}

    def doctype(self, *_: object) -> None:
        raise _RefusedError

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._path.append(name.rpartition(":")[2].lower())
        self._text, self._length = [], 0
        if self._path[-1] == "link" and "href" in attributes:
            self._add(self.pages, attributes["href"])

    def text(self, data: str) -> None:
        if self._path and self._path[-1] in ("loc", "link") and self._length < _LONGEST_TEXT:
            self._text.append(data)
            self._length += len(data)

    def end(self, _: str) -> None:
        name = self._path.pop()
        inside = self._path[-1] if self._path else ""
        value = "".join(self._text).strip()
        self._text = []
        if name == "loc" and value and inside == "sitemap":
            self._add(self.sitemaps, value)
        elif (name == "loc" and value and inside == "url") or (name == "link" and value):
            self._add(self.pages, value)

    def _add(self, found: dict[str, None], ref: str) -> None:
        target = join(self._url, ref)
        if target is not None:
            found[target] = None
        if len(found) >= MOST_ENTRIES:
            raise _RefusedError
