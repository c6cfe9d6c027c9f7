"""Links of feeds and other XML, as they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.crawling.page_reader import PageReader
from headgate.model.fetch import Fetched
from headgate.reading.other_links import xml_links

RSS = b"""<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>
<link>http://a.test/</link>
<item><title>One</title><link>http://a.test/1?x=1&amp;y=2</link>
<enclosure url="http://a.test/1.mp3" length="1" type="audio/mpeg"/></item>
<item><link><![CDATA[http://a.test/2]]></link><guid isPermaLink="false">77</guid></item>
</channel></rss>"""
ATOM = b"""<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">
<link rel="self" href="/feed"/>
<entry><link href="/1"/><link rel="edit" href="/edit/1"/><updated>2026-01-01</updated></entry>
<entry><link rel="alternate" href="2"/><content type="text/html" src="/2.txt"/></entry></feed>"""
BOOK = b"""<?xml version="1.0"?><?xml-stylesheet href="no.xsl"?>
<!-- <a href="no"/> --><book xmlns:xlink="x"><part xlink:href="1.xml"/><img src="p.png"/></book>"""
BOMB = b"""<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x href="&b;"/>"""


@pytest.mark.parametrize(
    ("body", "links"),
    [
        (RSS, ["/", "/1?x=1&y=2", "/2", "/1.mp3"]),
        (ATOM, ["/1", "/2", "/2.txt"]),
        (BOOK, ["/1.xml", "/p.png"]),
        (b"<urlset><url><loc>http://a.test/u</loc></url></urlset>", ["/u"]),
        (b"", []),
        (b"not xml", []),
    ],
    ids=["RSS", "Atom", "another", "sitemap", "nothing", "text"],
)
def test_links_are_found(body: bytes, links: list[str]) -> None:
    assert xml_links(body, "http://a.test/feed") == [f"http://a.test{link}" for link in links]


def test_nothing_of_a_document_type_is_obeyed() -> None:
    assert all(len(link) < 100 for link in xml_links(BOMB, "http://a.test/"))


@given(st.binary(max_size=300))
def test_anything_may_come(body: bytes) -> None:
    for link in xml_links(b"<feed><entry>" + body, "http://a.test/"):
        assert link.startswith(("http://", "https://"))


def response(body: bytes, *headers: tuple[str, str]) -> Fetched:
    return Fetched(
        "http://a.test/feed",
        200,
        headers=headers,
        request_head=b"",
        response_head=b"",
        payload=body,
        address="",
        wall_time=0.0,
        first_byte_seconds=0.0,
        seconds=0.0,
        wire_bytes=len(body),
    )


@pytest.mark.parametrize("kind", ["application/rss+xml", "text/xml; charset=utf-8"])
def test_a_crawl_follows_a_feed(kind: str) -> None:
    read = PageReader().read(response(RSS, ("content-type", kind)))
    assert "http://a.test/2" in read.to_follow
    assert read.links is not None
    assert list(read.links.targets) == list(read.to_follow)


def test_a_server_may_forbid_to_follow_it() -> None:
    forbids = ("x-robots-tag", "nofollow")
    read = PageReader().read(response(RSS, ("content-type", "text/xml"), forbids))
    assert not read.to_follow
    assert read.links is not None
    assert read.links.targets
