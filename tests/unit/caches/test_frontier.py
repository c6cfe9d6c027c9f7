"""What a site's run remembers of URLs: each thing a value depends on is varied, with the others
fixed."""

from __future__ import annotations

import pytest
from tests.unit.frontier.driving import Driver, rules

from headgate.frontier import url_filter
from headgate.frontier.events import (
    Done,
    Found,
    LearnRobots,
    PageFetched,
    RobotsLearned,
    Seeds,
    Tick,
)
from headgate.frontier.host_queues import HostQueues
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_filter import UrlFilter, without_session
from headgate.model.run_report import Reason
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


def test_robots_txt_is_that_of_an_origin_as_last_learned() -> None:
    driver = Driver(Scope(["http://a.org/", "http://a.org:81/"]), rules(robots=True))
    forbidden, allowed = ["http://a.org/x", "http://a.org:81/y"], ["http://a.org/y"]
    driver.send(Seeds([*forbidden, *allowed]))
    driver.send(RobotsLearned("http://a.org", lambda url: not url.endswith("x")))
    driver.send(RobotsLearned("http://a.org:81", lambda _: False, unreachable=True))
    assert driver.in_flight == allowed
    tally = driver.frontier.tally
    assert tally.dropped == {Reason.ROBOTS: 1, Reason.HOST_GIVEN_UP: 1}
    driver.send(RobotsLearned("http://a.org:81", lambda _: True))
    driver.send(PageFetched("http://a.org/y", ["http://a.org:81/z"], b"1"))
    assert driver.in_flight == ["http://a.org:81/z"]


def test_large_robots_txt_are_kept_of_few_origins_and_learned_again() -> None:
    """Every page of every origin is fetched all the same."""
    origins = [f"http://a.org:{port}" for port in range(81, 91)]
    driver = Driver(Scope(origins), rules(robots=True))
    commands = driver.send(Seeds([f"{origin}/{page}" for origin in origins for page in "xy"]))
    learned: list[str] = []
    fetched: list[str] = []
    while not any(isinstance(command, Done) for command in commands):
        asked = [command.origin for command in commands if isinstance(command, LearnRobots)]
        commands = []
        for origin in asked:
            learned.append(origin)
            commands += driver.send(RobotsLearned(origin, lambda _: True, held_bytes=14 << 20))
        for url in driver.in_flight:
            fetched.append(url)
            commands += driver.send(PageFetched(url, [], url.encode()))
        driver.now += 10.0
        commands += driver.send(Tick())
        assert len(driver.frontier._dispatch._robots) <= 5
    assert len(set(fetched)) == len(fetched) == 20
    assert len(learned) <= 20


def test_origins_of_one_host_have_one_pace() -> None:
    queues = HostQueues(PolitenessRules())
    origins = ["http://a.org", "https://a.org", "http://a.org:81", "http://b.org"]
    paces = [queues.pace(origin) for origin in origins]
    assert [queues.pace(origin) for origin in origins] == paces
    assert paces[0] is paces[1]
    assert len({id(pace) for pace in paces}) == 3
    assert HostQueues(PolitenessRules()).pace(origins[0]) is not paces[0]
