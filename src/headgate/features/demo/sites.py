"""The sites of the demo web, each hard to crawl in its own way.

Every site is a function from a path to an answer, and says about how many bytes a crawl of it moves
over the line, by when it should be done, and what its server can give.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from hashlib import blake2b
from html import escape
from http import HTTPStatus
from typing import TypeAlias

__all__ = [
    "Answer",
    "DemoRequest",
    "DemoSite",
    "FailureMode",
    "Prose",
    "Response",
    "demo_sites",
    "document",
    "missing",
]


# A demo server's answer to a request: a response, or a failure.


_STYLE = (
    "body{font:17px/1.5 serif;max-width:40em;margin:2em auto;color:#222}nav a{margin-right:1em}"
)


@dataclass(frozen=True, slots=True)
class Response:
    """Status, headers beside the usual ones, and body."""

    body: bytes
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def etag(self) -> str:
        return f'"{blake2b(self.body, digest_size=8).hexdigest()}"'


class FailureMode(Enum):
    """Ways to fail that a client can distinguish."""

    RESET = "the connection is reset"
    BROKEN_CHUNKS = "the body's chunks make no sense"
    CUT_SHORT = "the connection closes inside the body"


@dataclass(frozen=True, slots=True)
class DemoRequest:
    """A GET, as far as answers depend on it."""

    path: str
    """With its query."""
    times: int = 0
    """How often it was requested before."""
    origin: str = "http://localhost"
    """Of the server."""


Answer: TypeAlias = Response | FailureMode
Answering: TypeAlias = Callable[[DemoRequest], Answer]


def document(
    title: str, links: Sequence[tuple[str, str]], *, size: int = 2000, key: object = ()
) -> Response:
    """A page with about ``size`` bytes of prose and links as (target, words)."""
    paragraphs = Prose(title, key).paragraphs(size)
    body = "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    nav = " ".join(f'<a href="{escape(target)}">{escape(words)}</a>' for target, words in links)
    page = (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{body}\n<nav>{nav}</nav></body>\n</html>\n"
    )
    return Response(page.encode())


def text(words: str, content_type: str = "text/plain; charset=utf-8") -> Response:
    return Response(words.encode(), content_type)


def moved(target: str) -> Response:
    return Response(b"moved\n", "text/plain", 302, (("Location", target),))


def missing() -> Response:
    page = document("Nothing here", [("/", "To the start")], size=200)
    return Response(page.body, status=404)


# The sites.


Shelf = dict[str, Answer]

_LIBRARY_DELAY = 1
_CALENDAR_YEARS = 3
"""That a careful crawler follows: this year and the two after it."""


@dataclass(frozen=True, slots=True)
class DemoSite:
    """A site before it has an address."""

    name: str
    about: str
    answering: Answering
    bytes: int
    """That a crawl moves over the line, about."""
    deadline: float | None = None
    max_rate: float | None = None
    latency: float = 0.0
    """Seconds before each answer."""
    server_rate: float | None = None
    """Bytes per second of all its connections together."""
    validators: bool = True
    """Whether the server answers conditional requests with 304."""


def demo_sites(seed: int, year: int) -> list[DemoSite]:
    """Seven sites; the same seed and year give the same bytes."""
    return [
        _news(seed),
        _photos(seed),
        _slow_archive(seed),
        _far_island(seed),
        _library(seed),
        _broken(seed),
        _calendar(seed, year),
    ]


def _news(seed: int) -> DemoSite:
    """Twelve sections with fifteen short stories each, and a sitemap."""
    shelf: Shelf = {}
    sections = [f"/section-{number:02d}/" for number in range(12)]
    for section in sections:
        stories = [f"{section}story-{number:02d}.html" for number in range(15)]
        shelf[section] = document(f"Stories of {section[1:-1]}", _titled(seed, stories), size=1500)
        for place, story in enumerate(stories):
            following = stories[(place + 1) % len(stories)]
            links = [("/", "Front page"), (section, "Section"), (following, "Next story")]
            shelf[story] = document(_title(seed, story), links, size=10_000, key=(seed, story))
    shelf["/"] = document("The Sluice Gazette", [(link, link[1:-1]) for link in sections])
    about = "many small pages from a fast server"
    size = _wire_bytes(shelf.values())
    return DemoSite("fast-news", about, partial(_gazette, shelf), size, 20.0)


def _gazette(shelf: Mapping[str, Answer], asked: DemoRequest) -> Answer:
    """Its sitemap needs whole URLs."""
    if asked.path == "/robots.txt":
        return text(f"User-agent: *\nAllow: /\n\nSitemap: {asked.origin}/sitemap.xml\n")
    if asked.path == "/sitemap.xml":
        return text(_sitemap(asked.origin + path for path in shelf), "application/xml")
    return shelf.get(asked.path) or missing()


def _photos(seed: int) -> DemoSite:
    """An album: few pages, large pictures."""
    pictures = [f"/pictures/{number:02d}.png" for number in range(22)]
    shelf: Shelf = {
        picture: Response(landscape(Prose(seed, picture)), "image/png") for picture in pictures
    }
    pages = [f"/page-{start // 4}.html" for start in range(0, len(pictures), 4)]
    for place, page in enumerate(pages):
        shown = pictures[4 * place : 4 * place + 4]
        links = [("/", "Album"), *((picture, f"Picture {picture[-6:-4]}") for picture in shown)]
        shelf[page] = document(f"Landscapes, sheet {place + 1}", links)
    shelf["/"] = document("An album of landscapes", [(page, page[1:-5]) for page in pages])
    about = "few pages, large pictures"
    return DemoSite("big-photos", about, _from(shelf), _wire_bytes(shelf.values()), 34.0)


def _slow_archive(seed: int) -> DemoSite:
    shelf = _chain(seed, "Annals of the canal", "annal", count=28, size=30_000)
    size = _wire_bytes(shelf.values())
    about = "a server that gives 40 KB/s and no more"
    rate = 40_000.0
    return DemoSite(
        "slow-archive", about, _from(shelf), size, 32.0, max_rate=rate, server_rate=rate
    )


def _far_island(seed: int) -> DemoSite:
    shelf = _chain(seed, "Letters from the island", "letter", count=50, size=14_000)
    about = "a server 400 ms away"
    size = _wire_bytes(shelf.values())
    return DemoSite("far-island", about, _from(shelf), size, 26.0, latency=0.4)


def _library(seed: int) -> DemoSite:
    """Has a Crawl-delay of a second, and forbidden folders."""
    size = 24_000
    shelf = _chain(seed, "Reading room", "shelf", count=12, size=size)
    taken = _wire_bytes(shelf.values())
    entry = document(
        "The reading room",
        [
            ("/shelf-00.html", "Enter"),
            ("/private/desk.html", "Desk"),
            ("/search?q=water", "Search"),
        ],
    )
    rules = (
        f"User-agent: *\nCrawl-delay: {_LIBRARY_DELAY}\nDisallow: /private/\nDisallow: /search\n"
    )
    shelf |= {
        "/": entry,
        "/robots.txt": text(rules),
        "/private/desk.html": document("The librarian's desk", []),
        "/search?q=water": document("Search", [("/search?q=water&page=2", "More")]),
    }
    about = "asks for a second between requests, and keeps rooms to itself"
    rate = size / _LIBRARY_DELAY
    return DemoSite("polite-library", about, _from(shelf), taken, 22.0, max_rate=rate)


def _broken(seed: int) -> DemoSite:
    """Good pages, and between them all kinds of failures."""
    good = _chain(seed, "Notes from the ruin", "note", count=24, size=8000)
    oddities: Shelf = {
        "/reset": FailureMode.RESET,
        "/chunks": FailureMode.BROKEN_CHUNKS,
        "/always-500": Response(b"out of order\n", "text/plain", 500),
        "/loop/one": moved("/loop/two"),
        "/loop/two": moved("/loop/one"),
        "/old-address": moved("/note-00.html"),
        "/packed.html": _packed(document("A packed page", [("/", "Home")], size=20_000)),
        "/latin.html": Response(b"<title>Caf\xe9</title><p>\xe9\xe8", "text/html; charset=utf-8"),
    }
    faulty = ["/gone-1", "/gone-2", "/second-try.html", "/busy.html", "/short.html", *oddities]
    links = [("/note-00.html", "Notes"), *((path, path[1:]) for path in faulty)]
    shelf: Shelf = {**good, **oddities, "/": document("A ruin by the river", links)}
    size = _wire_bytes(shelf.values())
    return DemoSite("broken", "everything that can go wrong", partial(_ruin, shelf), size)


def _ruin(shelf: Mapping[str, Answer], asked: DemoRequest) -> Answer:
    """Three pages recover: after an error, after Retry-After, after an aborted response."""
    page = document(f"Well again: {asked.path[1:]}", [("/", "Home")])
    if asked.path == "/second-try.html":
        return page if asked.times else Response(b"try again\n", "text/plain", 500)
    if asked.path == "/short.html":
        return page if asked.times else FailureMode.CUT_SHORT
    if asked.path == "/busy.html":
        wait = (("Retry-After", "1"),)
        return (
            page
            if asked.times
            else Response(b"busy\n", "text/plain", HTTPStatus.SERVICE_UNAVAILABLE, wait)
        )
    return shelf.get(asked.path) or missing()


def _calendar(seed: int, year: int) -> DemoSite:
    """A month links to the next one, for ever; a guide links ever deeper into itself."""
    start = document(
        "Dates and tides", [(f"/calendar/{year}/01/", "Calendar"), ("/guide/more/", "Guide")]
    )
    answering = partial(_tides, seed, start)
    followed = [answering(DemoRequest(f"/calendar/{year}/01/"))] * (12 * _CALENDAR_YEARS)
    about = "a calendar without end and a path that repeats itself"
    return DemoSite("endless-calendar", about, answering, _wire_bytes(followed), 24.0)


def _tides(seed: int, start: Response, asked: DemoRequest) -> Answer:
    if asked.path == "/":
        return start
    match asked.path.strip("/").split("/"):
        case ["calendar", year, month] if year.isdigit() and month.isdigit():
            return _month(seed, int(year), int(month))
        case ["guide", *more] if set(more) <= {"more"}:
            title = f"The tidal guide, {len(more)} deep"
            return document(title, [("more/", "More"), ("/", "Home")])
        case _:
            return missing()


def _month(seed: int, year: int, month: int) -> Response:
    after = f"/calendar/{year + month // 12:04d}/{month % 12 + 1:02d}/"
    title = f"Tides of {year:04d}-{month:02d}"
    return document(title, [("/", "Home"), (after, "Next month")], size=7000, key=seed)


def _chain(seed: int, title: str, word: str, *, count: int, size: int) -> Shelf:
    """Pages that are all linked from the first, and each to the next."""
    paths = [f"/{word}-{number:02d}.html" for number in range(count)]
    shelf: Shelf = {"/": document(title, _titled(seed, paths))}
    for place, path in enumerate(paths):
        links = [("/", title), (paths[(place + 1) % count], "Next")]
        shelf[path] = document(_title(seed, path), links, size=size, key=(seed, path))
    return shelf


def _from(shelf: Mapping[str, Answer]) -> Answering:
    return lambda asked: shelf.get(asked.path) or missing()


def _title(seed: int, path: str) -> str:
    return f"{Prose(seed, path).title()} ({path.rpartition('/')[2].partition('.')[0]})"


def _titled(seed: int, paths: Iterable[str]) -> list[tuple[str, str]]:
    return [(path, _title(seed, path)) for path in paths]


def _packed(page: Response) -> Response:
    return replace(
        page,
        body=gzip.compress(page.body, mtime=0),
        headers=(("Content-Encoding", "gzip"),),
    )


def _sitemap(urls: Iterable[str]) -> str:
    entries = "\n".join(f"<url><loc>{url}</loc></url>" for url in urls)
    schema = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="{schema}">\n{entries}\n</urlset>'
    )


def _wire_bytes(answers: Iterable[Answer]) -> int:
    """With what headers, requests and packets take beside the bodies."""
    sizes = [len(answer.body) for answer in answers if isinstance(answer, Response)]
    return sum(round(size * 1.05) + 900 for size in sizes)


_ADJECTIVES = (
    *("old", "quiet", "narrow", "wide", "northern", "hidden", "patient", "green", "wooden"),
    *("early", "careful", "broad", "silver", "distant", "muddy", "steady"),
)
_NOUNS = (
    *("river", "sluice", "mill", "keeper", "canal", "heron", "barge", "gate", "meadow", "bridge"),
    *("weir", "lantern", "ferry", "reed", "orchard", "engine", "gauge", "harbour", "levee", "pump"),
)
_VERBS = (
    *("feeds", "follows", "measures", "crosses", "guards", "turns", "fills", "remembers"),
    *("divides", "carries", "shelters", "slows"),
)
_PLACES = (
    *("before the flood", "below the weir", "at first light", "in the dry season"),
    *("behind the mill", "without a sound", "year after year", "where the water bends"),
)


class Prose:
    """Readable filler: the same key gives the same text, whatever was written before.

    Draws from a stream of bytes that depends on the key alone.
    """

    def __init__(self, *key: object) -> None:
        self._key = repr(key).encode()
        self._block = 0
        self._bytes = b""

    def number(self, below: int) -> int:
        """Evenly enough for prose."""
        if len(self._bytes) < 2:
            self._bytes = blake2b(self._key + self._block.to_bytes(4)).digest()
            self._block += 1
        drawn, self._bytes = self._bytes[:2], self._bytes[2:]
        return int.from_bytes(drawn) % below

    def title(self) -> str:
        """
        >>> Prose(1, "news").title() == Prose(1, "news").title()
        True
        """
        return f"The {self._pick(_ADJECTIVES)} {self._pick(_NOUNS)}"

    def paragraphs(self, size: int) -> list[str]:
        """Paragraphs of about so many characters in all."""
        paragraphs = []
        while size > 0:
            paragraph = " ".join(self._sentence() for _ in range(4 + self.number(4)))
            paragraphs.append(paragraph)
            size -= len(paragraph) + len("<p></p>\n")
        return paragraphs

    def _sentence(self) -> str:
        one, other = (f"the {self._pick(_ADJECTIVES)} {self._pick(_NOUNS)}" for _ in range(2))
        return f"{one[0].upper()}{one[1:]} {self._pick(_VERBS)} {other} {self._pick(_PLACES)}."

    def _pick(self, words: Sequence[str]) -> str:
        return words[self.number(len(words))]


_WIDTH, _HEIGHT = 256, 192


def landscape(prose: Prose) -> bytes:
    """A landscape as an uncompressed PNG, as large as a photograph.

    Hills before a sky; about 148 KB.
    """
    horizon = _ridge(prose)
    hill = bytes(40 + prose.number(90) for _ in range(3))
    rows = [_row(y, horizon, hill) for y in range(_HEIGHT)]
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 8, 2, 0, 0, 0)),
            _chunk(b"IDAT", zlib.compress(b"".join(rows), level=0)),
            _chunk(b"IEND", b""),
        )
    )


def _ridge(prose: Prose) -> list[int]:
    """The height of the hills at each column: straight slopes between a few peaks."""
    peaks = [_HEIGHT // 3 + prose.number(_HEIGHT // 3) for _ in range(9)]
    step = _WIDTH // 8
    return [
        peaks[x // step] + (peaks[x // step + 1] - peaks[x // step]) * (x % step) // step
        for x in range(_WIDTH)
    ]


def _row(y: int, horizon: list[int], hill: bytes) -> bytes:
    """One line of pixels behind the byte that says it is not filtered."""
    sky = bytes((120 + y // 2, 170 + y // 4, 235))
    return b"\0" + b"".join(hill if y > height else sky for height in horizon)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
