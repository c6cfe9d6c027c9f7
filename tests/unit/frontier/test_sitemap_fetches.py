"""Sitemaps are fetched as pages are: in scope, at the host's pace, under its robots rules."""

from __future__ import annotations

from headgate.frontier.dispatch import DispatchRules
from headgate.frontier.events import (
    NAMED_BY_INDEX,
    NAMED_BY_SITE,
    Command,
    Done,
    ErrorStatus,
    Fetch,
    FetchFailed,
    Found,
    LearnRobots,
    PageFetched,
    Redirected,
    RobotsLearned,
    Seeds,
    SitemapRead,
    SitemapsNamed,
)
from headgate.frontier.frontier import Frontier, FrontierRules
from headgate.frontier.politeness import PolitenessRules
from headgate.frontier.scope import Scope
from headgate.frontier.traps import TrapRules
from headgate.frontier.url_filter import MOST_SITEMAPS
from headgate.frontier.url_queue import MemorySpill
from headgate.model.fetch import FailureKind

HOME = "http://a.org"


def allow(_: str) -> bool:
    return True


class Site:
    """A frontier whose front page was fetched, one request a second."""

    def __init__(self, *include: str, delay: float = 1.0) -> None:
        rules = DispatchRules(pace=PolitenessRules(delay=delay))
        scope = Scope([f"{HOME}/"], include=include)
        traps = TrapRules(this_year=2026)
        self.frontier = Frontier(scope, MemorySpill(), FrontierRules(traps, rules))
        self.now = 0.0
        self.send(Seeds([f"{HOME}/"]))
        self.send(RobotsLearned(HOME, allow))

    def send(self, event: object) -> list[Command]:
        self.now += 1.0
        commands = self.frontier.handle(event, self.now)  # type: ignore[arg-type]
        self.frontier.check()
        return commands

    def fetches(self, event: object) -> list[str]:
        return [command.url for command in self.send(event) if isinstance(command, Fetch)]


def test_one_at_a_time_and_the_site_is_not_done_before() -> None:
    site = Site()
    maps = [f"{HOME}/{k}.xml" for k in range(3)]
    assert site.fetches(SitemapsNamed(maps)) == [maps[0]]
    assert site.frontier.tally.to_do == 0
    assert site.fetches(PageFetched(f"{HOME}/")) == [maps[1]]
    assert site.fetches(SitemapRead(maps[0])) == [maps[2]]
    assert site.fetches(Found([f"{HOME}/listed"])) == [f"{HOME}/listed"]
    assert not any(isinstance(c, Done) for c in site.send(PageFetched(f"{HOME}/listed")))
    site.send(SitemapRead(maps[1]))
    assert any(isinstance(c, Done) for c in site.send(SitemapRead(maps[2])))


def test_other_hosts_are_left_out_and_so_is_what_is_too_much() -> None:
    site = Site()
    elsewhere = [f"http://b.org/{k}.xml" for k in range(70)]
    own = [f"{HOME}/{k}.xml" for k in range(70)]
    site.send(SitemapsNamed([*elsewhere, "ftp://a.org/x", *own]))
    refused = site.frontier.tally.refused
    assert refused == {"other host": 71, "too many sitemaps": 70 - MOST_SITEMAPS}
    site.send(SitemapsNamed([f"{HOME}/more.xml"], by_index=True))
    assert site.frontier.tally.refused["too many sitemaps"] == 71 - MOST_SITEMAPS


def test_a_host_that_the_user_let_in_is_asked_for_its_rules_first() -> None:
    site = Site(r"^http://cdn\.org/", "/")
    commands = site.send(SitemapsNamed(["http://cdn.org/map.xml", "http://cdn.org/no.xml"]))
    assert LearnRobots("http://cdn.org") in commands
    learned = RobotsLearned("http://cdn.org", lambda url: "no" not in url)
    assert site.fetches(learned) == ["http://cdn.org/map.xml"]
    site.now += 9.0
    assert site.fetches(SitemapRead("http://cdn.org/map.xml")) == []


def test_an_index_is_marked_and_a_redirect_followed_within_the_site() -> None:
    site = Site()
    (first,) = [c for c in site.send(SitemapsNamed([f"{HOME}/i.xml"])) if isinstance(c, Fetch)]
    assert first.sitemap == NAMED_BY_SITE
    assert site.fetches(Redirected(f"{HOME}/i.xml", f"{HOME}/index.xml")) == [f"{HOME}/index.xml"]
    site.send(Redirected(f"{HOME}/index.xml", "http://b.org/index.xml"))
    named = site.send(SitemapsNamed([f"{HOME}/part.xml"], by_index=True))
    assert [c.sitemap for c in named if isinstance(c, Fetch)] == [NAMED_BY_INDEX]
    site.send(ErrorStatus(f"{HOME}/part.xml", 404))
    assert any(isinstance(c, Done) for c in site.send(PageFetched(f"{HOME}/")))


def test_a_sitemap_that_fails_is_tried_again_and_then_left() -> None:
    site = Site()
    url = f"{HOME}/s.xml"
    site.send(PageFetched(f"{HOME}/"))
    site.send(SitemapsNamed([url]))
    for _ in range(2):
        site.send(FetchFailed(url, FailureKind.CLOSED))
        site.now += 60.0
        assert site.fetches(Found([])) == [url]
    assert any(isinstance(c, Done) for c in site.send(FetchFailed(url, FailureKind.CLOSED)))
    assert site.frontier.tally.outcomes.keys() == {"page"}
