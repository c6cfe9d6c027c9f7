"""Sitemaps of all kinds, sound, broken and hostile."""

from __future__ import annotations

import gzip
import time
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.reading.sitemaps import MOST_ENTRIES, Sitemap, parse_date, read_sitemap

DATA = Path(__file__).parents[2] / "data" / "sitemaps"
URL = "http://www.example.com/sitemap.xml"


def read(text: str) -> Sitemap:
    return read_sitemap(text.encode(), URL)


def urlset(inside: str) -> str:
    return f'<?xml version="1.0"?><urlset xmlns="x">{inside}</urlset>'


@pytest.mark.parametrize(
    ("name", "pages", "sitemaps", "dated"),
    [
        ("atom.xml", 3, 0, 2),
        ("do-not-visit.txt", 1, 0, 0),
        ("sitemap-with-bom.txt", 2, 0, 0),
        ("sitemap.badns.xml", 2, 0, 0),
        ("sitemap.index.xml", 0, 15, 0),
        ("sitemap.ns.xml", 2, 0, 0),
        ("sitemap.txt", 2, 0, 0),
        ("sitemap.txt.gz", 5, 0, 0),
        ("xmlSitemap.gz", 5, 0, 4),
        ("extension/hebdenbridgetimes-articles-sitemap.xml", 74, 0, 74),
        ("extension/pagemaps-sitemap.xml", 2, 0, 0),
        ("extension/shinpaideshou-news-sitemap.xml", 3, 0, 0),
        ("extension/sitemap-images.xml", 1, 0, 0),
        ("extension/sitemap-links.xml", 3, 0, 0),
        ("extension/sitemap-mobile.xml", 3, 0, 0),
        ("extension/sitemap-news.xml", 2, 0, 0),
        ("extension/sitemap-videos-tvshow.xml", 1, 0, 0),
        ("extension/sitemap-videos.xml", 3, 0, 0),
    ],
)
def test_files_of_crawler_commons(name: str, pages: int, sitemaps: int, dated: int) -> None:
    found = read_sitemap((DATA / name).read_bytes(), URL)
    assert (len(found.pages), len(found.sitemaps), len(found.modified)) == (pages, sitemaps, dated)
    assert found.whole


def test_entries() -> None:
    found = read(
        urlset(
            "<url><loc>\n http://a/1?x=1&amp;y=2 </loc><lastmod>2026-11-15</lastmod></url>"
            "<url><lastmod>soon</lastmod><loc><![CDATA[http://a/2?x&y]]></loc></url>"
            "<!-- <url><loc>http://a/no</loc></url> --><url><loc>http://a/1?x=1&amp;y=2</loc></url>"
            "<url><loc>/3</loc></url><url><loc>mailto:x</loc></url><url><loc/></url><url/>"
            "<x:url><x:loc>http://a/4</x:loc><image:image><image:loc>http://a/no.png</image:loc>"
            "</image:image><xhtml:link rel='alternate' href='http://a/5'/>"
            "<xhtml:link rel='stylesheet' href='http://a/no.css'/></x:url>"
        )
    )
    assert found.pages == (
        "http://a/1?x=1&y=2",
        "http://a/2?x&y",
        "http://www.example.com/3",
        "http://a/4",
        "http://a/5",
    )
    assert found.modified == {"http://a/1?x=1&y=2": datetime(2026, 11, 15, tzinfo=UTC)}
    assert found.whole


def test_index() -> None:
    found = read(
        "<sitemapindex><sitemap><loc>http://a/1.xml.gz</loc><lastmod>2026</lastmod></sitemap>"
        "<sitemap> http://a/2.xml </sitemap></sitemapindex>"
    )
    assert found.sitemaps == ("http://a/1.xml.gz", "http://a/2.xml")
    assert found.pages == ()
    assert found.modified == {"http://a/1.xml.gz": datetime(2026, 1, 1, tzinfo=UTC)}


def test_rss() -> None:
    found = read(
        "<rss><channel><link>http://a/</link><atom:link href='http://a/rss' rel='self'/>"
        "<image><link>http://a/no</link></image><item><title>x</title><link>http://a/1</link>"
        "<pubDate>Sun, 15 Nov 2026 19:20:03 GMT</pubDate></item></channel></rss>"
    )
    assert found.pages == ("http://a/", "http://a/1")
    assert found.modified == {"http://a/1": datetime(2026, 11, 15, 19, 20, 3, tzinfo=UTC)}


def test_text() -> None:
    found = read("\ufeff http://a/1 \r\nhttp://a/2\r\rnot a url\n/3\nhttps://a/4#x\nhttp://a/1")
    assert found.pages == ("http://a/1", "http://a/2", "https://a/4")


def test_gzip() -> None:
    body = gzip.compress(urlset("<url><loc>http://a/1</loc></url>").encode())
    assert read_sitemap(body, URL).pages == ("http://a/1",)
    assert not read_sitemap(body[:-9], URL).whole


@pytest.mark.parametrize("codec", ["utf-16", "latin-1"])
def test_other_encodings(codec: str) -> None:
    text = (
        f'<?xml version="1.0" encoding="{codec}"?><urlset><url><loc>http://a/ü</loc></url></urlset>'
    )
    assert read_sitemap(text.encode(codec), URL).pages == ("http://a/%C3%BC",)


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("<urlset><url><loc>http://a/?b=1&c=2</loc></url><url><loc>http://a/2</loc>", 2),
        ("<urlset><url><loc>http://a/1<url><loc>http://a/2</loc></urlset>", 2),
        ("<urlset><loc>http://a/1</loc></urlset>", 1),
        ("<URLSET><URL><LOC>http://a/1</LOC></URL></URLSET>", 1),
        ("<urlset><url><loc>http://a/1</loc><image:image></url><url><loc>http://a/2</loc>", 2),
        ("<urlset><url><loc><![CDATA[http://a/1", 0),
        ("<urlset", 0),
    ],
)
def test_broken_ones_give_what_they_hold(text: str, pages: int) -> None:
    assert len(read(text).pages) == pages


LAUGHS = "".join(f'<!ENTITY l{k} "{f"&l{k - 1};" * 10}">' for k in range(1, 10))


@pytest.mark.parametrize(
    "doctype",
    [
        f'<!DOCTYPE urlset [<!ENTITY l0 "lol">{LAUGHS}]>',
        '<!DOCTYPE urlset [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE urlset [<!ENTITY % x SYSTEM "http://evil.example/x.dtd">%x;]>',
    ],
)
def test_files_with_entities_are_refused(doctype: str) -> None:
    found = read(
        f"<?xml version='1.0'?>{doctype}<urlset><url><loc>http://a/&x;</loc></url></urlset>"
    )
    assert found == Sitemap(whole=False)


def test_a_document_type_alone_is_passed_over() -> None:
    body = "<!DOCTYPE rss PUBLIC 'x' 'http://evil.example/x.dtd'><rss><link>http://a/</link></rss>"
    assert read(body).pages == ("http://a/",)


@pytest.mark.parametrize("text", ["<html><link rel=alternate href=/x></html>", "<x/>", "<!--"])
def test_what_is_no_sitemap(text: str) -> None:
    assert read(text) == Sitemap(whole=False)


def test_no_more_entries_than_the_protocol_allows() -> None:
    locs = [f"http://a/{k}" for k in range(MOST_ENTRIES + 10)]
    for text in ("\n".join(locs), urlset("".join(f"<url><loc>{loc}</loc></url>" for loc in locs))):
        found = read(text)
        assert len(found.pages) == MOST_ENTRIES
        assert not found.whole


DEAR = {
    "bomb": gzip.compress(bytes(300_000_000)),
    "blank bomb": gzip.compress(b"<urlset>" + b" " * 200_000_000),
    "lines": b"\n" * 5_000_000,
    "entries": b"<urlset>" + b"<url>" * 200_000,
    "open comments": b"<urlset>" + b"<!--" * 700_000,
    "open cdata": b"<urlset>" + b"<loc><![CDATA[" * 200_000,
    "attributes": b"<urlset><link " + b"a=b " * 700_000 + b"/>",
    "less-than": b"<" * 1_000_000,
    "one line": b"http://a/" + b"a" * 3_000_000,
}


@pytest.mark.parametrize("kind", DEAR)
def test_time_and_memory_are_bounded(kind: str) -> None:
    tracemalloc.start()
    start = time.process_time()
    read_sitemap(DEAR[kind], URL)
    seconds = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 30
    assert peak < 250_000_000


@given(st.binary())
def test_any_bytes_do(body: bytes) -> None:
    read_sitemap(body, URL)


PIECES = ["<urlset>", "<sitemapindex>", "<url>", "</url>", "<loc>", "</loc>", "<sitemap>", "&", "<"]
PIECES += ["<link ", "href='b'", ">", "<image:image>", "<lastmod>", "2026", "<![CDATA[", "]]>", "c"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_any_pieces_do(text: str) -> None:
    found = read("<urlset>" + text)
    assert set(found.modified) <= {*found.pages, *found.sitemaps}


# Dates as sites write them.


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2005", datetime(2005, 1, 1, tzinfo=UTC)),
        ("2005-02", datetime(2005, 2, 1, tzinfo=UTC)),
        (" 2005-02-03\n", datetime(2005, 2, 3, tzinfo=UTC)),
        ("2005-2-3", datetime(2005, 2, 3, tzinfo=UTC)),
        ("2005-02-03T04:05Z", datetime(2005, 2, 3, 4, 5, tzinfo=UTC)),
        ("2005-02-03 04:05:06", datetime(2005, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("2005-02-03t04:05:06.789z", datetime(2005, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("2005-02-03T04:05:06+02:00", datetime(2005, 2, 3, 2, 5, 6, tzinfo=UTC)),
        ("2005-02-03T04:05:06-0130", datetime(2005, 2, 3, 5, 35, 6, tzinfo=UTC)),
        ("Thu, 03 Feb 2005 04:05:06 GMT", datetime(2005, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("3 Feb 2005 04:05:06 +0100", datetime(2005, 2, 3, 3, 5, 6, tzinfo=UTC)),
        ("3 Feb 2005 04:05:06", datetime(2005, 2, 3, 4, 5, 6, tzinfo=UTC)),
    ],
)
def test_moment(text: str, moment: datetime) -> None:
    assert parse_date(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2005-13-01",
        "2005-02-30",
        "0000-01-01",
        "2005-01-01T25:00Z",
        "0001-01-01T00:00+23:59",
        "2005-01-01T00:00+99:99",
        "1" * 100_000,
        "99999999999999 Jan 2005 00:00:00",
    ],
)
def test_cannot_be_told(text: str) -> None:
    assert parse_date(text) is None


@given(st.text())
def test_any_text_does(text: str) -> None:
    moment = parse_date(text)
    assert moment is None or moment.tzinfo is UTC


@given(st.datetimes(timezones=st.just(UTC)))
def test_reads_what_python_writes(moment: datetime) -> None:
    assert parse_date(moment.isoformat()) == moment.replace(microsecond=0)
