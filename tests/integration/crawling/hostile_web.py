"""A web of servers that misbehave, one port for each misbehaviour.

Every server has a good front page, which links to a good page and to ``/bad``; what happens there,
or in place of robots.txt or a sitemap, is the case. A case says which pages and which errors a
crawl of that server must end with, so that the table is the specification.
"""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate

from tests.integration.fetching.scripted import Server, Wire, page, serving

__all__ = ["CASES", "Answer", "Case", "bad", "gives", "redirects", "robots", "says", "web_of"]

Answer = Callable[[Wire], Awaitable[object]]

HTML = b"Content-Type: text/html"
FRONT = b'<title>front</title><a href="/good">good</a><a href="/bad">bad</a>'
GOOD = b"<title>good</title>" + b"." * 500


@dataclass(frozen=True)
class Case:
    """What one server does, and what a crawl of it must come to."""

    paths: Mapping[str, Answer]
    errors: Mapping[str, int] = field(default_factory=dict)
    pages: tuple[str, ...] = ("/", "/good")
    """Those stored with status 200."""
    given_up: str = ""
    """What must be in the reason for which the host was given up."""
    asked: list[bytes] = field(default_factory=list)
    """The requests' heads, as they came."""


def says(*pieces: bytes, pause: float = 0.0, hang: bool = False, reset: bool = False) -> Answer:
    """Answers with these bytes; then closes, resets, or waits until the client has gone."""

    async def answer(wire: Wire) -> None:
        await wire.say(*pieces, pause=pause)
        if hang:
            await wire.reader.read()
        if reset:
            wire.reset()
        wire.writer.close()

    return answer


def pours(start: bytes, piece: bytes) -> Answer:
    """Never ends."""

    async def answer(wire: Wire) -> None:
        await wire.say(start)
        await wire.pour(piece)

    return answer


def gives(body: bytes, *lines: bytes) -> Answer:
    """A proper response, after which the connection stays."""
    return lambda wire: wire.say(page(body, *lines))


def redirects(target: bytes) -> Answer:
    return lambda wire: wire.say(
        b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: %b\r\n\r\n" % target
    )


def bad(answer: Answer, *, error: str = "", stored: bool = False) -> Case:
    """A case whose misbehaviour is at /bad."""
    pages = ("/", "/bad", "/good") if stored else ("/", "/good")
    return Case({"/bad": answer}, {error: 1} if error else {}, pages)


def seed(answer: Answer, errors: Mapping[str, int], given_up: str = "") -> Case:
    """A case whose front page is the misbehaviour, so that nothing is stored."""
    return Case({"/": answer}, errors, (), given_up)


def robots(answer: Answer, pages: tuple[str, ...], errors: int = 0, given_up: str = "") -> Case:
    """A case of robots.txt; /bad is a 404 there."""
    return Case({"/robots.txt": answer}, {"404": errors} if errors else {}, pages, given_up)


def sitemap(body: bytes, *lines: bytes) -> Case:
    """A sitemap that lists /listed, or seems to."""
    paths = {
        "/robots.txt": gives(b"Sitemap: /sitemap.xml\nUser-agent: *\nDisallow: /bad"),
        "/sitemap.xml": gives(body, *lines),
        "/listed": gives(b"listed", HTML),
    }
    return Case(paths, {}, ("/", "/good"))


OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
LINKS = b"".join(b'<a href="http://elsewhere.test/%d">x</a>' % k for k in range(100_000))
BOMB = gzip.compress(gzip.compress(bytes(400_000_000), 1), 9)
LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha">%b]><urlset><url><loc>&l9;/listed</loc></url></urlset>' % (
    b"".join(b'<!ENTITY l%d "%b">' % (k, b"&l%d;" % (k - 1) * 10) for k in range(1, 10))
)
RULES = b"User-agent: *\nDisallow: /good\n"

CASES: dict[str, Case] = {
    "no answer": bad(says(hang=True), error="first-byte-timeout"),
    "head that stalls": bad(says(OK, hang=True), error="stalled"),
    "head byte by byte": bad(says(*[b"%c" % c for c in OK], pause=0.2), error="too-slow"),
    "slow body": bad(says(OK + b"\r\n", *[b"x"] * 50, pause=0.2), stored=True),
    "body that stalls": bad(says(OK + b"Content-Length: 9\r\n\r\nx", hang=True), error="stalled"),
    "endless body": bad(pours(OK + b"\r\n", b"x" * 65536), stored=True),
    "endless chunks": bad(pours(CHUNKED, b"10000\r\n" + b"x" * 65536 + b"\r\n"), stored=True),
    "endless headers": bad(pours(OK, b"X-More: more\r\n" * 100), error="bad-http"),
    "endless header line": bad(pours(OK + b"X: ", b"x" * 65536), error="bad-http"),
    "endless 1xx": bad(pours(b"", b"HTTP/1.1 103 Hm\r\n\r\n" * 99), error="bad-http"),
    "broken chunks": bad(says(CHUNKED + b"5\r\nhello\r\nzz\r\n"), error="bad-http"),
    "length too long": bad(says(OK + b"Content-Length: 99\r\n\r\nshort"), stored=True),
    "length too short": bad(says(OK + b"Content-Length: 5\r\n\r\nshort, or not"), stored=True),
    "negative length": bad(says(OK + b"Content-Length: -1\r\n\r\nx"), stored=True),
    "two lengths": bad(
        says(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), error="bad-http"
    ),
    "early close": bad(says(), error="closed"),
    "reset": bad(says(OK + b"Content-Length: 9\r\n\r\nx", pause=0.1, reset=True), stored=True),
    "garbage": bad(says(b"\x16\x03\x01\0\0\0 not HTTP at all\r\n\r\n"), error="bad-http"),
    "gzip bomb": bad(gives(BOMB, HTML, b"Content-Encoding: gzip, gzip"), stored=True),
    "gzip that is none": bad(gives(b"hello", HTML, b"Content-Encoding: gzip"), stored=True),
    "gzip cut off": bad(gives(BOMB[:99], HTML, b"Content-Encoding: gzip"), stored=True),
    "wrong charset": bad(
        gives(b"<title>\xff\xfe\x80</title>", b"Content-Type: text/html; charset=utf-7,x"),
        stored=True,
    ),
    "utf-16 unmarked": bad(
        gives("<title>t</title><a href=/good>".encode("utf-16-le"), HTML), stored=True
    ),
    "NUL bytes": bad(gives(b"<title>a\0b</title>\0<a href='\0/good'>" * 99, HTML), stored=True),
    "NUL in a header": bad(says(OK + b"X: a\0b\r\n\r\n"), error="bad-http"),
    "10 MB page": bad(gives(b"<a href=/good>x</a>" * 550_000, HTML), stored=True),
    "100,000 links": bad(gives(LINKS, HTML), stored=True),
    "nested tags": bad(gives(b"<div><a href=/good>" * 200_000, HTML), stored=True),
    "a million bases": bad(gives(b"<base href=//x>" * 1_000_000, HTML), stored=True),
    "a huge link": bad(gives(b"<a href='/%b'>x</a>" % (b"x" * 1_000_000), HTML), stored=True),
    "picture called HTML": bad(gives(b"\x89PNG\r\n\x1a\n" + bytes(9999), HTML), stored=True),
    "redirect loop": Case({"/bad": redirects(b"/b"), "/b": redirects(b"/bad")}),
    "redirect to itself": bad(redirects(b"/bad")),
    "redirects without end": bad(
        lambda wire: wire.say(
            b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: ?%d\r\n\r\n" % id(wire)
        )
    ),
    "redirect to a file": bad(redirects(b"file:///etc/passwd")),
    "redirect nowhere": bad(redirects(b"http://[")),
    "redirect with controls": bad(redirects(b"/x\x0b\x7f"), error="404"),
    "redirect with a tab": bad(redirects(b"/go\tod")),
    "seed to a file": seed(redirects(b"file:///etc/passwd"), {}),
    "seed to a private address": seed(
        redirects(b"http://10.0.0.1/"), {"forbidden-address": 1}, "private address"
    ),
    "seed to another loopback": seed(
        redirects(b"http://127.0.0.2/"), {"forbidden-address": 1}, "private address"
    ),
    "seed to a name of loopback": seed(
        redirects(b"http://localhost/"), {"forbidden-address": 1}, "private address"
    ),
    "seed to the metadata service": seed(
        redirects(b"http://169.254.169.254/latest/"), {"forbidden-address": 1}, "private address"
    ),
    "seed to a dead name": seed(redirects(b"http://nowhere.onion/"), {"dns": 1}, "robots.txt"),
    "robots of 10 MB": robots(gives(RULES + b"# more\n" * 1_500_000), ("/",), 1),
    "robots without end": robots(pours(OK + b"\r\n" + RULES, b"# more\n" * 999), ("/",), 1),
    "robots in HTML": robots(gives(b"<html><body>not found", HTML), ("/", "/good"), 1),
    "robots 503": Case(
        {"/robots.txt": says(b"HTTP/1.1 503 Busy\r\n\r\n")}, {"503": 1}, (), "robots.txt"
    ),
    "robots 403": robots(says(b"HTTP/1.1 403 No\r\n\r\n"), ("/", "/good"), 1),
    "robots in a loop": robots(redirects(b"/robots.txt"), ("/", "/good"), 1),
    "robots that stalls": Case(
        {"/robots.txt": says(OK, hang=True)}, {"stalled": 1}, (), "robots.txt"
    ),
    "sitemap of laughs": sitemap(LAUGHS),
    "sitemap with a file": sitemap(
        b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><urlset><loc>/listed&a;</loc>'
    ),
    "sitemap bomb": sitemap(BOMB, b"Content-Encoding: gzip"),
    "sitemap of itself": sitemap(
        b"<sitemapindex><sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>"
    ),
    "sitemap of others": sitemap(
        b"<urlset>%b</urlset>"
        % b"".join(b"<url><loc>http://x%d.test/</loc></url>" % k for k in range(60_000))
    ),
    "10,000 cookies": bad(
        says(OK + b"Content-Length: 0\r\n" + b"Set-Cookie: a=b\r\n" * 4000 + b"\r\n"),
        error="bad-http",
    ),
    "strange cookies": bad(
        gives(b"x", HTML, b"Set-Cookie: a=b; Max-Age=--5", b"Set-Cookie: =; Expires=never"),
        stored=True,
    ),
    "busy until when": Case(
        {"/bad": says(b"HTTP/1.1 503 Busy\r\nRetry-After: %b\r\n\r\n" % formatdate(4e9).encode())},
        {"503": 1},
        given_up="asks to come back",
    ),
}


@asynccontextmanager
async def web_of(cases: Mapping[str, Case]) -> AsyncIterator[dict[str, Server]]:
    """All servers, by the names of their cases."""
    async with AsyncExitStack() as stack:
        yield {
            name: await stack.enter_async_context(serving(_script(case)))
            for name, case in cases.items()
        }


def _script(case: Case) -> Callable[[Wire], Awaitable[None]]:
    paths = {"/": gives(FRONT, HTML), "/good": gives(GOOD, HTML), **case.paths}

    async def script(wire: Wire) -> None:
        while request := await wire.said():
            path = request.split()[1].partition(b"?")[0].decode("latin-1")
            case.asked.append(request)
            missing = says(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            await paths.get(path, missing)(wire)

    return script
