"""What a site asks of its visitors in passing: links not for them, escaped rules, bodies cut short.

Whole crawls over real sockets; `tests/unit` has the decisions one by one.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from tests.integration.crawling.crawled import crawl_cases
from tests.integration.crawling.hostile_web import HTML, Case, gives, says

WIKI = b"""<title>A wiki's page</title>
<link rel="edit" href="/do-edit"><link rel="search" href="/do-search">
<link rel="alternate" type="application/rss+xml" href="/feed"><link rel="contents" href="/map">
<link rel="next" href="/next"><link rel="alternate" hreflang="de" href="/de">
<link rel="prev" href="/revisions"><a rel="nofollow" href="/revisions">old revisions</a>
<a href="/twice">yes</a><a rel="nofollow" href="/twice">no</a>
"""
PAGE = gives(b"<title>here</title>" + b"." * 300, HTML)
ESCAPED = b"User-agent: *\nDisallow: /a%2Fb\nDisallow: /c%3Fd\n"
LINKS = b"<a href='/a%2Fb'>1</a><a href='/a/b'>2</a><a href='/c%3Fd'>3</a><a href='/c?d'>4</a>"
SHORT = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n"


def asked(case: Case) -> list[str]:
    paths = {request.split()[1].decode() for request in case.asked}
    return sorted(paths - {"/", "/robots.txt", "/sitemap.xml"})


def test_what_is_followed_and_what_is_kept(tmp_path: Path) -> None:
    names = ("/map", "/next", "/de", "/twice")
    cases = {
        "a wiki": Case({"/": gives(WIKI, HTML), **dict.fromkeys(names, PAGE)}),
        "escapes in rules": Case(
            {
                "/": gives(LINKS, HTML),
                "/robots.txt": gives(ESCAPED),
                **dict.fromkeys(("/a/b", "/c?d"), PAGE),
            }
        ),
        "cut short": Case(
            {"/": gives(b"<a href='/half'>h</a>", HTML), "/half": says(SHORT + b"<p>half" * 50)}
        ),
    }
    crawled = crawl_cases(tmp_path / "data", cases)
    assert asked(cases["a wiki"]) == ["/de", "/map", "/next"]
    assert asked(cases["escapes in rules"]) == ["/a/b", "/c?d"]
    assert crawled.pages["cut short"] == ["/", "/half"]
    (table,) = (tmp_path / "data").glob("runs/*/pages.parquet")
    rows = pq.read_table(table).to_pylist()
    (half,) = (row for row in rows if row["url"].endswith("/half") and row["status"] == 200)
    assert half["truncated"] == "disconnect"
    assert half["bytes"] == 350
