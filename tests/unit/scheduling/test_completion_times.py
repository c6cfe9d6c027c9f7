"""When sites will end, as the order and the deadlines have it."""

from __future__ import annotations

from collections import deque

import pytest

from headgate.scheduling.capacity import Capacity
from headgate.scheduling.completion_times import foreseen_ends
from headgate.scheduling.replan import CrawlState, OpenSite


def crawl(**sites: OpenSite) -> CrawlState:
    capacity = Capacity.constant(100e3)
    return CrawlState(dict(sites), deque(sites), capacity, slots=2, now=10.0)


def test_a_site_that_waits_ends_after_those_before_it() -> None:
    ends = foreseen_ends(crawl(first=OpenSite(200e3), second=OpenSite(300e3)))
    assert ends == {"first": pytest.approx(12.0), "second": pytest.approx(15.0)}


def test_a_deadline_that_can_be_kept_is_foreseen_to_be() -> None:
    """Behind the first the second, at 20 KB/s, would be late: so it is served from now on."""
    slow = OpenSite(100e3, deadline=16.0, cap=20e3)
    ends = foreseen_ends(crawl(first=OpenSite(300e3, deadline=16.0), second=slow))
    assert ends["second"] <= 16.0
    assert ends["first"] <= 16.0


def test_a_hopeless_deadline_is_foreseen_to_be_missed() -> None:
    assert foreseen_ends(crawl(only=OpenSite(300e3, deadline=12.0)))["only"] > 12.5


def test_of_very_many_sites_nothing_is_foreseen() -> None:
    assert foreseen_ends(crawl()) == {}
    assert foreseen_ends(crawl(**{f"s{k}": OpenSite(1e3) for k in range(1_000)})) == {}
