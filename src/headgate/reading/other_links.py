"""Links of what is no HTML page: style sheets, XML documents, PDF files."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import islice

from headgate.reading.charset import decoded
from headgate.reading.sitemaps import read_sitemap
from headgate.reading.tags import attributes
from headgate.reading.urls import UrlJoiner

__all__ = ["css_references", "is_pdf", "is_xml", "pdf_links", "style_references", "xml_links"]


# What a style sheet refers to: other style sheets it imports, pictures, fonts.


_MOST_CHARACTERS = 2_000_000
_MOST_REFERENCES = 5_000
_COMMENT = re.compile(r"/\*[\s\S]*?(?:\*/|\Z)")
_REFERENCE = re.compile(
    r"\burl\(\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s\"'()]+))"
    r"|@import\s+(?:\"([^\"\n]*)\"|'([^'\n]*)')",
    re.IGNORECASE,
)
_STYLE = re.compile(
    r"<style\b[^>]*+(?:>([\s\S]*?)(?:</style|\Z))?|\sstyle\s*=\s*(?:\"([^\"]*)\"|'([^']*)')",
    re.IGNORECASE,
)


def css_references(sheet: str) -> list[str]:
    """As written, without repetition and without ``data:`` URLs.

    >>> css_references("@import 'a.css'; b { background: url( c.png ) } /* url(d) */")
    ['a.css', 'c.png']
    """
    found: dict[str, None] = {}
    for match in _REFERENCE.finditer(_COMMENT.sub(" ", sheet[:_MOST_CHARACTERS])):
        reference = next((group for group in match.groups() if group), "").strip()
        if reference and not reference.lower().startswith(("data:", "#", "about:")):
            found[reference] = None
        if len(found) >= _MOST_REFERENCES:
            break
    return list(found)


def style_references(page: str) -> list[str]:
    """The same of the styles in a page of HTML.

    >>> style_references('<p style="background: url(a.png)"><style>b{src:url(c.woff)}</style>')
    ['a.png', 'c.woff']
    """
    found = _STYLE.finditer(page[:_MOST_CHARACTERS])
    styles = (next((group for group in match.groups() if group), "") for match in found)
    return css_references("\n".join(style for style in styles if "url(" in style or "@" in style))


# Links of XML documents: feeds (RSS, Atom), linked sitemaps, and others.
#
# Feeds and sitemaps are read as sitemaps are (`sitemaps`), with what they enclose beside. Of other
# XML the attributes count that hold a URL in most vocabularies, and its style sheet. Like there,
# XML is read as a row of tags: nothing of a document type is obeyed.


_MOST_LINKS = 50_000
_MOST_BYTES = 16_000_000
_KIND = re.compile(r"\s*(?:text|application)/(?:[\w.-]+\+)?xml\b", re.IGNORECASE)
_HTML = re.compile(r"\s*application/xhtml\+xml\b", re.IGNORECASE)
_ENCLOSING = re.compile(r"<(?:[\w.-]+:)?(?:enclosure|content)\s([^<>]{1,4000})>", re.IGNORECASE)
_NAMING = re.compile(r"<!--[\s\S]*?(?:-->|\Z)|<(?![!/?])[^<>\s]{1,200}\s([^<>]{1,8000})>")
"""Comments are passed over."""
_NAMES = ("href", "xlink:href", "src", "url")


def is_xml(kind: str) -> bool:
    """By its Content-Type; XHTML counts as a page.

    >>> [is_xml(kind) for kind in ("application/rss+xml", "text/xml; charset=utf-8", "text/html")]
    [True, True, False]
    >>> is_xml("application/xhtml+xml")
    False
    """
    return _KIND.match(kind) is not None and _HTML.match(kind) is None


def xml_links(body: bytes, url: str, kind: str = "") -> list[str]:
    """In document order, without repetition; ``url``: of the document.

    >>> feed = b'<feed><entry><link href="/1"/></entry><entry><link href="/2"/></entry></feed>'
    >>> xml_links(feed, "http://a/feed")
    ['http://a/1', 'http://a/2']
    >>> xml_links(b'<book><part xlink:href="p1.xml"/><media src="m.ogg"/></book>', "http://a/b/")
    ['http://a/b/p1.xml', 'http://a/b/m.ogg']
    """
    known = read_sitemap(body, url)
    text = decoded(body[:_MOST_BYTES], kind).text
    found = [*known.pages, *known.sitemaps]
    tags = (_ENCLOSING if found else _NAMING).finditer(text)
    links = dict.fromkeys(found)
    for link in _targets(tags, UrlJoiner(url)):
        links[link] = None
        if len(links) >= _MOST_LINKS:
            break
    return list(links)


def _targets(tags: Iterator[re.Match[str]], joiner: UrlJoiner) -> Iterator[str]:
    for tag in tags:
        named = attributes(tag[1] or "")
        for name in _NAMES:
            target = joiner.join(named[name]) if named.get(name) else None
            if target is not None and target.startswith(("http://", "https://")):
                yield target


# Links of a PDF: the URLs of its link annotations.
#
# ISO 32000-1, 12.6.4.7: an action has ``/URI (http://...)``, a string in parentheses with escapes,
# or in hexadecimal. Since PDF 1.5 such objects may lie in compressed streams (7.5.7), so those that
# are not pictures, fonts or pages are unpacked and searched, too. The file is not parsed: URLs have
# one form everywhere, and this works for damaged files, too.
#
# Departures: encrypted files give nothing, and URLs that only stand in the text are not found.
# Memory and time are bounded by what is unpacked in all.


_MOST_UNPACKED = 32_000_000
_MOST_STREAMS = 20_000
_START = b"%PDF-"
_URI = re.compile(rb"/URI\s*(?:\(((?:[^()\\]|\\[\s\S]){1,4096})\)|<([0-9A-Fa-f\s]{2,8192})>)")
_STREAM = re.compile(rb"stream(\r?\n)?")
_LONGEST_DICTIONARY = 2_000
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|\r?\n|([\s\S]))")
_CONTROLS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def is_pdf(kind: str, body: bytes) -> bool:
    return kind.lower().lstrip().startswith("application/pdf") or body.startswith(_START)


def pdf_links(body: bytes, url: str) -> list[str]:
    r"""In file order, without repetition; ``url``: of the PDF.

    >>> pdf_links(rb"<< /S /URI /URI (http://a/\(x\)) >> << /URI <687474703A2F2F622F> >>",
    ...     "http://c/")
    ['http://a/(x)', 'http://b/']
    """
    if b"/Encrypt" in body:
        return []
    joiner, links = UrlJoiner(url), dict[str, None]()
    for part in (body, *_unpacked(body)):
        for match in _URI.finditer(part):
            target = joiner.join(_string(match).decode("latin-1").strip())
            if target is not None and target.startswith(("http://", "https://")):
                links[target] = None
                if len(links) >= _MOST_LINKS:
                    return list(links)
    return list(links)


def _unpacked(body: bytes) -> Iterator[bytes]:
    """Streams that hold objects."""
    left = _MOST_UNPACKED
    for described, packed in islice(_streams(body), _MOST_STREAMS):
        if left <= 0:
            return
        if b"/ObjStm" not in described or b"/FlateDecode" not in described:
            continue
        try:
            data = zlib.decompressobj().decompress(packed, left)
        except zlib.error:
            continue
        left -= len(data)
        yield data


def _streams(body: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """The dictionary of each and what it holds, up to the next ``stream``, mostly ``endstream``.

    Each byte is looked at once: a dictionary lies behind the ``stream`` before it."""
    before, described = 0, b""
    for word in _STREAM.finditer(body):
        if described:
            yield described, memoryview(body)[before : word.start()]
        near = body[max(before, word.start() - _LONGEST_DICTIONARY) : word.start()].rstrip()
        start = near.find(b"<<")
        described = near[start:] if word[1] and start >= 0 and near.endswith(b">>") else b""
        before = word.end()
    if described:
        yield described, memoryview(body)[before:]


def _string(match: re.Match[bytes]) -> bytes:
    if match[2] is not None:
        digits = re.sub(rb"\s", b"", match[2])
        return bytes.fromhex((digits + b"0" * (len(digits) % 2)).decode())
    return _ESCAPE.sub(_plain, match[1])


def _plain(escape: re.Match[bytes]) -> bytes:
    if escape[1]:
        return bytes([int(escape[1], 8) & 255])
    return _CONTROLS.get(escape[2], escape[2]) if escape[2] else b""
