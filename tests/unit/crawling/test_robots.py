from __future__ import annotations

import asyncio
from collections.abc import Callable

from tests.unit.crawling.answering import Answers

from headgate.crawling.page_reader import PageReader
from headgate.crawling.robots import Discovery, RobotsCache, RobotsOf
from headgate.engine.clock import SystemClock
from headgate.frontier.events import Event, RobotsLearned
from headgate.frontier.retries import RetryRules
from headgate.model.fetch import Fetched, FetchFailure
from headgate.model.page import Role
from headgate.reading.robots import EVERYTHING, NOTHING, RobotsRules

DAY = 86_400.0
A = RobotsOf("http://a", "site", "headgate")


def test_rules_are_good_for_a_day_by_any_clock() -> None:
    cache = RobotsCache()
    cache.keep(A, EVERYTHING, public=True, wall=1_000.0)
    found = cache.find(A, 1_000.0 + DAY - 1)
    assert found is not None
    assert (found.rules, found.public) == (EVERYTHING, True)
    assert cache.find(A, 1_000.0 + DAY) is None
    assert cache.find(A, 999.0) is None, "the clock was set back"
    assert cache.find(RobotsOf("http://b", "site", "headgate"), 1_000.0) is None


def test_what_could_not_be_had_is_asked_for_again() -> None:
    cache = RobotsCache()
    cache.keep(A, EVERYTHING, public=False, wall=0.0)
    cache.keep(A, NOTHING, public=False, wall=10.0)
    assert NOTHING.unreachable
    assert cache.find(A, 10.0) is None


def test_the_least_asked_for_goes_first() -> None:
    cache = RobotsCache(most_origins=2)
    a, b, c = (RobotsOf(origin, "site", "headgate") for origin in "abc")
    for origin in (a, b):
        cache.keep(origin, EVERYTHING, public=False, wall=0.0)
    cache.find(a, 1.0)
    cache.keep(c, EVERYTHING, public=False, wall=0.0)
    assert [of.origin for of in (a, b, c) if cache.find(of, 1.0)] == ["a", "c"]


def test_large_rules_are_kept_for_few_origins() -> None:
    large = RobotsRules.parse(
        b"User-agent: *\n" + b"".join(b"Disallow: /*%d*x\n" % k for k in range(1_000))
    )
    cache = RobotsCache(most_held_bytes=3 * large.paths.held_bytes)
    origins = [RobotsOf(str(number), "site", "headgate") for number in range(5)]
    for origin in origins:
        for _ in range(2):  # the second takes the place of the first
            cache.keep(origin, large, public=False, wall=0.0)
    assert [of.origin for of in origins if cache.find(of, 0.0)] == ["2", "3", "4"]


def test_a_site_goes_by_no_rules_that_were_read_for_another() -> None:
    """One ignores robots.txt of a host, by the user's wish, and another has its own token."""
    forbids = "User-agent: *\nDisallow: /\n\nUser-agent: mine\nDisallow: /mine"
    web = Answers({"/robots.txt": [(200, forbids, 1)]})
    cache, url = RobotsCache(), "http://site.test/page"

    def may_fetch(site: str, agent: str = "headgate", *, ignored: bool = False) -> bool:
        return asyncio.run(_allows(cache, web, site, agent, ignored=ignored))(url)

    assert may_fetch("own", ignored=True)
    assert not may_fetch("other")
    assert not may_fetch("own"), "the user thought better of it"
    assert may_fetch("own", ignored=True)
    assert may_fetch("own", "mine")
    assert len(web.asked) == 3
    assert not may_fetch("own")
    assert len(web.asked) == 3


async def _allows(
    cache: RobotsCache, web: Answers, site: str, agent: str, *, ignored: bool
) -> Callable[[str], bool]:
    told: list[Event] = []

    async def keep(_: Fetched | FetchFailure, __: Role) -> None:
        pass

    discovery = Discovery(
        site,
        web.fetch,
        reader=PageReader(agent),
        clock=SystemClock(),
        keep=keep,
        send=told.append,
        retries=RetryRules(),
        longest_pause=60.0,
        cache=cache,
        ignored=frozenset({"site.test"} if ignored else ()),
    )
    await discovery.explore("http://site.test")
    learned = told[0]
    assert isinstance(learned, RobotsLearned)
    return learned.allows
