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

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec

from headgate.reading.charset import decoded
from headgate.reading.robots import ALL_ALLOWED, Directives, meta_directives
from headgate.reading.tags import BLANK, TagPass, Wanted, bare, shown_text, tag_pass
from headgate.reading.urls import MAX_LENGTH, UrlJoiner

__all__ = [
    "DEFAULT_OPTIONS",
    "MOST_JOINED",
    "LinkOptions",
    "References",
    "Refresh",
    "TagPasses",
    "candidates",
    "links_in",
    "page_links",
    "refresh_target",
]

PAGE_TAGS: Wanted = {
    "a": ("href", "xlink:href", "rel"),
    "area": ("href", "xlink:href", "rel"),
    "base": ("href",),
    "frame": ("src",),
    "html": ("lang", "xml:lang"),
    "iframe": ("src",),
    "link": ("href", "rel", "hreflang", "media"),
    "meta": ("name", "content", "http-equiv"),
    "title": (),
}
RESOURCE_TAGS: Wanted = dict.fromkeys(
    ("audio", "embed", "img", "input", "object", "script", "source", "track", "video"),
    ("src", "data", "poster", "srcset"),
)
_RESOURCE_RELS = frozenset(
    ("apple-touch-icon", "icon", "manifest", "modulepreload", "preload", "stylesheet")
)
_SEQUENCE_RELS = ("begin", "end", "first", "last", "next", "prev", "previous", "start")
_PLACE_RELS = ("canonical", "child", "home", "parent", "sibling", "top", "up")
_BOOK_RELS = ("appendix", "archives", "chapter", "contents", "glossary", "index", "section")
_NAVIGATION_RELS = frozenset((*_SEQUENCE_RELS, *_PLACE_RELS, *_BOOK_RELS, "subsection", "toc"))
"""Relations that lead from page to page. Others are no pages, or not for readers: forms that edit
this page and may lock it, feeds, exports, interfaces."""
_UNENDORSED_RELS = frozenset(("nofollow", "sponsored", "ugc"))

_LONGEST_TEXT = 2_000
"""Characters of markup that are read for a title or an anchor text."""
_LONGEST_SET = 65_536
_LONGEST_WORDS = 500
_MOST_DIGITS = 9
_ANCHOR_EDGE = re.compile(rf"</?[aA](?=[{BLANK}/>])")
_CANDIDATE = re.compile(
    rf"([^{BLANK},][^{BLANK}]*(?<!,))(?:,++|[^,(]*+(?>(?:\([^)]*+\)?[^,(]*+)*))"
)
_REFRESH = re.compile(
    rf"[{BLANK}]*+([0-9]++|(?=\.))[0-9.]*+(?=[;,{BLANK}])[{BLANK}]*+[;,]?[{BLANK}]*+"
    rf"(?>(?:[uU][rR][lL][{BLANK}]*+=[{BLANK}]*+)?)(?:\"([^\"]*+)|'([^']*+)|([\s\S]*+))"
)


class TagPasses:
    """How pages are read: both passes, without the parts of a page and with them."""

    __slots__ = ("links", "whole")

    def __init__(self, make: Callable[[Wanted], TagPass]) -> None:
        self.links = make(PAGE_TAGS)
        self.whole = make(PAGE_TAGS | RESOURCE_TAGS)


FASTEST = TagPasses(tag_pass)


class References:
    """The references in the tags of a page, as written, before they are resolved.

    ``References`` is filled by one pass over the page's tags and emptied by ``links``. Invariant:
    no reference in ``links`` carries a fragment that could be cut.

    All references and metadata of a page.
    """

    __slots__ = (
        "_agents",
        "_passes",
        "base",
        "canonical",
        "lang",
        "links",
        "refresh",
        "resources",
        "robots",
        "texts",
        "title",
        "truncated",
        "unendorsed",
    )

    def __init__(self, agent: str, passes: TagPasses = FASTEST) -> None:
        self._passes = passes
        self.links: dict[str, None] = {}
        self.unendorsed: set[str] = set()
        """Those of ``links`` that some tag marks as nofollow, ugc or sponsored."""
        self.texts: dict[str, str] = {}
        self.resources: dict[str, None] = {}
        self.base: str | None = None
        self.canonical: str | None = None
        self.refresh: tuple[int, str] | None = None
        self.robots = ALL_ALLOWED
        self.title: str | None = None
        self.lang: str | None = None
        self.truncated = False
        self._agents = ("robots", agent.lower())

    def gather(self, page: str, *, most: int, resources: bool, texts: bool) -> None:
        """Read a page's tags until its end, or until ``most`` links or resources are found."""
        links = self.links
        tags = self._passes.whole if resources else self._passes.links
        for batch in tags.batches(page, brief=not texts):
            near_end = resources or len(links) + len(batch) >= most  # a tag brings one link at most
            for tag in batch:
                if isinstance(tag, str):
                    links[tag] = None
                else:
                    name, found, text, end = tag
                    href = self._read(name, found, text)
                    if texts and href is not None and href not in self.texts:
                        self._read_text(page, end, href)
                if near_end and max(len(links), resources and len(self.resources)) >= most:
                    self.truncated = True
                    return

    def _read(self, name: str, found: Mapping[str, str], text: str | None) -> str | None:
        """Process a tag; returns what it links to, if it is an anchor."""
        match name:
            case "a" | "area":
                return self._read_anchor(found)
            case "link":
                self._read_link(found)
            case "meta":
                self._read_meta(found)
            case "title":
                self._read_title(text)
            case "frame" | "iframe":
                self._read_frame(found)
            case "html":
                self._read_html(found)
            case "base":
                self._read_base(found)
            case _:
                self._read_resource(found)
        return None

    def _read_text(self, page: str, start: int, href: str) -> None:
        limit = start + _LONGEST_TEXT
        edge = _ANCHOR_EDGE.search(page, start, limit)
        text = shown_text(page[start : limit if edge is None else edge.start()])
        if text:
            self.texts[href] = text

    def _link(self, ref: str, rel: str = "") -> str:
        ref = bare(ref)
        self.links[ref] = None
        if rel and not _UNENDORSED_RELS.isdisjoint(_words(rel)):
            self.unendorsed.add(ref)
        return ref

    def _read_anchor(self, found: Mapping[str, str]) -> str | None:
        href = found.get("href", found.get("xlink:href"))
        return None if href is None else self._link(href, found.get("rel", ""))

    def _read_frame(self, found: Mapping[str, str]) -> None:
        if found.get("src"):
            self._link(found["src"])

    def _read_base(self, found: Mapping[str, str]) -> None:
        if self.base is None:
            self.base = found.get("href")

    def _read_title(self, text: str | None) -> None:
        if self.title is None and text is not None:
            self.title = shown_text(text)

    def _read_html(self, found: Mapping[str, str]) -> None:
        if self.lang is None:
            self.lang = found.get("lang", found.get("xml:lang", ""))[:_LONGEST_WORDS]

    def _read_link(self, found: Mapping[str, str]) -> None:
        href, rel = found.get("href"), found.get("rel", "")
        rels = _words(rel)
        if not href:
            return
        if not _RESOURCE_RELS.isdisjoint(rels):
            self.resources[bare(href)] = None
            return
        elsewhere = "alternate" in rels and ("hreflang" in found or "media" in found)
        if elsewhere or not _NAVIGATION_RELS.isdisjoint(rels):
            self._link(href, rel)
        if "canonical" in rels and self.canonical is None:
            self.canonical = href

    def _read_meta(self, found: Mapping[str, str]) -> None:
        content = found.get("content", "")
        if found.get("name", "").lower() in self._agents:
            self.robots &= meta_directives(content)
        elif found.get("http-equiv", "").lower() == "refresh" and self.refresh is None:
            self.refresh = refresh_target(content)
            if self.refresh is not None:
                self._link(self.refresh[1])

    def _read_resource(self, found: Mapping[str, str]) -> None:
        for key in ("src", "data", "poster"):
            if found.get(key):
                self.resources[bare(found[key])] = None
        for ref in candidates(found.get("srcset", "")):
            self.resources[bare(ref)] = None


def candidates(srcset: str) -> list[str]:
    """The URLs of a ``srcset``.

    >>> candidates("a.png, b,c.png 2x, data:,x 3x,, d.png")
    ['a.png', 'b,c.png', 'data:,x', 'd.png']
    """
    return _CANDIDATE.findall(srcset[:_LONGEST_SET])


def refresh_target(content: str) -> tuple[int, str] | None:
    """Seconds and reference of a refresh; None: it is none, or refers to the page itself.

    >>> refresh_target("5; URL='next.html'"), refresh_target("5")
    ((5, 'next.html'), None)
    """
    match = _REFRESH.match(content)
    target = match and (match[2] or match[3] or match[4])
    if match is None or not target:
        return None
    return int(match[1][:_MOST_DIGITS] or 0), target


def _words(rel: str) -> frozenset[str]:
    return _split(rel[:_LONGEST_WORDS])


@lru_cache(256)
def _split(rel: str) -> frozenset[str]:
    return frozenset(rel.lower().split())


# The links of a page.


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
