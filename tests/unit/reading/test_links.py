"""Links of pages, tidy and otherwise."""

from __future__ import annotations

import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.reading.links import (
    MOST_JOINED,
    LinkOptions,
    Refresh,
    candidates,
    links_in,
    page_links,
    refresh_target,
)
from headgate.reading.robots import Directives
from headgate.reading.urls import normalise

URL = "http://example.org/a/b"


def urls(page: str) -> list[str]:
    return [url.removeprefix("http://example.org") for url in links_in(page, URL).urls]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<a href=c>", ["/a/c"]),
        ("<a href=' c '>", ["/a/c"]),
        ("<a href='c#d'><a href='c#e'><a href='c'>", ["/a/c"]),
        ("<a href='#d'>", ["/a/b"]),
        ("<a href=''>", ["/a/b"]),
        ("<a name=c>", []),
        ("<a href='/?x&amp;y&copy=1'>", ["/?x&y&copy=1"]),
        ("<a href='mailto:x'><a href='javascript:x'><a href='data:,x'><a href='tel:1'>", []),
        ("<a href='http://['><a href=c>", ["/a/c"]),
        ("<map><area href=c></map>", ["/a/c"]),
        ("<frameset><frame src=c><frame src=d></frameset>", ["/a/c", "/a/d"]),
        ("<iframe src=c></iframe><iframe></iframe><iframe src=''></iframe>", ["/a/c"]),
        ("<link rel=next href=c><link rel='Alternate' hreflang=de href=d>", ["/a/c", "/a/d"]),
        ("<link rel=alternate media=handheld href=c><link rel='x UP' href=d>", ["/a/c", "/a/d"]),
        ("<link rel=alternate type=application/rss+xml href=c><link rel=edit href=d>", []),
        ("<link rel=edituri href=c><link rel=shortlink href=d><link rel=search href=e>", []),
        ("<link rel=stylesheet href=c><link rel='shortcut icon' href=d>", []),
        ("<link rel=preconnect href=/><link rel=dns-prefetch href=/>", []),
        ("<link href=c><link rel=next>", []),
        ("<meta http-equiv=Refresh content='3; url=c'>", ["/a/c"]),
        ("<svg><a xlink:href=c></svg>", ["/a/c"]),
        ("<img src=c><script src=d></script><video src=e>", []),
        ("<a href=z><a href=y><a href=z><a href=x>", ["/a/z", "/a/y", "/a/x"]),
        ("<noscript><a href=c></noscript>", ["/a/c"]),
        ("<A HREF=c><AREA HREF=d>", ["/a/c", "/a/d"]),
        ("<base href=/x/><a href=c>", ["/x/c"]),
        ("<a href=c><base href=/x/>", ["/x/c"]),
        ("<base target=_top><base href=/x/><base href=/y/><a href=c>", ["/x/c"]),
        ("<base href=javascript:x><a href=c>", ["/a/c"]),
        ("<a href='\0c'><a href='d\0e'>", ["/a/c", "/a/d%00e"]),
    ],
)
def test_urls(page: str, expected: list[str]) -> None:
    assert urls(page) == expected


def test_all_that_a_page_says() -> None:
    page = page_links(
        b"<!doctype html><html lang=de-AT><title> Gr\xfc&szlig;e\n</title><title>2</title>"
        b"<meta charset=latin1><base href='//example.net/'><meta name=robots content=noindex>"
        b"<meta name=Headgate content=nofollow><meta name=otherbot content=none>"
        b"<link rel=canonical href='/c?q=\xfc'><link rel=canonical href=/d>"
        b"<meta http-equiv=refresh content='0;e'><a href=f rel='x UGC'>",
        URL,
    )
    assert page.lang == "de-AT"
    assert page.title == "Grüße"
    assert page.base == "http://example.net/"
    assert page.robots == Directives(index=False, follow=False)
    assert page.canonical == "http://example.net/c?q=%FC"
    assert page.refresh == Refresh(0, "http://example.net/e")
    assert page.urls[-1] == "http://example.net/f"
    assert page.nofollow == {"http://example.net/f"}
    assert not page.truncated


def test_a_page_that_says_nothing() -> None:
    page = page_links(b"", URL)
    assert (page.urls, page.title, page.lang, page.base) == ((), "", "", URL)
    assert page.robots == Directives()
    assert page.canonical is None
    assert page.refresh is None


@pytest.mark.parametrize("rel", ["nofollow", "NOFOLLOW noopener", "ugc", "sponsored"])
def test_nofollow_wins(rel: str) -> None:
    page = links_in(f"<a rel='{rel}' href=c><a href=d><a rel='{rel}' href='d'>", URL)
    assert page.nofollow == {"http://example.org/a/c", "http://example.org/a/d"}
    again = links_in(f"<link rel=next href=./c><a rel='{rel}' href=c><a href=../a/c>", URL)
    assert again.nofollow == set(again.urls) == {"http://example.org/a/c"}
    other = links_in(f"<a rel='{rel}' href=c><a href=d>", URL)
    assert other.nofollow == {"http://example.org/a/c"}


def test_resources_when_asked() -> None:
    page = links_in(
        "<img src=1 srcset='2 1x, 3 2x'><picture><source srcset='4, 5 100w'></picture>"
        "<script src=6>'<img src=no>'</script><video poster=8 src=7><object data=9>"
        "<link rel='preload stylesheet' href=10><input src=11><img src='data:,x'><a href=12>",
        URL,
        options=LinkOptions(resources=True),
    )
    assert [url.rpartition("/")[2] for url in page.resources] == [str(k) for k in range(1, 12)]
    assert page.urls == ("http://example.org/a/12",)


def test_texts_when_asked() -> None:
    page = links_in(
        '<a href="c"> <img> </a><a href="c#x">One <b>&amp; all</b></a><a href="c">Two</a>'
        "<a href=d>open <a href=e>x</a>",
        URL,
        options=LinkOptions(texts=True),
    )
    assert {url[-1]: text for url, text in page.texts.items()} == {
        "c": "One & all",
        "d": "open",
        "e": "x",
    }


def test_query_is_joined_in_the_encoding_of_the_page() -> None:
    body = "<a href='/ж?ж'>".encode("windows-1251")
    page = page_links(body, URL, "text/html; charset=windows-1251")
    assert page.urls == ("http://example.org/%D0%B6?%E6",)


def test_no_more_than_asked_for() -> None:
    body = "".join(f'<a href="{k}">' for k in range(100))
    page = links_in(body, URL, options=LinkOptions(max_links=10))
    assert len(page.urls) == 10
    assert page.truncated


def test_a_large_page() -> None:
    """10 MB and 100,000 links; the bound on seconds is for the slowest of machines."""
    line = '<p class="x">some text <a href="/page/{0}?q={0}" title="{0}">{0}</a></p>\n'
    body = "".join(line.format(k).ljust(100) for k in range(100_000)).encode()
    start = time.process_time()
    page = page_links(body, URL, "text/html; charset=utf-8")
    assert len(page.urls) == 100_000
    assert time.process_time() - start < 10


DEAR = {
    "attributes": "<a " + "b=c " * 700_000 + "href=x>",
    "different attributes": "<a " + " ".join(f"b{k}=c" for k in range(300_000)) + " href=x>",
    "rel": "<a href=x rel='" + "a " * 1_500_000 + "'>",
    "robots": "<meta name=robots content='" + "a " * 1_500_000 + "'>",
    "refresh": "<meta http-equiv=refresh content='" + "1 " * 1_500_000 + "'>",
    "srcset": "<img srcset='" + "a, " * 1_000_000 + "'>",
    "title": "<title>" + "&lt; <" * 500_000,
    "anchor texts": '<a href="x">' * 250_000,
    "references": "<a href='" + "&amp;&#x41" * 300_000 + "'>",
}


@pytest.mark.parametrize("kind", DEAR)
def test_pages_made_to_be_dear(kind: str) -> None:
    """Some 3 MB each; the bound on seconds is for the slowest of machines."""
    page = DEAR[kind]
    tracemalloc.start()
    start = time.process_time()
    links_in(page, URL, options=LinkOptions(resources=True, texts=True))
    seconds = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < 30
    assert peak < 20 * len(page)


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=x", (0, "x")),
        ("5;URL = 'x y'z", (5, "x y")),
        ("5,x", (5, "x")),
        ("5 x", (5, "x")),
        ("5x", None),
        ("1.9; url=x", (1, "x")),
        (".5; url=x", (0, "x")),
        ("url=x", None),
        ("5; url=", None),
        ("5", None),
        ("; url=x", None),
        ("9" * 5000 + "; x", (999_999_999, "x")),
        ('5; url="x', (5, "x")),
        ("5; urlx", (5, "urlx")),
    ],
)
def test_refresh_target(content: str, target: tuple[int, str] | None) -> None:
    assert refresh_target(content) == target


@pytest.mark.parametrize(
    ("srcset", "refs"),
    [
        ("", []),
        ("a", ["a"]),
        (" a 1x , b 2x", ["a", "b"]),
        ("a,b", ["a,b"]),
        ("a, b", ["a", "b"]),
        ("a,,, b", ["a", "b"]),
        (",,a", ["a"]),
        ("a (1,2) 1x, b", ["a", "b"]),
        ("data:image/png;base64,AA== 1x, b", ["data:image/png;base64,AA==", "b"]),
    ],
)
def test_candidates(srcset: str, refs: list[str]) -> None:
    assert candidates(srcset) == refs


@pytest.mark.parametrize("piece", [",", "a,", "a(", "a ( ", "a ,( "])
def test_candidates_of_a_dear_set(piece: str) -> None:
    start = time.process_time()
    candidates("a" + piece * 30_000)
    assert time.process_time() - start < 5


@given(st.binary(), st.text(), st.text())
def test_any_page_does(body: bytes, url: str, content_type: str) -> None:
    page_links(body, url, content_type, LinkOptions(resources=True, texts=True))


PIECES = ["<a href=", "<base href=", "<link rel=next href=", "'", '"', ">", " ", " rel=ugc", "ä"]
PIECES += ["<meta http-equiv=refresh content='1;", "http:", "//", "/x", "../", "&#47;", "%41", "#"]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_urls_are_normal_and_distinct(page: str) -> None:
    found = links_in(page, URL)
    assert len(set(found.urls)) == len(found.urls)
    assert all(normalise(url) == url for url in found.urls)
    assert found.nofollow <= set(found.urls)
    assert found.refresh is None or found.refresh.url in found.urls


@pytest.mark.parametrize("references", ["<a href={k}>", "<a href='{k}'>x</a>", "<img src={k}>"])
def test_a_long_base_does_not_make_much_of_short_links(references: str) -> None:
    """60 KB of it and 100,000 links were 6 GB."""
    base = "<base href='/" + "b" * 8_000 + "/'>"
    page = base + "".join(references.format(k=k) for k in range(100_000))
    tracemalloc.start()
    found = links_in(page, URL, options=LinkOptions(resources=True, texts=True))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    joined = [*found.urls, *found.resources]
    assert len(joined) > 500
    assert sum(map(len, joined)) <= MOST_JOINED
    assert found.truncated
    assert peak < 50_000_000


def test_a_base_that_is_too_long_is_none() -> None:
    page = "<base href='/" + "b" * 60_000 + "/'>" + "<a href=c>"
    assert links_in(page, URL).urls == ("http://example.org/a/c",)


def test_many_ordinary_links_are_all_taken() -> None:
    page = "".join(f"<a href='/{'p' * 50}/{k}'>" for k in range(99_000))
    found = links_in(page, URL)
    assert len(found.urls) == 99_000
    assert not found.truncated
