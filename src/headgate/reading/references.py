"""The references in the tags of a page, as written, before they are resolved.

``References`` is filled by one pass over the page's tags and emptied by ``links``. Invariant: no
reference in ``links`` carries a fragment that could be cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from headgate.reading.directives import ALL_ALLOWED, meta_directives
from headgate.reading.tag_pass import TagPass, Wanted, bare, tag_pass
from headgate.reading.tags import BLANK, shown_text

__all__ = [
    "FASTEST",
    "PAGE_TAGS",
    "RESOURCE_TAGS",
    "References",
    "TagPasses",
    "candidates",
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
    """All references and metadata of a page."""

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
