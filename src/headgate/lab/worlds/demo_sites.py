"""The sites of the demo web, each hard to crawl in its own way.

Every site is a function from a path to an answer, and says about how many bytes a crawl of it moves
over the line, by when it should be done, and what its server can give.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from headgate.lab.worlds.demo_answers import (
    Answer,
    Answering,
    Asked,
    Failing,
    Response,
    document,
    missing,
    moved,
    text,
)
from headgate.lab.worlds.demo_picture import landscape
from headgate.lab.worlds.demo_prose import Prose

__all__ = ["DemoSite", "demo_sites"]

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


def _gazette(shelf: Mapping[str, Answer], asked: Asked) -> Answer:
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
        "/reset": Failing.RESET,
        "/chunks": Failing.BROKEN_CHUNKS,
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


def _ruin(shelf: Mapping[str, Answer], asked: Asked) -> Answer:
    """Three pages recover: after an error, after Retry-After, after an aborted response."""
    page = document(f"Well again: {asked.path[1:]}", [("/", "Home")])
    if asked.path == "/second-try.html":
        return page if asked.times else Response(b"try again\n", "text/plain", 500)
    if asked.path == "/short.html":
        return page if asked.times else Failing.CUT_SHORT
    if asked.path == "/busy.html":
        wait = (("Retry-After", "1"),)
        return page if asked.times else Response(b"busy\n", "text/plain", 503, wait)
    return shelf.get(asked.path) or missing()


def _calendar(seed: int, year: int) -> DemoSite:
    """A month links to the next one, for ever; a guide links ever deeper into itself."""
    start = document(
        "Dates and tides", [(f"/calendar/{year}/01/", "Calendar"), ("/guide/more/", "Guide")]
    )
    answering = partial(_tides, seed, start)
    followed = [answering(Asked(f"/calendar/{year}/01/"))] * (12 * _CALENDAR_YEARS)
    about = "a calendar without end and a path that repeats itself"
    return DemoSite("endless-calendar", about, answering, _wire_bytes(followed), 24.0)


def _tides(seed: int, start: Response, asked: Asked) -> Answer:
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
