"""The frontier of a part of a site: what it asks for, and what it leaves to others."""

from __future__ import annotations

from collections.abc import Sequence

from tests.unit.frontier.driving import HOME, Driver, rules, urls

from headgate.frontier.events import (
    FINISHED,
    Asked,
    Done,
    Fetch,
    Found,
    JournalEntry,
    NotNow,
    PageFetched,
    Recalled,
    Redirected,
    Seeds,
    SitemapRead,
    SitemapsNamed,
    UrlOutcome,
)
from headgate.frontier.seen_urls import url_hashes


def without_x(some: Sequence[str]) -> list[str]:
    """Another part is for what has an x."""
    return [url for url in some if "x" not in url]


def test_links_to_another_part_are_told_of_once_and_not_asked_for() -> None:
    driver = Driver(mine=without_x)
    driver.send(Seeds([HOME]))
    assert driver.send(PageFetched(HOME, urls("a", "x1"))) == [Fetch(HOME + "a", 1)]
    assert driver.last == JournalEntry(UrlOutcome.PAGE, HOME, urls("a", "x1"), 1)
    assert driver.send(PageFetched(HOME + "a", urls("x1", "x2"))) == [Done(FINISHED)]
    assert driver.last.found == urls("x2")
    assert driver.frontier.tally.accepted == 2


def test_a_redirect_to_another_part_ends_there() -> None:
    driver = Driver(mine=without_x)
    driver.send(Seeds([HOME]))
    assert driver.send(Redirected(HOME, HOME + "x")) == [Done(FINISHED)]
    assert driver.last == JournalEntry(UrlOutcome.REDIRECT, HOME, urls("x"))


def test_seeds_and_known_pages_of_others_are_theirs() -> None:
    driver = Driver(mine=without_x)
    driver.send(Seeds([HOME, HOME + "x"]))
    assert driver.journal == [JournalEntry(UrlOutcome.FOUND, found=[HOME])]
    driver.send(Recalled(urls("k", "x3"), 1))
    assert driver.in_flight == urls("", "k")
    driver.send(Found(urls("m", "x4")))
    assert driver.last.found == urls("m", "x4")
    assert driver.in_flight == urls("", "k", "m")


def test_what_was_left_is_asked_for_and_what_was_met_is_not_told_of_again() -> None:
    driver = Driver(mine=without_x)
    driver.send(Asked(urls("a", "b"), 3))
    driver.send(NotNow(url_hashes(urls("a", "b", "old", "x1"))))
    assert driver.in_flight == urls("a", "b")
    assert driver.send(PageFetched(HOME + "a", urls("old", "x1", "x2", "new"))) == [
        Fetch(HOME + "new", 4)
    ]
    assert driver.last.found == urls("x2", "new")


def test_after_a_crash_it_goes_on_with_its_own() -> None:
    driver = Driver(mine=without_x)
    driver.send(Seeds([HOME]))
    driver.send(PageFetched(HOME, urls("a", "x1", "b")))
    again = Driver(mine=without_x)
    again.frontier.replay(lambda: driver.journal)
    again.frontier.check()
    again.send(Seeds([HOME]))
    assert again.in_flight == urls("a", "b")
    assert again.send(PageFetched(HOME + "a", urls("x1"))) == []
    assert again.last.found == []


def test_while_a_sitemap_is_unread_nobody_knows_how_much_waits() -> None:
    driver = Driver(site_rules=rules(slots=1))
    driver.send(Seeds([HOME]))
    driver.send(SitemapsNamed(urls("map.xml")))
    assert driver.frontier.waiting is None
    driver.send(PageFetched(HOME, urls("a", "b")))
    driver.send(SitemapRead(HOME + "map.xml"))
    assert driver.frontier.waiting == 2
