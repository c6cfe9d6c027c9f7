"""What a crawl of a site has to ask for, found by a program that shares nothing with Headgate.

Pages are parsed by Python's `html.parser`, feeds and sitemaps by `xml.etree`; references are
resolved by `whatwg-url`, which follows WHATWG's standard in the cases of its test data that are
http and https URLs (tests/simulation/test_whole_crawls.py). What counts as a link, what belongs to
a site and when two URLs are one is what docs/crawl.md, docs/frontier.md and docs/urls.md promise.

With a ``depth``, the depth of a page may depend on which of two links is followed first. So there
are two answers: what must be asked for in any order, and what may be in some.
"""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from html.parser import HTMLParser
from itertools import count
from urllib.parse import urlsplit
from xml.etree import ElementTree

import whatwg_url

__all__ = ["Closure", "Expected", "Get", "Reply", "Wanted", "expected", "normal", "raw"]

_BOOK = {"appendix", "chapter", "contents", "glossary", "index", "section", "subsection", "toc"}
_SEQUENCE = {"begin", "end", "first", "last", "next", "prev", "previous", "start"}
_PLACES = {"archives", "canonical", "child", "home", "parent", "sibling", "top", "up"}
_NAVIGATION = _BOOK | _SEQUENCE | _PLACES
_PARTS = {"apple-touch-icon", "icon", "manifest", "modulepreload", "preload", "stylesheet"}
_UNENDORSED = frozenset(("nofollow", "sponsored", "ugc"))
_EMBEDDING = frozenset(
    ["audio", "embed", "img", "input", "object", "script", "source", "track", "video"]
)
_REDIRECTS = frozenset((300, 301, 302, 303, 307, 308))
_MOST_HOPS = 10
_REFRESH = re.compile(
    r"\s*[\d.]+\s*[;,]\s*(?:url\s*=\s*)?(?:\"([^\"]*)|'([^']*)|(.*))", re.I | re.S
)
_STYLE_URL = re.compile(
    r"url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s)]*))\s*\)|@import\s+[\"']([^\"']*)"
)
_PDF_URL = re.compile(rb"/URI \(([^)]*)\)")
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_FORBIDDEN_IN_HOST = set("<>^|")
"""By the standard since 2021; `whatwg-url` is of 2018."""
_STRAY = re.compile("%(?![0-9A-Fa-f]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_LABELS = {
    "big5": ("big5hkscs", "big5hkscs"),
    "euc-jp": ("euc_jp", "euc_jp"),
    "euc-kr": ("cp949", "cp949"),
    "gbk": ("gb18030", "gb18030"),
    "iso-8859-2": ("iso8859-2", "iso8859-2"),
    "koi8-r": ("koi8-r", "koi8-r"),
    "shift_jis": ("cp932", "cp932"),
    "utf-8": ("utf-8", "utf-8"),
    "windows-1251": ("cp1251", "cp1251"),
    "windows-1252": ("cp1252", "cp1252"),
    "iso-8859-1": ("cp1252", "cp1252"),
}
"""Of the standard's labels, Python's codecs to read and to write them."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's answer."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


Get = Callable[[str], Reply]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A site, as its user writes it down."""

    name: str
    seeds: tuple[str, ...]
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    depth: int | None = None
    requisites: str = "none"
    focus: str = ""


@dataclass(slots=True)
class Expected:
    must: set[str]
    may: set[str]
    """With those."""
    source: dict[str, str]
    """Where each URL was met."""
    repeated: set[str]
    """What redirects to itself is tried again, since it may want its cookie."""
    files: set[str]
    """robots.txt and sitemaps."""
    belongs: Callable[[str], bool]
    """Whether a URL is in scope as a link."""


def expected(wanted: Wanted, get: Get, known: Iterable[str] = ()) -> Expected:
    """All that a crawl of a site asks for, robots.txt and sitemaps with it. It may follow links of
    pages that are known, too."""
    widest = Closure(wanted, get, linked=None)
    widest.follow(known)
    least = Closure(wanted, get, linked=widest.linked)
    least.follow()
    return Expected(
        least.asked,
        widest.asked | least.asked,
        source=widest.source,
        repeated=widest.repeated,
        files=widest.files,
        belongs=widest.scope.has,
    )


def normal(base: str | None, text: str, encoding: str = "utf-8") -> str | None:
    """The one name of where a reference leads; None: nowhere on the web."""
    try:
        href = whatwg_url.normalize_url(text, base, f"html-{encoding}")
    except (whatwg_url.UrlParserError, UnicodeError, ValueError):
        return None
    if not href.startswith(("http://", "https://")):
        return None
    href = href.partition("#")[0]
    scheme, _, rest = href.partition("://")
    user_and_host, _, rest = rest.partition("/")
    host = user_and_host.rpartition("@")[2]
    if set(host) & _FORBIDDEN_IN_HOST:
        return None
    path, mark, query = f"{scheme}://{host}/{rest}".partition("?")
    href = path.replace("^", "%5E") + mark + query  # the standard since 2023
    if _STRAY.search(href):
        return _ESCAPE.sub(lambda escape: escape[0].upper(), href)
    return _ESCAPE.sub(_one_way, href)


_normal = lru_cache(1 << 16)(normal)


def _one_way(escape: re.Match[str]) -> str:
    letter = chr(int(escape[0][1:], 16))
    return letter if _UNRESERVED.fullmatch(letter) else escape[0].upper()


_EUROS = {("gb18030", "€"): b"\x80", ("big5hkscs", "€"): b"\xa3\xe1"}
"""By the Encoding Standard's own indexes."""


def _html_codec(name: str) -> codecs.CodecInfo | None:
    """``html-shift_jis`` and so on: what cannot be encoded becomes a reference of HTML, as forms
    and links have it."""
    label = name.partition("html_")[2] or name.partition("html-")[2]
    if not label:
        return None
    codec = codecs.lookup(label)

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:  # noqa: ARG001
        octets = _EUROS.get((label, text))
        if octets is None:
            octets, _ = codec.encode(text, "xmlcharrefreplace")
            if _is_never_written(label, octets):
                octets = text.encode("ascii", "xmlcharrefreplace")
        return octets, len(text)

    return codecs.CodecInfo(encode, codec.decode, name=name)


def _is_never_written(label: str, octets: bytes) -> bool:
    """Of one letter: by the Encoding Standard, some encodings write less than they read."""
    match label:
        case "big5hkscs":
            return 0x80 < octets[0] < 0xA1
        case "gb18030":  # pages say GBK: two octets are the most
            return len(octets) > 2
        case "euc_jp":
            return octets[0] == 0x8F
        case _:
            return False


codecs.register(_html_codec)


class _Scope:
    """Which URLs belong to a site."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._hosts: set[str] = set()
        for seed in wanted.seeds:
            self.join(seed)

    def join(self, url: str) -> None:
        host = urlsplit(url).netloc
        self._hosts |= {host, host.removeprefix("www."), f"www.{host.removeprefix('www.')}"}

    def at_home(self, url: str) -> bool:
        return urlsplit(url).netloc in self._hosts

    def excluded(self, url: str) -> bool:
        return any(re.search(pattern, url) for pattern in self._wanted.exclude)

    def has(self, url: str) -> bool:
        return self.includes(url, self.at_home(url)) and not self.excluded(url)

    def includes(self, url: str, at_home: bool) -> bool:
        patterns = self._wanted.include
        if not patterns:
            return at_home
        known = patterns if at_home else [text for text in patterns if "://" in text]
        return any(re.search(pattern, url) for pattern in known)

    def needs(self, url: str) -> bool:
        """Whether something that a page shows is fetched for it."""
        which = self._wanted.requisites
        return (which == "page" or (which == "same-site" and self.at_home(url))) and not (
            self.excluded(url)
        )

    def lists(self, url: str) -> bool:
        """Whether a sitemap is read."""
        listed = self.at_home(url) or self.includes(url, at_home=False)
        return listed and not self.excluded(url)


@dataclass(order=True, slots=True)
class _Met:
    depth: int
    number: int
    url: str = field(compare=False)
    seed: bool = field(compare=False)
    """A seed, or where one redirects to."""
    needed: bool = field(compare=False)
    """A page shows it."""
    hops: int = field(compare=False)


class Closure:
    """Follows all links of one site."""

    def __init__(self, wanted: Wanted, get: Get, linked: set[str] | None) -> None:
        """``linked``: URLs that some link leads to; None: not known, so take the best order."""
        self.asked: set[str] = set()
        self.linked: set[str] = set()
        self.source: dict[str, str] = {}
        self.repeated: set[str] = set()
        self.links: dict[str, list[str]] = {}
        """Where those of each page lead, whether they are followed or not."""
        self.files: set[str] = set()
        self._wanted = wanted
        self._get = get
        self.scope = _Scope(wanted)
        self._others = linked
        self._numbers = count()
        self._waiting: list[_Met] = []
        self._done: set[tuple[str, bool]] = set()
        self._robots: dict[str, list[str]] = {}

    def follow(self, known: Iterable[str] = ()) -> None:
        for seed in self._wanted.seeds:
            self._meet(seed, 0, "", seed=True)
        for url in known:
            self._meet(url, 1, "what was known", needed=not self.scope.has(url))
        while self._waiting:
            met = heappop(self._waiting)
            if (met.url, met.needed) not in self._done:
                self._done.add((met.url, met.needed))
                self._visit(met)

    def _visit(self, met: _Met) -> None:
        if not self._may_ask(met.url):
            return
        self.asked.add(met.url)
        reply = self._get(met.url)
        location = reply.header("location")
        if reply.status in _REDIRECTS and location is not None:
            self._redirected(met, _normal(met.url, raw(location)))
            return
        if reply.status >= 400:
            return
        page = read(met.url, reply)
        self.links[met.url] = page.links
        links = [] if page.no_follow else [url for url in page.links if url not in page.unendorsed]
        for url in links:
            if self.scope.has(url):
                self.linked.add(url)
                self._meet(url, met.depth + 1, met.url)
        for url in page.needed:
            if self.scope.needs(url):
                self._meet(url, self._depth_if_linked(url, met), met.url, needed=True)

    def _depth_if_linked(self, url: str, met: _Met) -> int:
        """A link that comes first gives what it leads to its own depth, whoever meets it later."""
        late = self._others is not None and url in self._others
        return met.depth + (late and met.depth != self._wanted.depth)

    def _redirected(self, met: _Met, target: str | None) -> None:
        if target == met.url:
            self.repeated.add(met.url)
        if target is None or target == met.url or met.hops >= _MOST_HOPS:
            return
        hops = met.hops + 1
        if met.seed:
            if not self._wanted.include:
                self.scope.join(target)
            if self.scope.at_home(target) or self.scope.has(target):
                depth = self._depth_if_linked(target, met)
                self._meet(target, depth, met.url, seed=True, hops=hops)
            return
        first = self._others is None or met.url not in self._others
        if self.scope.has(target):
            late = self._others is not None and met.depth != self._wanted.depth
            self.linked.add(target)
            self._meet(target, met.depth + late, met.url, needed=met.needed, hops=hops)
        elif met.needed and first and self.scope.needs(target):
            self._meet(target, met.depth, met.url, needed=True, hops=hops)

    def _meet(
        self,
        url: str,
        depth: int,
        source: str,
        *,
        seed: bool = False,
        needed: bool = False,
        hops: int = 0,
    ) -> None:
        if self._wanted.depth is None or depth <= self._wanted.depth:
            self.source.setdefault(url, source)
            heappush(self._waiting, _Met(depth, next(self._numbers), url, seed, needed, hops))

    def _may_ask(self, url: str) -> bool:
        origin = "://".join(urlsplit(url)[:2])
        if origin not in self._robots:
            self._explore(origin)
        path = url.removeprefix(origin)
        return not any(path.startswith(prefix) for prefix in self._robots[origin])

    def _explore(self, origin: str) -> None:
        """Read robots.txt, which is of the simplest kind here, and the sitemaps."""
        robots = f"{origin}/robots.txt"
        self.asked.add(robots)
        self.files.add(robots)
        reply = self._get(robots)
        lines = reply.body.decode().splitlines() if reply.status == 200 else []
        fields = [(name.lower(), value.strip()) for name, _, value in (
            line.partition(":") for line in lines)]  # fmt: skip
        self._robots[origin] = [value for name, value in fields if name == "disallow" and value]
        named = [value for name, value in fields if name == "sitemap"] or ["/sitemap.xml"]
        if self._wanted.depth != 0:
            for place in named:
                self._read_sitemap(_normal(f"{origin}/", place), robots, nested=False)

    def _read_sitemap(self, url: str | None, source: str, *, nested: bool) -> None:
        if url is None or url in self.files or not self.scope.lists(url):
            return
        self.files.add(url)
        if not self._may_ask(url):
            return
        self.asked.add(url)
        self.source.setdefault(url, source)
        reply = self._get(url)
        location = reply.header("location")
        if reply.status in _REDIRECTS and location is not None:
            self._read_sitemap(_normal(url, raw(location)), url, nested=nested)
            return
        if reply.status >= 400:
            return
        limit = self._wanted.depth
        for target, is_sitemap in _listed(url, _body(reply)):
            if is_sitemap and not nested:
                self._read_sitemap(target, url, nested=True)
            elif not is_sitemap and self.scope.has(target):
                # Read late, it names pages whose depth was settled by a link before.
                depth = 1 if self._others is None or limit is None else limit
                self._meet(target, depth, url)


# What stands in a page.


@dataclass(slots=True)
class _Read:
    links: list[str] = field(default_factory=list)
    unendorsed: set[str] = field(default_factory=set)
    needed: list[str] = field(default_factory=list)
    no_follow: bool = False


def read(url: str, reply: Reply) -> _Read:
    kind = (reply.header("content-type") or "").lower()
    body = _body(reply)
    if kind.startswith(("text/html", "application/xhtml+xml")):
        page = _read_html(url, body, kind)
    elif kind.startswith(("application/rss+xml", "application/atom+xml")):
        page = _Read([target for target, _ in _listed(url, body)])
    elif kind.startswith("application/pdf"):
        found = (_normal(url, match.decode()) for match in _PDF_URL.findall(body))
        page = _Read([target for target in found if target is not None])
    elif kind.startswith("text/css"):
        page = _Read(needed=_joined(url, _styled(body.decode()), "utf-8"))
    else:
        page = _Read()
    refresh = _refresh(reply.header("refresh"))
    if refresh is not None:
        page.links += _joined(url, [raw(refresh)], "utf-8")
    robots = reply.header("x-robots-tag")
    page.no_follow = page.no_follow or (robots is not None and "nofollow" in robots)
    return page


def _read_html(url: str, body: bytes, kind: str) -> _Read:
    reading, writing = _codecs(body, kind)
    parser = _Page()
    parser.feed(body.decode(reading, "replace"))
    parser.close()
    base = url if parser.base is None else _normal(url, parser.base, writing) or url
    unendorsed = set(_joined(base, parser.unendorsed, writing))
    links = _joined(base, parser.links, writing)
    needed = _joined(base, parser.needed, writing)
    styled = _joined(base, [ref for text in parser.styles for ref in _styled(text)], "utf-8")
    return _Read(links, unendorsed, needed + styled, parser.no_follow)


def _joined(base: str, references: Iterable[str], encoding: str) -> list[str]:
    found = (_normal(base, reference, encoding) for reference in references)
    return list(dict.fromkeys(url for url in found if url is not None))


def _codecs(body: bytes, kind: str) -> tuple[str, str]:
    declared = re.search(r"charset=\"?([\w-]+)", kind)
    label = declared[1] if declared else None
    if label is None:
        meta = re.search(rb"<meta[^>]*charset=[\"']?([\w-]+)", body[:1024], re.I)
        label = meta[1].decode().lower() if meta else None
    if label is not None:
        return _LABELS[label]
    try:
        body.decode()
    except UnicodeDecodeError:
        return _LABELS["windows-1252"]
    return _LABELS["utf-8"]


def _body(reply: Reply) -> bytes:
    return gzip.decompress(reply.body) if reply.header("content-encoding") else reply.body


def raw(value: str) -> str:
    """A header's octets are UTF-8 nearly always."""
    return value.encode("latin-1").decode()


def _refresh(value: str | None) -> str | None:
    match = _REFRESH.match(value or "")
    return None if match is None else next((part for part in match.groups() if part), None)


def _styled(sheet: str) -> Iterator[str]:
    for match in _STYLE_URL.findall(re.sub(r"/\*.*?\*/", " ", sheet, flags=re.S)):
        reference = next((part for part in match if part), "")
        if reference and not reference.startswith(("data:", "#")):
            yield reference


def _listed(url: str, body: bytes) -> list[tuple[str, bool]]:
    """The pages and sitemaps of a sitemap or feed; whether it is a sitemap."""
    if not body.lstrip().startswith(b"<"):
        lines = (normal(None, line) for line in body.decode().splitlines())
        return [(line, False) for line in lines if line is not None]
    found: list[tuple[str, bool]] = []
    for entry in ElementTree.fromstring(body).iter():
        name = entry.tag.rpartition("}")[2]
        if name in ("url", "sitemap"):
            texts = [(part.text or "").strip() for part in entry]
        elif name == "item":
            texts = [(part.text or "").strip() for part in entry if part.tag == "link"]
        elif name == "entry":
            texts = [
                part.get("href", "") for part in entry if part.get("rel") in (None, "alternate")
            ]
        else:
            continue
        for text in filter(None, texts):
            target = _normal(url, text)
            if target is not None:
                found.append((target, name == "sitemap"))
    return found


class _Page(HTMLParser):
    """Collects the references of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.base: str | None = None
        self.no_follow = False
        self.links: dict[str, None] = {}
        self.unendorsed: dict[str, None] = {}
        self.needed: dict[str, None] = {}
        self.styles: list[str] = []
        self._refreshes = False
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {key: value or "" for key, value in reversed(attrs)}
        rels = frozenset(values.get("rel", "").lower().split())
        if "style" in values:
            self.styles.append(values["style"])
        if tag in ("a", "area"):
            self._link(values.get("href", values.get("xlink:href")), rels)
        elif tag in ("frame", "iframe"):
            self._link(values.get("src") or None)
        elif tag == "link" and values.get("href"):
            self._relation(values, rels)
        elif tag == "base" and self.base is None:
            self.base = values.get("href")
        elif tag == "meta":
            self._meta(values)
        elif tag in _EMBEDDING:
            for key in ("src", "data", "poster"):
                if values.get(key):
                    self.needed[values[key]] = None
            self.needed.update(dict.fromkeys(_candidates(values.get("srcset", ""))))
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 - no style has tags in it
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.styles.append(data)

    def _link(self, reference: str | None, rels: frozenset[str] = frozenset()) -> None:
        if reference is not None:
            self.links[reference] = None
            if rels & _UNENDORSED:
                self.unendorsed[reference] = None

    def _relation(self, values: dict[str, str], rels: frozenset[str]) -> None:
        elsewhere = "alternate" in rels and ("hreflang" in values or "media" in values)
        if rels & _PARTS:
            self.needed[values["href"]] = None
        elif elsewhere or rels & _NAVIGATION:
            self._link(values["href"], rels)

    def _meta(self, values: dict[str, str]) -> None:
        content = values.get("content", "")
        if values.get("name", "").lower() == "robots":
            words = {word.strip().lower() for word in content.split(",")}
            self.no_follow = self.no_follow or bool(words & {"nofollow", "none"})
        elif values.get("http-equiv", "").lower() == "refresh" and not self._refreshes:
            target = _refresh(content)
            self._refreshes = target is not None
            self._link(target)


def _candidates(srcset: str) -> Iterator[str]:
    """As the HTML standard parses it."""
    blanks, place = " \t\n\f\r", 0
    while place < len(srcset):
        while place < len(srcset) and srcset[place] in blanks + ",":
            place += 1
        start = place
        while place < len(srcset) and srcset[place] not in blanks:
            place += 1
        url = srcset[start:place]
        if url.endswith(","):
            url = url.rstrip(",")
        else:
            depth = 0
            while place < len(srcset) and (srcset[place] != "," or depth):
                depth += {"(": 1, ")": -1}.get(srcset[place], 0)
                place += 1
        if url:
            yield url
