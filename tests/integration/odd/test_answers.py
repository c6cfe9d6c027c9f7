"""Answers that are odd and mean a page: one crawl over all of them, a server for each.

Every front page leads to ``/bad``, which is the case. What a crawl must come to is what curl or
wget asked for and kept when they were sent there (`curl -L --compressed`), or what the RFC says.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tests.integration.crawling.crawled import crawl_cases
from tests.integration.crawling.hostile_web import HTML, Case, bad, gives, redirects, says

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
LINK = b'<html><a href="/there">there</a>' + b"." * 300
THERE = gives(b"<title>there</title>", HTML)
ALL = ("/", "/bad", "/good", "/there")
LANDED = ("/", "/good", "/there")
GZIP = b"Content-Encoding: gzip"
PACKED = gzip.compress(LINK)


def leads(answer: bytes | object, *, to: str = "/there") -> Case:
    """A page at /bad that must be read, since a link of it leads on."""
    at_bad = says(answer) if isinstance(answer, bytes) else answer
    return Case({"/bad": at_bad, to: THERE}, {}, ("/", "/bad", "/good", to))  # type: ignore[dict-item]


def sends(location: bytes, to: str) -> Case:
    return Case({"/bad": redirects(location), to: THERE}, {}, ("/", "/good", to))


def coded(body: bytes, *lines: bytes) -> Case:
    return leads(gives(body, HTML, *lines))


CASES: dict[str, Case] = {
    # Where a Location leads to: what curl -L asked for.
    "Location in UTF-8": sends("/café/日本".encode(), "/caf%C3%A9/%E6%97%A5%E6%9C%AC"),
    "Location in Latin-1": sends(b"/caf\xe9", "/caf%E9"),
    "Location half escaped": sends("/caf%C3%A9/é".encode(), "/caf%C3%A9/%C3%A9"),
    "Location with a blank": sends(b"/a b", "/a%20b"),
    "Location between blanks": sends(b"  /there \t", "/there"),
    "Location with a fragment": sends(b"/there#part", "/there"),
    "Location without a slash": sends(b"there", "/there"),
    "Location with dots": sends(b"./x/../there", "/there"),
    "Location folded": Case(
        {
            "/bad": says(
                b"HTTP/1.1 302 Found\r\nLocation:\r\n /there\r\nContent-Length: 0\r\n\r\n"
            ),
            "/there": THERE,
        },
        {},
        LANDED,
    ),
    "Location with backslashes (browsers)": sends(b"\\there", "/there"),
    "Location twice": Case(
        {
            "/bad": says(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nLocation: /x\r\n\r\n"),
            "/there": THERE,
        },
        {},
        LANDED,
    ),
    "300 with a Location": Case(
        {"/bad": says(b"HTTP/1.1 300 Choose\r\nLocation: /there\r\n\r\n"), "/there": THERE},
        {},
        LANDED,
    ),
    "303 with a body": Case(
        {
            "/bad": says(b"HTTP/1.1 303 See\r\nLocation: /there\r\nContent-Length: 3\r\n\r\nabc"),
            "/there": THERE,
        },
        {},
        LANDED,
    ),
    # Pages that are read, since they lead on.
    "mixed line ends": leads(b"HTTP/1.1 200 OK\nContent-Type: text/html\r\nX: y\n\r\n" + LINK),
    "folded type": leads(b"HTTP/1.1 200 OK\r\nContent-Type:\r\n text/html\r\n\r\n" + LINK),
    "no type": leads(b"HTTP/1.1 200 OK\r\n\r\n" + LINK),
    "a type without a slash": leads(b"HTTP/1.1 200 OK\r\nContent-Type: html\r\n\r\n" + LINK),
    "HTTP/1.0": leads(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + LINK),
    "203": leads(b"HTTP/1.1 203 Hm\r\nContent-Type: text/html\r\n\r\n" + LINK),
    "x-gzip": coded(PACKED, b"Content-Encoding: x-gzip"),
    "GZIP": coded(PACKED, b"Content-Encoding: GZIP"),
    "gzip of two members": coded(gzip.compress(LINK[:9]) + gzip.compress(LINK[9:]), GZIP),
    "gzip without its end": coded(PACKED[:-8], GZIP),
    "gzip that breaks off": coded(gzip.compress(LINK + LINK[::-1])[:-20], GZIP),
    "gzip with a wrong sum": coded(PACKED[:-8] + bytes(8), GZIP),
    "gzip with more behind it (wget)": coded(PACKED + b"junk", GZIP),
    "gzip with zeros behind it (wget)": coded(PACKED + bytes(20), GZIP),
    "gzip said of plain HTML": coded(LINK, GZIP),
    "gzip said twice (wget)": coded(PACKED, GZIP, GZIP),
    "gzip twice": coded(gzip.compress(PACKED), b"Content-Encoding: gzip, gzip"),
    "gzip of the transfer": leads(
        OK
        + b"Transfer-Encoding: gzip, chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(PACKED), PACKED)
    ),
    "bare deflate": coded(zlib.compress(LINK)[2:-4], b"Content-Encoding: deflate"),
    "coding none": coded(LINK, b"Content-Encoding: none"),
    "a charset for a coding (wget)": coded(LINK, b"Content-Encoding: utf-8"),
    "Refresh by header (browsers)": leads(
        b"HTTP/1.1 200 OK\r\nRefresh: 0; url=/there\r\nContent-Length: 0\r\n\r\n"
    ),
    "Refresh in a page": leads(
        OK + b"\r\n<meta http-equiv=refresh content=\"0; URL='/there'\">" + b"." * 300
    ),
    "a redirect that says nowhere": Case(
        {
            "/bad": says(b"HTTP/1.1 302 Found\r\nContent-Type: text/html\r\n\r\n" + LINK),
            "/there": THERE,
        },
        {},
        LANDED,
    ),
    # Answers that are none.
    "304 unasked": bad(says(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")),
    "204": bad(says(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")),
}


def test_odd_answers_are_read(tmp_path: Path) -> None:
    crawled = crawl_cases(tmp_path / "data", CASES)
    for name, case in CASES.items():
        assert crawled.sites[name]["errors"] == case.errors, name
        asked = [request.split()[1].decode() for request in case.asked]
        assert sorted(set(asked) - {"/robots.txt", "/sitemap.xml"}) == sorted(
            {*case.pages, "/bad"}
        ), name
        kept = [page for page in case.pages if name != "203" or page != "/bad"]
        assert sorted(crawled.pages[name]) == sorted(kept), name
