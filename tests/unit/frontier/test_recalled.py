"""What earlier runs knew: it waits behind what is new; what nothing leads to leads nowhere."""

from __future__ import annotations

import pytest
from tests.unit.frontier.driving import HOME, Driver, rules, urls

from headgate.frontier.events import (
    FINISHED,
    Done,
    Fetch,
    Found,
    PageFetched,
    Recalled,
    Redirected,
    Seeds,
    Tick,
)
from headgate.frontier.scope import Scope

OLD = frozenset((HOME, HOME + "old", HOME + "older"))


def order(driver: Driver) -> list[str]:
    """All that is fetched from now on, one after the other, without links."""
    fetched = []
    while driver.flights:
        url = driver.flights[0].url
        fetched.append(url.removeprefix(HOME))
        driver.send(PageFetched(url))
    return fetched


@pytest.mark.parametrize(
    ("depth", "expected"),
    [(None, ["new", "deep", "deeper", "old"]), (9, ["new", "old", "deep", "deeper"])],
)
def test_what_was_asked_for_waits_behind_what_was_not(
    depth: int | None, expected: list[str]
) -> None:
    """Within its depth where there is a bound, behind all depths where there is none."""
    driver = Driver(Scope([HOME], depth=depth), rules(slots=1), OLD.__contains__)
    assert driver.send(Seeds([HOME])) == [Fetch(HOME, 0)], "seeds do not wait"
    driver.send(Found(urls("deeper"), depth=3))
    driver.send(Found(urls("deep"), depth=2))
    driver.send(PageFetched(HOME, urls("old", "new")))
    assert order(driver) == expected


def test_a_replay_puts_everything_where_it_was() -> None:
    driver = Driver(None, rules(slots=1), OLD.__contains__)
    driver.send(Seeds([HOME]))
    driver.send(PageFetched(HOME, urls("old", "new", "newer")))
    after = Driver(None, rules(slots=1), OLD.__contains__)
    after.frontier.replay(lambda: driver.journal)
    after.send(Tick())
    assert order(after) == ["new", "newer", "old"]
    unbegun = Driver(None, rules(slots=1), OLD.__contains__)
    unbegun.frontier.replay(lambda: driver.journal[:1])
    assert unbegun.send(Tick()) == [Fetch(HOME, 0)]


def test_scores_decide_only_among_the_new_and_among_the_old() -> None:
    driver = Driver(None, rules(slots=1, scored=True), OLD.__contains__)
    driver.send(Seeds([HOME]))
    scores = {HOME + "old": 0.9, HOME + "older": 0.2, HOME + "new": 0.1, HOME + "first": 0.3}
    driver.send(PageFetched(HOME, list(scores), b"", scores))
    assert driver.in_flight == urls("first")
    driver.send(PageFetched(HOME + "first", urls("older"), b"", {HOME + "older": 1.0}))
    assert order(driver) == ["new", "older", "old"], "moved up, but not before the new"


def test_what_is_recalled_is_judged_and_not_recorded() -> None:
    driver = Driver(Scope([HOME], exclude=["/no"], depth=2))
    driver.send(Seeds([HOME]))
    recorded = len(driver.journal)
    driver.send(Recalled([*urls("a", "no"), "http://b.org/"], 2))
    driver.send(Recalled(urls("deep"), 3))
    assert len(driver.journal) == recorded
    driver.send(PageFetched(HOME, urls("a", "b")))
    assert driver.flights == [Fetch(HOME + "b", 1)]
    driver.send(PageFetched(HOME + "b"))
    assert driver.flights == [Fetch(HOME + "a", 2)], "once, at the depth it was known at"
    assert driver.send(PageFetched(HOME + "a")) == [Done(FINISHED)]


def test_what_nothing_leads_to_is_fetched_and_leads_nowhere() -> None:
    driver = Driver()
    driver.send(Seeds([HOME]))
    driver.send(PageFetched(HOME, urls("a")))
    assert driver.send(PageFetched(HOME + "a")) == [Done(FINISHED)]
    commands = driver.send(Recalled(urls("a", "alone", "moved", "seed"), 0, unlinked=True))
    assert commands == [Fetch(url, 0) for url in urls("alone", "moved", "seed")]
    driver.send(Found(urls("from-a-sitemap")))
    driver.send(PageFetched(HOME + "alone", urls("new")))
    driver.send(Redirected(HOME + "moved", HOME + "elsewhere"))
    assert driver.send(Redirected(HOME + "seed", "https://b.org/")) == [Done(FINISHED)]
