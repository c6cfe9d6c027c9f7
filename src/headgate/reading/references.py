"""References: what the tags of one page point to, as it is written there, before any joining.

``References`` is filled by one pass over the page's tags and emptied by ``links``. Invariant: no
reference in ``links`` carries a fragment that could be cut, and its value is True while every tag
with it so far was marked nofollow, ugc or sponsored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from headgate.reading.directives import ALL_ALLOWED, meta_directives
from headgate.reading.tags import BLANK, StartTag, attributes, shown_text, start_tags, unescaped
from headgate.reading.urls import without_fragment

__all__ = ["References", "candidates", "refresh_target"]

_PAGE_TAGS = frozenset(("a", "area", "base", "frame", "html", "iframe", "link", "meta", "title"))
_RESOURCE_TAGS = frozenset(
    ("audio", "embed", "img", "input", "object", "script", "source", "track", "video")
)
_RESOURCE_RELS = frozenset(
    ("apple-touch-icon", "icon", "manifest", "modulepreload", "preload", "stylesheet")
)
_SERVER_RELS = frozenset(("dns-prefetch", "pingback", "preconnect"))
"""They name a server, not a document."""
_UNENDORSED_RELS = frozenset(("nofollow", "sponsored", "ugc"))

_LONGEST_TEXT = 2_000
"""Characters of markup that a title or an anchor's text is taken from."""
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


class References:
    """All that one page refers to and says of itself."""

    __slots__ = (
        "_agents",
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
    )

    def __init__(self, agent: str) -> None:
        self.links: dict[str, bool] = {}
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
        for tag in start_tags(page, _PAGE_TAGS | _RESOURCE_TAGS if resources else _PAGE_TAGS):
            href = tag[1]
            if href is None:
                if tag.lastindex is None:
                    return
                href = self._read(tag)
            else:
                if "&" in href:
                    href = _tidy(href)
                links[href] = False
            if texts and href is not None and href not in self.texts:
                self._read_text(page, tag.end(), href)
            if len(links) >= most or (resources and len(self.resources) >= most):
                self.truncated = True
                return

    def _read(self, tag: StartTag) -> str | None:
        """Take in any tag but the tidiest anchors; what it links to, if it is an anchor."""
        name = (tag[2] or tag[4]).lower()
        if name == "title":
            self._read_title(tag[6])
            return None
        found = attributes(tag[3] or tag[5])
        match name:
            case "a" | "area":
                return self._read_anchor(found)
            case "link":
                self._read_link(found)
            case "meta":
                self._read_meta(found)
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
        ref = _tidy(ref)
        if rel and not _UNENDORSED_RELS.isdisjoint(_words(rel)):
            self.links.setdefault(ref, True)
        else:
            self.links[ref] = False
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
            self.title = shown_text(text[:_LONGEST_TEXT])

    def _read_html(self, found: Mapping[str, str]) -> None:
        if self.lang is None:
            self.lang = found.get("lang", found.get("xml:lang", ""))[:_LONGEST_WORDS]

    def _read_link(self, found: Mapping[str, str]) -> None:
        href, rel = found.get("href"), found.get("rel", "")
        rels = _words(rel)
        if not href or not rels or not _SERVER_RELS.isdisjoint(rels):
            return
        if not _RESOURCE_RELS.isdisjoint(rels):
            self.resources[_tidy(href)] = None
            return
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
                self.resources[_tidy(found[key])] = None
        for ref in candidates(found.get("srcset", "")):
            self.resources[_tidy(ref)] = None


def candidates(srcset: str) -> list[str]:
    """The URLs of a ``srcset``.

    >>> candidates("a.png, b,c.png 2x, data:,x 3x,, d.png")
    ['a.png', 'b,c.png', 'data:,x', 'd.png']
    """
    return _CANDIDATE.findall(srcset[:_LONGEST_SET])


def refresh_target(content: str) -> tuple[int, str] | None:
    """Seconds and reference of a refresh; None when it is none, or one of the page itself.

    >>> refresh_target("5; URL='next.html'"), refresh_target("5")
    ((5, 'next.html'), None)
    """
    match = _REFRESH.match(content)
    target = match and (match[2] or match[3] or match[4])
    if match is None or not target:
        return None
    return int(match[1][:_MOST_DIGITS] or 0), target


def _words(rel: str) -> list[str]:
    return rel[:_LONGEST_WORDS].lower().split()


def _tidy(ref: str) -> str:
    if "&" in ref:
        ref = unescaped(ref)
    return without_fragment(ref) if "#" in ref else ref
