from __future__ import annotations

from headgate.crawling.robots import RobotsCache
from headgate.reading.robots import EVERYTHING, NOTHING

DAY = 86_400.0


def test_rules_are_good_for_a_day_by_any_clock() -> None:
    cache = RobotsCache()
    cache.keep("http://a", EVERYTHING, public=True, wall=1_000.0)
    found = cache.find("http://a", 1_000.0 + DAY - 1)
    assert found is not None
    assert (found.rules, found.public) == (EVERYTHING, True)
    assert cache.find("http://a", 1_000.0 + DAY) is None
    assert cache.find("http://a", 999.0) is None, "the clock was set back"
    assert cache.find("http://b", 1_000.0) is None


def test_what_could_not_be_had_is_asked_for_again() -> None:
    cache = RobotsCache()
    cache.keep("http://a", EVERYTHING, public=False, wall=0.0)
    cache.keep("http://a", NOTHING, public=False, wall=10.0)
    assert NOTHING.unreachable
    assert cache.find("http://a", 10.0) is None


def test_the_least_asked_for_goes_first() -> None:
    cache = RobotsCache(most_origins=2)
    for origin in "ab":
        cache.keep(origin, EVERYTHING, public=False, wall=0.0)
    cache.find("a", 1.0)
    cache.keep("c", EVERYTHING, public=False, wall=0.0)
    assert [origin for origin in "abc" if cache.find(origin, 1.0)] == ["a", "c"]
