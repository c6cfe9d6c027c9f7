"""Whose robots.txt holds for whom: the rules of one origin are no other's."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace
from tests.unit.crawling.answering import RULES, Answer, Answers, crawled

from headgate.crawling.robots import learn_robots
from headgate.frontier.retries import RetryRules
from headgate.model.fetch import Fetched, FetchFailure, FetchRequest
from headgate.reading.robots import NOTHING
from headgate.testing.memory_store import Shelf

FORBIDS = "User-agent: *\nDisallow: /private"


def test_each_origin_of_a_site_goes_by_its_own_rules() -> None:
    """The other one, on another port, forbids nothing."""
    links = "".join(
        f"<a href={origin}{path}>"
        for origin in ("http://site.test", "http://site.test:81")
        for path in ("/private", "/open")
    )
    pages: dict[str, list[Answer]] = {
        "/robots.txt": [(200, FORBIDS, 1)],
        ":81/robots.txt": [(404, "", 1)],
        "/": [(200, links, 1)],
        "/open": [(200, "a", 1)],
        "/private": [(200, "b", 1)],
        ":81/open": [(200, "c", 1)],
        ":81/private": [(200, "d", 1)],
    }
    web = Answers(pages)
    crawled(web, Shelf(), seeds=("http://site.test/", "http://site.test:81/open"))
    asked = {url.removeprefix("http://site.test") for url in web.asked}
    sitemaps = {"/sitemap.xml", ":81/sitemap.xml"}
    assert asked == pages.keys() - {"/private"} | sitemaps


def test_rules_that_a_redirect_leads_to_are_those_of_the_origin_that_was_asked() -> None:
    """Wherever they lie; the place they came from is asked for nothing of its own."""
    moved = (("location", "http://other.test/rules.txt"),)
    asked: list[str] = []

    async def fetch(request: FetchRequest) -> Fetched | FetchFailure:
        asked.append(request.url)
        there = request.url.startswith("http://other.test/")
        status, headers = (200, ()) if there else (301, moved)
        body = FORBIDS.encode() if there else b""
        return Fetched(
            request.url,
            status,
            headers=headers,
            request_head=b"",
            response_head=b"",
            payload=body,
            address="192.0.2.1",
            wall_time=0.0,
            first_byte_seconds=0.0,
            seconds=0.0,
            wire_bytes=1,
        )

    found = asyncio.run(learn_robots("http://site.test", "site", fetch, "headgate"))
    assert asked == ["http://site.test/robots.txt", "http://other.test/rules.txt"]
    assert not found.rules.allows("http://site.test/private")
    assert found.rules.allows("http://site.test/open")


def test_rules_that_drip_are_waited_for_for_a_minute_at_the_most() -> None:
    """Wherever redirects lead; a response of any length may take two hours else."""
    moved = (("location", "http://other.test/rules.txt"),)
    most: list[float] = []

    async def fetch(request: FetchRequest) -> Fetched | FetchFailure:
        most.append(request.most_seconds)
        return Fetched(
            request.url,
            301,
            headers=moved,
            request_head=b"",
            response_head=b"",
            payload=b"",
            address="192.0.2.1",
            wall_time=0.0,
            first_byte_seconds=0.0,
            seconds=0.0,
            wire_bytes=1,
        )

    asyncio.run(learn_robots("http://site.test", "site", fetch, "headgate"))
    assert len(most) > 1
    assert max(most) <= 60


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_may_well_have_rules(status: int) -> None:
    """So it is asked again, and meanwhile nothing is allowed; any other 4xx allows everything."""

    async def fetch(request: FetchRequest) -> Fetched | FetchFailure:
        return Fetched(
            request.url,
            status,
            headers=(),
            request_head=b"",
            response_head=b"",
            payload=b"User-agent: *\nAllow: /",
            address="192.0.2.1",
            wall_time=0.0,
            first_byte_seconds=0.0,
            seconds=0.0,
            wire_bytes=1,
        )

    found = asyncio.run(learn_robots("http://site.test", "site", fetch, "headgate"))
    assert found.rules is NOTHING
    assert found.momentary


@pytest.mark.parametrize("tries", [1, 4])
def test_robots_txt_is_tried_as_often_as_the_rules_of_the_site_say(tries: int) -> None:
    web = Answers({"/robots.txt": [(500, "", 80)]})
    crawled(web, Shelf(), replace(RULES, retries=RetryRules(tries, first_wait=0.0)))
    assert web.asked == ["http://site.test/robots.txt"] * tries


def test_a_page_that_broke_off_waits_as_long_as_the_rules_of_the_site_say() -> None:
    broken: Answer = (200, "a", 400, "disconnect")
    web = Answers({"/": [broken, (200, "a", 200)]})
    crawled(web, Shelf(), replace(RULES, retries=RetryRules(first_wait=1e6)), max_time=0.2)
    assert web.asked.count("http://site.test/") == 1


@pytest.mark.parametrize("status", [429, 503])
def test_what_a_busy_host_breaks_off_is_not_asked_for_at_once(status: int) -> None:
    """The frontier has to hear of it first: it pauses the host, as Retry-After says."""
    broken: Answer = (status, "a", 400, "disconnect")
    web = Answers({"/": [broken, (200, "a", 200)]})
    crawled(web, Shelf(), replace(RULES, retries=RetryRules(busy_tries=1, first_wait=0.0)))
    assert web.asked.count("http://site.test/") == 1
