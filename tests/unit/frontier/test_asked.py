"""A visit to a known site: it asks for its own pages and for what is new, and for nothing else."""

from __future__ import annotations

from tests.unit.frontier.driving import HOME, Driver, rules, urls

from headgate.frontier.events import FINISHED, Asked, Done, NotNow, PageFetched, Tick
from headgate.frontier.scope import Scope
from headgate.frontier.seen_urls import url_hashes

KNOWN = urls("a", "b", "c", "gone")


def visited(asks: list[str], slots: int = 1) -> Driver:
    driver = Driver(None, rules(slots=slots), lambda url: url not in asks)
    driver.send(Asked(asks, 1))
    driver.send(NotNow(url_hashes([HOME, *KNOWN])))
    return driver


def test_links_bring_new_pages_and_not_the_rest_of_the_site() -> None:
    driver = visited(list(urls("a", "b")))
    assert driver.in_flight == urls("a")
    driver.send(PageFetched(HOME + "a", [HOME, *KNOWN, HOME + "new"]))
    assert driver.in_flight == urls("b"), "what the visit is for goes first"
    driver.send(PageFetched(HOME + "b", KNOWN))
    assert driver.in_flight == urls("new")
    assert driver.send(PageFetched(HOME + "new", [HOME])) == [Done(FINISHED)]


def test_what_is_asked_is_in_the_journal_and_goes_on_after_a_crash() -> None:
    driver = visited(list(urls("a", "b")))
    driver.send(PageFetched(HOME + "a", [HOME + "new"]))
    after = Driver(None, rules(slots=6), lambda _: False)
    after.frontier.replay(lambda: driver.journal)
    after.send(Asked(urls("a", "b"), 1))
    after.send(NotNow(url_hashes(KNOWN)))
    after.send(Tick())
    assert sorted(after.in_flight) == urls("b", "new")


def test_pages_out_of_todays_scope_are_not_asked() -> None:
    driver = Driver(Scope([HOME], exclude=["/b"]), rules())
    driver.send(Asked(urls("a", "b"), 1))
    assert driver.in_flight == urls("a")


def test_where_a_seed_led_is_the_sites_own() -> None:
    driver = Driver(None, rules())
    driver.send(Asked(["http://home.example/start"], 0))
    driver.send(Asked(["http://home.example/page"], 3))
    assert driver.in_flight == ["http://home.example/start", "http://home.example/page"]
    stranger = Driver(None, rules())
    stranger.send(Asked(["http://home.example/page"], 3))
    assert stranger.in_flight == []
