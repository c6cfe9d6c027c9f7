"""Whose robots.txt holds for whom: the rules of one origin are no other's."""

from __future__ import annotations

import pytest
from tests.unit.crawling.answering import Answer, Answers, crawled

from headgate.crawling import discovery
from headgate.crawling.memory_store import Shelf
from headgate.frontier.retries import RetryRules

FORBIDS = "User-agent: *\nDisallow: /private"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_RETRIES", RetryRules(first_wait=0.0))


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
    assert asked - {"/sitemap.xml", ":81/sitemap.xml"} == pages.keys() - {"/private"}
