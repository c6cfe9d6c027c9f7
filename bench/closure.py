"""The pages that can be reached by links, found by a program that shares nothing with Headgate.

It is written with Python's `html.parser`, `urllib.parse`, `urllib.robotparser` and, for pages that
come over HTTP, `http.client`, one connection, one page after the other. What counts as a link, and
when two URLs are one, is what docs/crawl.md and docs/urls.md promise:

- links: ``a`` and ``area`` href, ``frame`` and ``iframe`` src, ``meta`` refresh, and ``link`` href
  where its ``rel`` leads to other pages (next, contents, canonical ...) or to the same page in
  another language or for another medium;
- a link is not followed when a mention of it in its page says nofollow, ugc or sponsored, nor any
  when the page's ``meta`` robots says so;
- only the seed's host and port; robots.txt is obeyed; redirects are followed and are no pages;
- URLs are joined by RFC 3986, ``base`` honoured, blanks around them and line breaks in them
  dropped, the fragment dropped, what may not stand in a URL escaped as UTF-8, escapes in capital
  letters and none for unreserved characters. The query stays, and so does ``index.html``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from http.client import HTTPConnection
from urllib.parse import quote, urldefrag, urljoin, urlsplit, urlunsplit
from urllib.robotparser import RobotFileParser

__all__ = ["Closure", "Get", "closure", "over_http"]

_BOOK = {
    "appendix",
    "archives",
    "chapter",
    "contents",
    "glossary",
    "index",
    "section",
    "subsection",
}
_PLACES = {"canonical", "child", "home", "parent", "sibling", "toc", "top", "up"}
_SEQUENCE = {"begin", "end", "first", "last", "next", "prev", "previous", "start"}
_NAVIGATION = _BOOK | _PLACES | _SEQUENCE
_UNENDORSED = {"nofollow", "sponsored", "ugc"}
_REFRESH = re.compile(r"\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_MAY_STAND = "/:;=@!$&'()*+,%~-._?[]|^`{}"
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(slots=True)
class Closure:
    """URLs by what became of them."""

    pages: set[str] = field(default_factory=set)
    """Answered with 200."""
    others: dict[str, int] = field(default_factory=dict)
    """Answered otherwise: the status."""
    source: dict[str, str] = field(default_factory=dict)
    """Where each URL was met first."""


Get = Callable[[str], tuple[int, dict[str, str], bytes]]
"""Of a URL: status, header fields by name in small letters, body."""


@contextmanager
def over_http(seed: str) -> Iterator[Get]:
    """From the seed's server."""
    with closing(HTTPConnection(urlsplit(seed).netloc, timeout=30)) as connection:
        yield partial(_get, connection)


def closure(seed: str, get: Get) -> Closure:
    """All that the seed leads to on its host and port."""
    host = urlsplit(seed).netloc
    robots = RobotFileParser()
    status, _, body = get(f"http://{host}/robots.txt")
    robots.parse(body.decode().splitlines() if status == 200 else [])
    found = Closure(source={seed: ""})
    waiting = deque([seed])
    while waiting:
        url = waiting.popleft()
        if not robots.can_fetch("headgate", url):
            continue
        status, headers, body = get(url)
        if status == 200:
            found.pages.add(url)
        else:
            found.others[url] = status
        for target in _targets(url, status, headers, body):
            if urlsplit(target).netloc == host and target not in found.source:
                found.source[target] = url
                waiting.append(target)
    return found


def normal(base: str, reference: str) -> str:
    """The one text of where a reference leads."""
    bare = re.sub(r"[\t\r\n]", "", reference.strip(" \t\r\n\f"))
    parts = urlsplit(urldefrag(urljoin(base, bare))[0])
    path = quote(parts.path or "/", safe=_MAY_STAND.translate({ord(c): None for c in "?^`{}"}))
    query = quote(parts.query, safe=_MAY_STAND)
    url = urlunsplit((parts.scheme, parts.netloc.lower(), path, query, ""))
    return _ESCAPE.sub(_one_way, url)


def _one_way(escape: re.Match[str]) -> str:
    letter = chr(int(escape[0][1:], 16))
    return letter if _UNRESERVED.fullmatch(letter) else escape[0].upper()


def _get(connection: HTTPConnection, url: str) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(url)
    connection.request("GET", urlunsplit(("", "", parts.path, parts.query, "")))
    response = connection.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return response.status, headers, response.read()


def _targets(url: str, status: int, headers: dict[str, str], body: bytes) -> list[str]:
    if status in _REDIRECTS:
        return [normal(url, headers.get("location", ""))]
    if status != 200 or not headers.get("content-type", "").startswith("text/html"):
        return []
    page = _Page()
    page.feed(body.decode("utf-8", "replace"))
    page.close()
    base = url if page.base is None else urljoin(url, page.base)
    followed = () if page.no_follow else page.followed.keys() - page.unendorsed
    return [normal(base, reference) for reference in page.followed if reference in followed]


def _leads_on(rels: set[str], values: dict[str, str]) -> bool:
    """Whether a ``link`` element leads to another page."""
    elsewhere = "alternate" in rels and ("hreflang" in values or "media" in values)
    return elsewhere or bool(rels & _NAVIGATION)


class _Page(HTMLParser):
    """Collects the references of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.no_follow = False
        self.followed: dict[str, None] = {}
        self.unendorsed: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in reversed(attrs)}
        rels = set(values.get("rel", "").lower().split())
        if rels & _UNENDORSED and "href" in values:
            self.unendorsed.add(values["href"])
        match tag:
            case "a" | "area" if "href" in values:
                self.followed[values["href"]] = None
            case "link" if values.get("href") and _leads_on(rels, values):
                self.followed[values["href"]] = None
            case "frame" | "iframe" if values.get("src"):
                self.followed[values["src"]] = None
            case "base" if self.base is None:
                self.base = values.get("href")
            case "meta":
                self._meta(values)

    def _meta(self, values: dict[str, str]) -> None:
        content = values.get("content", "")
        if values.get("name", "").lower() in ("robots", "headgate"):
            words = {word.strip().lower() for word in content.split(",")}
            self.no_follow = self.no_follow or bool(words & {"nofollow", "none"})
        elif values.get("http-equiv", "").lower() == "refresh" and (to := _REFRESH.match(content)):
            self.followed[to[1]] = None
