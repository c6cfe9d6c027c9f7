"""What a crawl and a survey rely on alike in whoever reads a page: links that may be followed."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import pytest

from headgate.crawling.page_reader import PageReader
from headgate.features.survey.entries import read_surveyed
from headgate.model.fetch import Fetched

PAGE = '<html lang="sw"><a href="/a">A</a><a href="http://other.test/">O</a><a href="/a">B</a>'
HTML = "text/html; charset=utf-8"
OWN, OTHER = "http://site.test/a", "http://other.test/"
Read = Callable[[Fetched], list[str]]
"""URLs that may be asked for, in the order of the page."""


def response(body: bytes, *headers: tuple[str, str]) -> Fetched:
    return Fetched(
        "http://site.test/",
        200,
        headers=headers,
        request_head=b"",
        response_head=b"",
        payload=body,
        address="192.0.2.1",
        wall_time=0.0,
        first_byte_seconds=0.0,
        seconds=0.0,
        wire_bytes=len(body),
    )


def by_a_crawl(fetched: Fetched) -> list[str]:
    return list(PageReader().read(fetched).to_follow)


def by_a_crawl_with_words(fetched: Fetched) -> list[str]:
    return list(PageReader(with_words=True).read(fetched).to_follow)


def by_a_survey(fetched: Fetched) -> list[str]:
    return [url for url, _ in read_surveyed(fetched, None, "headgate").links]


EVERY_READER = pytest.mark.parametrize("read", [by_a_crawl, by_a_crawl_with_words, by_a_survey])


@EVERY_READER
def test_each_link_is_found_once_in_the_order_of_the_page(read: Read) -> None:
    assert read(response(PAGE.encode(), ("content-type", HTML))) == [OWN, OTHER]


@EVERY_READER
def test_a_content_coding_is_taken_off(read: Read) -> None:
    headers = ("content-type", HTML), ("content-encoding", "gzip")
    assert read(response(gzip.compress(PAGE.encode()), *headers)) == [OWN, OTHER]


@EVERY_READER
@pytest.mark.parametrize("kind", ["image/png", "application/pdf", "text/plain"])
def test_what_says_that_it_is_no_page_is_none(read: Read, kind: str) -> None:
    assert read(response(PAGE.encode(), ("content-type", kind))) == []


@EVERY_READER
@pytest.mark.parametrize("headers", [(), (("content-type", "*/*"),)])
def test_what_does_not_say_what_it_is_is_known_by_its_beginning(
    read: Read, headers: tuple[tuple[str, str], ...]
) -> None:
    assert read(response(PAGE.encode(), *headers)) == [OWN, OTHER]
    assert read(response(b"%PDF-1.7 <a href=/a>", *headers)) == []


@EVERY_READER
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<",
        b"\0\xff\xfe" * 50,
        b'<html><a href="http://[">x</a><a href=mailto:a@b>',
        b"<html>",
    ],
)
def test_whatever_comes_is_read_without_an_error(read: Read, body: bytes) -> None:
    assert read(response(body, ("content-type", HTML))) == []


@EVERY_READER
@pytest.mark.parametrize("said", ["nofollow", "none", "headgate: nofollow"])
def test_links_of_its_own_host_are_not_followed_against_a_servers_word(
    read: Read, said: str
) -> None:
    found = read(response(PAGE.encode(), ("content-type", HTML), ("x-robots-tag", said)))
    assert OWN not in found
    marked = PAGE.replace('href="/a"', 'rel=nofollow href="/a"')
    assert OWN not in read(response(marked.encode(), ("content-type", HTML)))
