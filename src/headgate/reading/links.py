"""Links of an HTML page, and its metadata.

Targets are absolute, in normal form, in page order and without repetition; only http and https.
They are resolved after the whole page was read, since a ``<base>`` also applies to links before it.

Links lead to other pages: ``a``, ``area``, ``frame``, ``iframe``, ``meta`` refresh, and ``link``
that navigates (next, prev, contents, canonical ..., and alternate for other languages and devices).
Resources are parts of this page: images, scripts, media, and ``link`` to stylesheets, icons and the
like; they are collected only when asked for.

Bounded: at most ``max_links`` references are taken, titles and anchor texts are cut, time and
memory grow with the page's length only (see ``tags``), and so does what references become: a long
``<base>`` makes many short ones long, so at most ``MOST_JOINED`` characters are made.
"""

from __future__ import annotations

import msgspec

from headgate.reading.charset import decoded
from headgate.reading.directives import Directives
from headgate.reading.references import FASTEST, References, TagPasses
from headgate.reading.urls import MAX_LENGTH, UrlJoiner

__all__ = [
    "DEFAULT_OPTIONS",
    "MOST_JOINED",
    "LinkOptions",
    "PageLinks",
    "Refresh",
    "links_in",
    "page_links",
]

MOST_JOINED = 8_000_000
"""80 for each of the most links. They exist at once as strings, as lines for the table and in the
journal's buffer: memory is a multiple of it."""
_JOINED_AT_A_TIME = MOST_JOINED // MAX_LENGTH // 2


class LinkOptions(msgspec.Struct, frozen=True, gc=False):
    """What to collect."""

    resources: bool = False
    texts: bool = False
    max_links: int = 100_000
    agent: str = "headgate"
    """The product token that a meta may address in place of ``robots``."""


DEFAULT_OPTIONS = LinkOptions()


class Refresh(msgspec.Struct, frozen=True, gc=False):
    """``<meta http-equiv=refresh>``: the page wants another one to be shown."""

    seconds: int
    url: str


class PageLinks(msgspec.Struct, frozen=True, gc=False):
    """All URLs are absolute and in normal form."""

    urls: tuple[str, ...]
    """In page order, without repetition."""
    nofollow: frozenset[str]
    """Those of ``urls`` that some link to them marks as nofollow, ugc or sponsored."""
    texts: dict[str, str]
    """The first anchor text of ``urls`` that have one, if requested."""
    resources: tuple[str, ...]
    """Without repetition, if requested."""
    base: str
    """Base URL of relative references."""
    canonical: str | None
    refresh: Refresh | None
    robots: Directives
    title: str
    lang: str
    truncated: bool
    """There may be more links than were taken."""


def page_links(
    body: bytes, url: str, content_type: str = "", options: LinkOptions = DEFAULT_OPTIONS
) -> PageLinks:
    """The links of a page, given its ``body`` without content coding, URL and Content-Type.

    >>> page = page_links(b"<title>T</title><a href=b#c>x</a><a href='/d?e&amp;f'>", "http://a/")
    >>> page.title, page.urls
    ('T', ('http://a/b', 'http://a/d?e&f'))
    """
    page = decoded(body, content_type)
    return links_in(page.text, url, page.codec, options)


def links_in(
    page: str,
    url: str,
    codec: str = "utf-8",
    options: LinkOptions = DEFAULT_OPTIONS,
    passes: TagPasses = FASTEST,
) -> PageLinks:
    """The links of a decoded page; ``codec``: its encoding."""
    found = References(options.agent, passes)
    found.gather(page, most=options.max_links, resources=options.resources, texts=options.texts)
    resolver = UrlJoiner(url, codec)
    base = None if found.base is None else resolver.join(found.base)
    if base is not None:
        resolver = UrlJoiner(base, codec)
    joined = _joined(list(found.links), resolver)
    return PageLinks(
        urls=_distinct(joined),
        nofollow=_nofollow(joined, found) if found.unendorsed else frozenset(),
        texts=_joined_texts(found.texts, resolver),
        resources=_distinct(_joined(list(found.resources), resolver)) if options.resources else (),
        base=base or url,
        canonical=None if found.canonical is None else resolver.join(found.canonical),
        refresh=_joined_refresh(found.refresh, resolver),
        robots=found.robots,
        title=found.title or "",
        lang=found.lang or "",
        truncated=found.truncated or len(joined) < len(found.links),
    )


def _joined(refs: list[str], resolver: UrlJoiner) -> list[str | None]:
    """Resolved references, in order; cut off if they are too long in all."""
    if len(refs) <= _JOINED_AT_A_TIME:
        return resolver.join_each(refs)
    urls: list[str | None] = []
    left = MOST_JOINED
    for start in range(0, len(refs), _JOINED_AT_A_TIME):
        some = resolver.join_each(refs[start : start + _JOINED_AT_A_TIME])
        left -= sum([len(url) for url in some if url is not None])
        if left < 0:
            break
        urls += some
    return urls


def _distinct(urls: list[str | None]) -> tuple[str, ...]:
    return tuple([url for url in dict.fromkeys(urls) if url is not None])


def _nofollow(joined: list[str | None], found: References) -> frozenset[str]:
    refs = zip(joined, found.links, strict=False)
    return frozenset([url for url, ref in refs if url is not None and ref in found.unendorsed])


def _joined_texts(texts: dict[str, str], resolver: UrlJoiner) -> dict[str, str]:
    joined: dict[str, str] = {}
    urls = _joined(list(texts), resolver)
    for url, text in zip(urls, texts.values(), strict=False):
        if url is not None:
            joined.setdefault(url, text)
    return joined


def _joined_refresh(refresh: tuple[int, str] | None, resolver: UrlJoiner) -> Refresh | None:
    url = None if refresh is None else resolver.join(refresh[1])
    return None if refresh is None or url is None else Refresh(refresh[0], url)
