"""Links: what one page of HTML leads to, and what it says of itself.

Targets come out absolute, in normal form, each once, in the order of the page; whatever is not
http or https is dropped. They are joined after the whole page was read, since a ``<base>`` counts
for links before it, too.

Links lead to other pages: ``a``, ``area``, ``frame``, ``iframe``, ``meta`` refresh, and ``link``
(next, prev, alternate, canonical ...). Resources are parts of this page: images, scripts, media,
and ``link`` to stylesheets, icons and the like; they are collected only when asked for.

Bounded: at most ``max_links`` references are taken, titles and anchor texts are cut, and time and
memory grow with the page's length only (see ``tags``).
"""

from __future__ import annotations

import msgspec

from headgate.reading.charset import decoded
from headgate.reading.directives import Directives
from headgate.reading.references import References
from headgate.reading.urls import Resolver

__all__ = ["LinkOptions", "PageLinks", "Refresh", "links_in", "page_links"]


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
    """Each once, in the order of the page."""
    nofollow: frozenset[str]
    """Those of ``urls`` that every link to them marks as nofollow, ugc or sponsored."""
    texts: dict[str, str]
    """Of those of ``urls`` that an anchor with a text leads to, the first text; if asked for."""
    resources: tuple[str, ...]
    """Each once; if asked for."""
    base: str
    """What relative references were joined to."""
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
    """Of a page as it came: ``body`` without content coding, its URL and its Content-Type.

    >>> page = page_links(b"<title>T</title><a href=b#c>x</a><a href='/d?e&amp;f'>", "http://a/")
    >>> page.title, page.urls
    ('T', ('http://a/b', 'http://a/d?e&f'))
    """
    page = decoded(body, content_type)
    return links_in(page.text, url, page.codec, options)


def links_in(
    page: str, url: str, codec: str = "utf-8", options: LinkOptions = DEFAULT_OPTIONS
) -> PageLinks:
    """Of a page that was decoded already; ``codec`` is what it was written in."""
    found = References(options.agent)
    found.gather(page, most=options.max_links, resources=options.resources, texts=options.texts)
    resolver = Resolver(url, codec)
    base = None if found.base is None else resolver.join(found.base)
    if base is not None:
        resolver = Resolver(base, codec)
    urls, nofollow = _joined(found.links, resolver)
    return PageLinks(
        urls=tuple(urls),
        nofollow=nofollow,
        texts=_joined_texts(found.texts, resolver),
        resources=tuple(resolver.join_all(found.resources)) if options.resources else (),
        base=base or url,
        canonical=None if found.canonical is None else resolver.join(found.canonical),
        refresh=_joined_refresh(found.refresh, resolver),
        robots=found.robots,
        title=found.title or "",
        lang=found.lang or "",
        truncated=found.truncated,
    )


def _joined(links: dict[str, bool], resolver: Resolver) -> tuple[dict[str, bool], frozenset[str]]:
    urls: dict[str, bool] = {}
    for url, unendorsed in zip(resolver.join_each(list(links)), links.values(), strict=True):
        if url is not None:
            urls[url] = unendorsed and urls.get(url, True)
    return urls, frozenset([url for url, unendorsed in urls.items() if unendorsed])


def _joined_texts(texts: dict[str, str], resolver: Resolver) -> dict[str, str]:
    joined: dict[str, str] = {}
    for ref, text in texts.items():
        url = resolver.join(ref)
        if url is not None:
            joined.setdefault(url, text)
    return joined


def _joined_refresh(refresh: tuple[int, str] | None, resolver: Resolver) -> Refresh | None:
    url = None if refresh is None else resolver.join(refresh[1])
    return None if refresh is None or url is None else Refresh(refresh[0], url)
