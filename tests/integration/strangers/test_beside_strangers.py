"""Strangers cost their own site: an honest one beside them keeps its rate, and Ctrl-C is heard.

Each case is a server made to be dear: by what must be parsed, matched, joined, unpacked or held.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.integration.fetching.scripted import Wire, page

from headgate.reading.urls import MAX_LENGTH

from .beside import HTML, Script, crawl_beside, paths

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
GZIP = b"Content-Encoding: gzip"
MANY = 1_500
WITHOUT_COMPILED = "import sys; sys.modules['headgate.reading._tags'] = None\n"
FIRST_REQUEST_SECONDS = 15.0
"""A few for each that keeps us waiting before; robots.txt itself is waited for half a minute."""


def links(number: int, name: Callable[[int], bytes]) -> bytes:
    return b"".join(b'<a href="%b">x</a>' % name(k) for k in range(number))


FRONT = links(MANY, lambda k: b"/%d" % k)


def everywhere(answer: Callable[[Wire], object] | bytes) -> Script:
    """The same behind each link of a front page."""

    async def script(wire: Wire) -> None:
        while request := await wire.said():
            path = request.split()[1]
            if path == b"/":
                await wire.say(page(FRONT, HTML))
            elif path in (b"/robots.txt", b"/sitemap.xml"):
                await wire.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            elif isinstance(answer, bytes):
                await wire.say(answer)
            else:
                await answer(wire)  # type: ignore[misc]

    return script


def pours(start: bytes, piece: bytes) -> Script:
    """Some megabytes a second, lest the server itself take a processor."""

    async def answer(wire: Wire) -> None:
        await wire.say(start)
        while True:
            await wire.say(piece, pause=0.03)

    return everywhere(answer)


def robots(rules: bytes, name: Callable[[int], bytes]) -> Script:
    """Half a megabyte of rules, and pages with links that all of them must be held against."""
    text = (b"User-agent: *\n" + rules)[:499_000]
    return paths({"/robots.txt": lambda wire: wire.say(page(text))}, links(MANY, name))


def rule(number: int) -> bytes:
    """One of its own for each number, of pieces that `far` has all, but not the last at its end."""
    pieces = [b"ba" if bit == "1" else b"ab" for bit in f"{number + 2:b}"[1:]]
    return b"Disallow: /*%b*aa$\n" % b"*".join(pieces)


def far(length: int) -> Callable[[int], bytes]:
    """URLs that are gone through nearly to their ends for each such rule."""
    return lambda k: b"/%daa" % k + b"b" * (length - 100) + b"ab" * 40


def sitemaps(answer: bytes) -> Script:
    names = [f"/{k}.xml" for k in range(50)]
    text = "".join(f"Sitemap: {name}\n" for name in names).encode()
    answers = dict.fromkeys(names, lambda wire: wire.say(answer))
    return paths({"/robots.txt": lambda wire: wire.say(page(text)), **answers})


def ever_new() -> Script:
    """Links that are written in ever other ways, and lead to pages that nobody has seen."""
    numbers = count()

    async def answer(wire: Wire) -> None:
        at = next(numbers)
        written = b"./%d/../%%4%d;s=%d?q=%d&%%71=%d#%d"
        body = links(MANY, lambda k: written % (k, at % 10, at, at * k, k, k))
        await wire.say(page(body, HTML), pause=0.05)

    return everywhere(answer)


def hops() -> Script:
    numbers = count()
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /hop/%d\r\n\r\n"
    return everywhere(lambda wire: wire.say(head % next(numbers)))


def drips() -> Script:
    """200 bytes a second, on as many connections as it gets."""

    async def answer(wire: Wire) -> None:
        await wire.say(OK + b"Content-Length: 100000\r\n\r\n")
        while True:
            await wire.say(b"x" * 20, pause=0.1)

    return everywhere(answer)


def lines(form: bytes) -> bytes:
    """A page with nearly as many header lines as it may have."""
    return page(b"x" * 300, HTML, *[form % k for k in range(240)])


def based(length: int, number: int) -> bytes:
    head = b"<base href='/" + b"b" * length + b"/'>"
    body = gzip.compress(head + links(number, lambda k: b"%d" % k), 6)
    return page(body, HTML, GZIP)


def dripping_robots() -> Script:
    """Four bytes a second, of rules that would take hours to come."""

    async def drip(wire: Wire) -> None:
        await wire.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            await wire.say(b"#", pause=0.25)

    return paths({"/robots.txt": drip})


RULES = b"".join(map(rule, range(10_000)))
EXTENSION = b"1;" + b"x" * 60_000 + b"\r\na\r\n"
BOMB = gzip.compress(b"<urlset>" + b"<url><loc>/aaaaaaaaaaaaaaaa</loc></url>" * 1_200_000, 9)
PARAGRAPHS = page(gzip.compress(b"<p>" * 5_333_000, 9), HTML, GZIP)
METAS = page(gzip.compress(b"<meta name=x>" * 1_230_000, 9), HTML, GZIP)
CASES: dict[str, Callable[[], Script]] = {
    "rules of wildcards": lambda: robots(RULES, far(1_900)),
    "rules and 60 KB of URL": lambda: robots(RULES, far(60_000)),
    "a base of 2 KB": lambda: everywhere(based(1_900, 100_000)),
    "chunks of two bytes": lambda: pours(CHUNKED, b"2\r\n<p\r\n" * 8192),
    "years in URLs": lambda: everywhere(
        page(links(60_000, lambda k: b"/2031-" * 9 + b"%d" % k), HTML)
    ),
    "bodies of 16 MB": lambda: everywhere(page(b"x " * 7_999_000, HTML)),
    "gzip without end": lambda: everywhere(page(gzip.compress(b"") * 500_000, HTML, GZIP)),
    "16 MB of paragraphs": lambda: everywhere(PARAGRAPHS),
    "16 MB of metas": lambda: everywhere(METAS),
    "sitemaps that are bombs": lambda: sitemaps(page(BOMB, GZIP)),
    "URLs ever new": ever_new,
}  # fmt: skip
CROWD: dict[str, Script] = {
    "hops": hops(),
    "drips": drips(),
    "cookies": everywhere(lines(b"Set-Cookie: c%%d=%b; Domain=example.org" % (b"v" * 180))),
    "lines": everywhere(lines(b"X-%%d: %b" % (b"v" * 230))),
    "empty-lines": everywhere(lines(b"a%d:")),
    "etags": everywhere(page(b"x" * 300, HTML, b'ETag: "%b"' % (b"e" * 60_000))),
    "rels": everywhere(page(links(1_000, lambda k: b'/%d" rel="%b' % (k, b"a " * 240)), HTML)),
    "later": everywhere(b"HTTP/1.1 503 Busy\r\nRetry-After: 999999999\r\n\r\n"),
    "delay": robots(b"Crawl-delay: 1e308\n", lambda k: b"/%d" % k),
}


@pytest.mark.parametrize("case", CASES)
def test_an_honest_site_keeps_its_rate(case: str, tmp_path: Path) -> None:
    crawl_beside(tmp_path, {"stranger": CASES[case]()}, 2.5).check()


def test_a_long_base_makes_no_long_urls(tmp_path: Path) -> None:
    """10,000 links of 60 KB each would be 600 MB; what they led to would be asked for."""
    front, asked = based(60_000, 10_000), list[int]()

    async def script(wire: Wire) -> None:
        while request := await wire.said():
            path = request.split()[1]
            asked.append(len(path))
            await wire.say(front if path == b"/" else page(b"x", HTML))

    came = crawl_beside(tmp_path, {"stranger": script}, 4.0)
    came.check()
    assert len(asked) > len(("robots.txt", "/", "sitemap.xml"))
    assert max(asked) <= MAX_LENGTH


def test_chunk_extensions_are_not_taken_in(tmp_path: Path) -> None:
    """120 MB on the line for 2 KB of body; none of it comes to an end by itself."""
    cut_off: list[float] = []

    async def answer(wire: Wire) -> None:
        try:
            await wire.say(CHUNKED)
            while True:
                await wire.say(EXTENSION, pause=0.03)
        except ConnectionError:
            cut_off.append(time.monotonic())
            raise

    came = crawl_beside(tmp_path, {"stranger": everywhere(answer)}, 2.5)
    came.check()
    assert cut_off
    assert cut_off[0] < came.interrupted


def test_nor_does_it_wait_where_there_is_no_compiled_pass(tmp_path: Path) -> None:
    """One page takes seconds to read there, in a process of its own."""
    dear = {"dear": CASES["16 MB of paragraphs"]()}
    crawl_beside(tmp_path, dear, 4.0, preamble=WITHOUT_COMPILED).check(1.0)


def test_a_crowd_of_strangers(tmp_path: Path) -> None:
    crawl_beside(tmp_path, CROWD, 3.0).check()


def test_robots_txt_that_drips_keeps_no_crawler_from_others(tmp_path: Path) -> None:
    """Three such sites come before the honest one, and one at a time may be crawled."""
    strangers = {f"dripping-{number}": dripping_robots() for number in range(3)}
    came = crawl_beside(tmp_path, strangers, 2.5, crawlers=1)
    came.check()
    assert came.waited < FIRST_REQUEST_SECONDS
    assert all(came.sites[name]["pages"] == 0 for name in strangers)
    assert came.sites["honest"]["pages"] > 0
