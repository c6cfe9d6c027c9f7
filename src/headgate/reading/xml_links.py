"""Links of XML documents: feeds (RSS, Atom), linked sitemaps, and others.

Feeds and sitemaps are read as sitemaps are (`sitemaps`), with what they enclose beside. Of other
XML the attributes count that hold a URL in most vocabularies, and its style sheet. Like there, XML
is read as a row of tags: nothing of a document type is obeyed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from headgate.reading.charset import decoded
from headgate.reading.sitemaps import read_sitemap
from headgate.reading.tags import attributes
from headgate.reading.urls import UrlJoiner

__all__ = ["is_xml", "xml_links"]

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
