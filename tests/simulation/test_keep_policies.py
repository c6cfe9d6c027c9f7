"""Each policy drives a keeper by its own law, in virtual time."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from tests.simulation.kept_web import (
    BEGIN,
    DAY,
    HOUR,
    ChangingPages,
    Onlooker,
    keep_job,
    keep_virtually,
    site,
)

from headgate.features.keep import visit_planner as keep_desk
from headgate.features.keep.recrawl.page_policies import ByIndex
from headgate.features.keep.recrawl.policies import keep_policy
from headgate.features.keep.recrawl.priority_groups import ChannelGroups
from headgate.features.keep.recrawl.scheduler import DueVisit as BoardTask
from headgate.features.keep.recrawl.scheduler import Why
from headgate.features.keep.visit_planner import VisitPlanner
from headgate.model.keeping import Staleness
from headgate.model.site import Site
from headgate.model.units import Seconds
from headgate.site_file.parsing import SiteFile
from headgate.storage.catalog.sqlite import SqliteCatalog
from headgate.storage.collection import Collection
from headgate.testing.virtual_time import VirtualClock

MINUTE = 60.0


class SitesOfTheirOwn(ChangingPages):
    """All pages of a host change alike, those of the first host most often."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        for number, host in enumerate(self.hosts):
            rate = self.rates[number % len(self.rates)]
            for page in range(self.pages):
                count = rng.poisson(rate * self.days)
                self.changes[host, page] = np.sort(BEGIN + rng.random(count) * self.days * DAY)


def visits_of(web: ChangingPages, host: str) -> list[list[float]]:
    """Moments of looks, by visit: a gap of ten minutes ends one."""
    moments = sorted(at for url, ats in web.asked.items() if host in url for at in ats)
    found = [[moments[0]]]
    for before, at in pairwise(moments):
        if at - before > 10 * MINUTE:
            found.append([])
        found[-1].append(at)
    return found


def test_uniform_looks_at_all_pages_alike(tmp_path: Path) -> None:
    web = ChangingPages(["a.example", "b.example"], pages=4, rates=(0.02, 6.0))
    job = keep_job(tmp_path, [site(host) for host in web.hosts], 1.0)
    keep_virtually(replace(job, policy=keep_policy("uniform")), web)
    looks = [len(at) for at in web.asked.values()]
    assert max(looks) - min(looks) <= 1
    assert min(looks) >= 20


def test_nutch_lengthens_and_shortens_intervals_by_a_fifth(tmp_path: Path) -> None:
    """The first interval is a month where pages may be asked once an hour; here 60 times as short.
    Held against the rule, reckoned from what each look found."""
    web = ChangingPages(["a.example"], pages=4, rates=(0.1, 30.0))
    kept = site("a.example", min_interval=Seconds(MINUTE))
    job = replace(keep_job(tmp_path, [kept], 4.0, tend_seconds=30.0), policy=keep_policy("nutch"))
    keep_virtually(job, web)
    gaps = 0
    for url, moments in web.asked.items():
        page = int(url.rpartition("/")[2].strip("p") or 0)
        versions = [web.version("a.example", page, at) for at in moments]
        interval = 30 * DAY / 60
        looks = list(zip(pairwise(moments), pairwise(versions), strict=True))
        for (before, at), (old, new) in looks[:32]:
            assert at - before == pytest.approx(interval, abs=2 * MINUTE, rel=0.02)
            interval *= 0.8 if new > old else 1.2
            gaps += 1
    assert gaps > 40


def watched(onlooker: Onlooker) -> ChannelGroups:
    assert onlooker.keeper is not None
    order = onlooker.keeper.planner.policy.order
    assert isinstance(order, ChannelGroups)
    return order


def test_fixed_gives_each_site_a_turn_every_interval_of_its_group(tmp_path: Path) -> None:
    """A turn asks for every page of the site; its interval is the mean time between changes in its
    group, as far as that is known."""
    hosts = [f"{letter}.example" for letter in "abcde"]
    web = SitesOfTheirOwn(hosts, pages=2, rates=(24.0, 12.0, 6.0, 3.0, 1.5))
    sites = [site(host, min_interval=Seconds(MINUTE)) for host in hosts]
    job = keep_job(tmp_path, sites, 4.0, tend_seconds=60.0)
    intervals: dict[str, list[tuple[float, float]]] = defaultdict(list)

    async def watch(clock: VirtualClock, onlooker: Onlooker) -> None:
        while True:
            await asyncio.sleep(10 * MINUTE)
            if onlooker.keeper is not None and len(onlooker.keeper.planner.pages) == 5:
                for host in hosts:
                    interval = watched(onlooker).interval(host, clock.wall())
                    intervals[host].append((clock.wall(), interval))

    keep_virtually(replace(job, policy=keep_policy("fixed")), web, meanwhile=watch)
    for host in hosts:
        visits = visits_of(web, host)[1:]
        assert all(len(visit) == 2 for visit in visits), "all of it, once"
        for before, after in pairwise(visits):
            told = [each for at, each in intervals[host] if before[0] - HOUR <= at <= after[0]]
            gap = after[0] - before[0]
            assert min(told) - 10 * MINUTE <= gap <= max(told) + 10 * MINUTE
    counts = [len(visits_of(web, host)) for host in hosts]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 3 * counts[-1]


@pytest.mark.parametrize("name", ["iir", "icr"])
def test_intervals_follow_the_capacity_seen(tmp_path: Path, name: str) -> None:
    """The line carries less than half of what FIXED would ask for: turns are missed, and intervals
    grow until most are taken, the fastest group's the shortest."""
    rates = (400.0, 200.0, 100.0, 50.0, 25.0)
    hosts = [f"{letter}.example" for letter in "abcde"]
    web = SitesOfTheirOwn(hosts, pages=4, rates=rates, heeds=False)
    kept = [site(host, min_interval=Seconds(30.0)) for host in hosts]
    job = keep_job(tmp_path, kept, 0.8, rate=50.0, tend_seconds=30.0)
    _, onlooker, _ = keep_virtually(replace(job, policy=keep_policy(name)), web)
    groups, end = watched(onlooker), BEGIN + 0.8 * DAY
    assert groups.intervals is not None
    wanted = sum(DAY / groups.interval(host, end) for host in hosts)
    looks = sum(at > end - 0.25 * DAY for moments in web.asked.values() for at in moments)
    made = looks / web.pages / 0.25
    assert 0.5 < made / wanted <= 1.3
    assert made < 0.8 * sum(rates), "the line cannot carry more"
    ratios = groups.intervals[1:] / groups.intervals[:-1]
    assert (ratios >= 1.0).all()
    assert (ratios <= 3.0 + 1e-9).all()


def test_a_large_site_has_its_turn_in_several_visits(tmp_path: Path) -> None:
    """The line carries half of the site in the time that one visit may have."""
    web = SitesOfTheirOwn(["a.example"], pages=40, rates=(1.0,), heeds=False)
    kept = site("a.example", min_interval=Seconds(10 * MINUTE))
    job = keep_job(tmp_path, [kept], 8.0, rate=100.0)
    keep_virtually(replace(job, policy=keep_policy("fixed")), web)
    looks = [len(at) for at in web.asked.values()]
    assert len(looks) == 40
    assert max(looks) - min(looks) <= 1, "no page twice in a turn"
    assert min(looks) >= 3


def test_what_is_made_small_may_change_while_it_runs(tmp_path: Path) -> None:
    web = ChangingPages(["a.example"], pages=4)
    job = keep_job(tmp_path, [site("a.example")], 0.3)
    fresh = replace(job.budget, staleness=Staleness.FRESHNESS)
    files = [SiteFile(fresh, job.sites)]
    job = replace(job, reread=lambda _: files.pop() if files else None)
    status, onlooker, _ = keep_virtually(job, web)
    assert status.objective == "freshness"
    assert onlooker.keeper is not None
    assert onlooker.keeper.planner.policy.pages == ByIndex(Staleness.FRESHNESS)


def test_sites_are_compared_by_what_holds_now(tmp_path: Path) -> None:
    """Not by what their last visits made of terms and policies that are others now."""
    web = ChangingPages(["a.example"], pages=4)
    usual, more = site("a.example"), site("a.example", importance=10.0)
    keep_virtually(keep_job(tmp_path, [usual], 0.1), web)
    now = BEGIN + DAY

    def worth(name: str, *files: Site) -> float:
        with SqliteCatalog(Collection(tmp_path).catalog) as catalog:
            desk = VisitPlanner(Collection(tmp_path), catalog, keep_policy(name))
            for one in files:
                desk.set_sites([one], now)
            return float(desk.board.places.rows.values(now + DAY)[0])

    by_index = worth("index", usual)
    assert worth("index", usual, more) > 5 * by_index, "in a file that is read again"
    assert worth("index", more) > 5 * by_index, "in the file of the next start"
    assert worth("uniform", usual) > 100 * by_index, "days since the last look, for all bytes"
    assert worth("index", usual) == pytest.approx(by_index)


def test_a_visit_names_no_more_urls_than_a_message_to_a_node_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = ChangingPages(["a.example"], pages=6)
    keep_virtually(keep_job(tmp_path, [site("a.example")], 0.1), web)
    now = BEGIN + DAY
    with SqliteCatalog(Collection(tmp_path).catalog) as catalog:
        desk = VisitPlanner(Collection(tmp_path), catalog, keep_policy("index"))
        desk.set_sites([site("a.example")], now)

        def planned(most_bytes: int) -> tuple[str, ...]:
            monkeypatch.setattr(keep_desk, "_MOST_URL_BYTES", most_bytes)
            visit = desk.plan(BoardTask("a.example", Why.USER, None, 0.0, 0.0), now, math.inf)
            assert visit is not None
            assert visit.asks is not None
            return visit.asks

        assert len(planned(1 << 20)) == 6
        assert sum(map(len, planned(60))) <= 60
        assert 1 < len(planned(60)) < 6
        assert len(planned(1)) == 1
