"""What a site's run remembers of URLs: each thing a value depends on is varied, with the others
fixed."""

from __future__ import annotations

import pytest
from tests.unit.frontier.driving import Driver

from headgate.frontier import url_filter
from headgate.frontier.events import Found, PageFetched, Seeds
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_filter import UrlFilter, without_session
from headgate.model.site import Requisites

HERE, THERE = "http://a.org/x", "http://b.org/x"


def a_filter() -> UrlFilter:
    return UrlFilter(Scope(["http://a.org/"]), TrapRules(2026))


def test_a_link_elsewhere_is_looked_at_again_when_a_page_needs_it() -> None:
    """A page linked to a picture of another host; the next one shows it."""
    made = UrlFilter(Scope(["http://a.org/"], requisites=Requisites.PAGE), TrapRules(2026))
    assert made.links([HERE, THERE]) == [HERE]
    assert made.needed([HERE, THERE]) == [THERE]
    assert made.needed([HERE, THERE]) == []


def test_a_frontier_is_told_what_a_page_needs() -> None:
    driver = Driver(Scope(["http://a.org/"], requisites=Requisites.PAGE))
    driver.send(Seeds(["http://a.org/"]))
    driver.send(PageFetched("http://a.org/", [THERE], b"1"))
    assert driver.in_flight == []
    driver.send(Found([THERE], 1, needed=True))
    assert driver.in_flight == [THERE]


@pytest.mark.parametrize("joins", ["redirect", "asked", "recall"])
def test_a_link_elsewhere_is_looked_at_again_when_its_host_joins_the_site(joins: str) -> None:
    made = a_filter()
    assert made.links([HERE, THERE]) == [HERE]
    if joins == "redirect":
        made.redirect("http://b.org/", 0)
    elif joins == "asked":
        made.asked(["http://b.org/"], 0)
    else:
        made.recall(["http://b.org/"], 0)
    assert made.links([HERE, THERE]) == [THERE]


def test_what_was_met_lately_is_of_one_site_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_filter, "_MOST_LATELY", 10)
    made = a_filter()
    for number in range(100):
        assert made.links([f"{HERE}/{number}", f"{THERE}/{number}"]) == [f"{HERE}/{number}"]
        assert len(made._lately) <= 12
    long = "http://a.org/" + "x" * 300
    assert made.links([long]) == [long]
    assert long not in made._lately
    assert a_filter().links([HERE]) == [HERE]


def test_patterns_of_sessions_are_each_compiled_for_itself() -> None:
    assert without_session("http://a/x.jsp;jsessionid=0A1?p=1&PHPSESSID=7") == "http://a/x.jsp?p=1"
    assert without_session("http://a/(S(4f8a60c1b2d97e354f8a60c1))/x") == "http://a/x"
    assert url_filter._compiled.cache_info().currsize <= 3
