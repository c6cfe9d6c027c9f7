"""A site in parts: who may share it, how a round is dealt, and that no page is lost or doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from headgate.features.grid.scheduler import site_splitting
from headgate.features.grid.scheduler.site_splitting import (
    Leftover,
    PartResult,
    can_help,
    first_round,
    groups_of_hosts,
    is_shared,
    next_round,
)
from headgate.frontier.events import JournalEntry, UrlOutcome
from headgate.frontier.scope import urls_of
from headgate.frontier.seen_urls import url_hashes
from headgate.model.site import Access, Requisites, Site
from headgate.model.task import SitePart

SITE = Site("s", ("http://a.test/",), nodes_at_once=4)


def test_several_nodes_share_a_site_that_says_so_or_is_at_several_hosts() -> None:
    assert is_shared(SITE)
    assert is_shared(Site("s", ("http://a.test/", "http://b.test/")))
    assert not is_shared(Site("s", ("http://a.test/",)))
    assert not is_shared(Site("s", ("http://a.test/", "https://www.a.test/x")))


@pytest.mark.parametrize(
    "change",
    [
        {"depth": 3}, {"max_pages": 10}, {"max_bytes": 1e6}, {"max_time": 60.0}, {"focus": "food"},
        {"order": "links-in"}, {"requisites": Requisites.PAGE}, {"access": Access(proxy="http://p")},
        {"access": Access(robots="ignore")},
    ],
)  # fmt: skip
def test_what_only_one_who_sees_all_can_keep_is_not_shared(change: dict[str, object]) -> None:
    assert not is_shared(replace(SITE, **change))


def test_of_very_many_hosts_some_are_crawled_together() -> None:
    hosts = [f"h{number}.test" for number in range(30)]
    groups = groups_of_hosts(Site("s", tuple(f"http://{host}/" for host in hosts)))
    assert len(groups) == 8
    assert sorted(host for group in groups for host in group) == sorted(hosts)


def parts_of(waiting: Mapping[int, int], nodes: int, site: Site = SITE) -> list[tuple[int, int]]:
    before = first_round(site, groups_of_hosts(site))[0].part
    planned = next_round(site, before, waiting, nodes, ())
    return [(one.part.group, one.nodes) for one in planned]


def test_a_round_has_as_many_nodes_as_the_site_allows_are_here_and_are_worth_it() -> None:
    assert parts_of({0: 10_000}, 10) == [(0, 4)] * 12
    assert parts_of({0: 10_000}, 3) == [(0, 3)] * 9
    assert parts_of({0: 500}, 10) == [(0, 2)] * 6
    assert parts_of({0: 399}, 10) == [(0, 1)]
    assert parts_of({0: 10_000}, 1) == [(0, 1)]
    assert parts_of({0: 10_000}, 0) == [(0, 1)]
    assert parts_of({}, 10) == []


def test_each_group_of_hosts_is_dealt_by_itself() -> None:
    site = Site("s", ("http://a.test/", "http://b.test/", "http://c.test/"), nodes_at_once=2)
    assert parts_of({0: 5, 2: 900}, 5, site) == [(0, 1), *[(2, 2)] * 6]


def test_a_part_that_is_alone_ends_when_others_can_help() -> None:
    (first,) = first_round(SITE, groups_of_hosts(SITE))
    assert first.part.enough == 800
    (thin,) = next_round(SITE, first.part, {0: 20}, 2, ())
    assert thin.part.enough == 400
    (lonely,) = next_round(SITE, first.part, {0: 5000}, 1, ())
    assert lonely.part.enough is None
    assert can_help(SITE, lonely.part, 400, 2)
    assert not can_help(SITE, lonely.part, 399, 2)
    assert not can_help(SITE, lonely.part, 9999, 1)
    shares = next_round(SITE, first.part, {0: 5000}, 2, ())
    assert not can_help(SITE, shares[0].part, 9999, 4)


def test_hosts_alone_are_each_crawled_to_the_end() -> None:
    site = Site("s", ("http://a.test/", "http://b.test/"))
    assert [one.part.enough for one in first_round(site, groups_of_hosts(site))] == [None, None]


@given(st.lists(st.text("abc/", max_size=6), unique=True), st.integers(1, 9))
def test_every_url_is_of_one_part(paths: list[str], shares: int) -> None:
    hosts = (("a.test",), ("b.test", "c.test"))
    urls = [
        f"http://{host}/{path}" for host in ("a.test", "www.b.test", "d.test") for path in paths
    ]
    owned = Counter(
        url
        for group in range(2)
        for share in range(shares)
        for url in urls_of(SitePart("s", 1, hosts=hosts, group=group, share=share, shares=shares))(
            urls
        )
    )
    assert owned == Counter(urls)


def crawled(
    part: SitePart,
    starts: Mapping[str, int],
    met: set[int],
    links: Mapping[str, Sequence[str]],
    fetched: Counter[str],
) -> PartResult:
    """As a frontier would: its own pages, and what they link to."""
    mine = urls_of(part)
    seen, entries = set(met), [JournalEntry(UrlOutcome.FOUND, found=list(starts))]
    waiting = list(starts)
    while waiting and (part.enough is None or len(waiting) < part.enough):
        url = waiting.pop(0)
        if "private" in url:
            continue  # dropped, and nobody says so
        fetched[url] += 1
        found = [
            link for link in dict.fromkeys(links[url]) if url_hashes([link])[0] not in seen
        ]  # fmt: skip
        seen.update(url_hashes(found))
        waiting += mine(found)
        entries.append(JournalEntry(UrlOutcome.PAGE, url, found, 1))
    robots = ["http://a.test/robots.txt"]
    return PartResult(part, not waiting, lambda: entries, robots)


@given(st.integers(0, 2**32), st.integers(1, 400), st.integers(1, 5), st.integers(1, 5))
def test_rounds_come_to_every_page_once(seed: int, pages: int, nodes: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    hosts = ("a.test", "b.test", "other.test")
    urls = [
        f"http://{hosts[rng.integers(3)]}/{'private/' * bool(rng.random() < 0.1)}{number}"
        for number in range(pages)
    ]
    urls[0] = "http://a.test/"
    degree = rng.integers(1, 4)
    links = {url: [urls[k] for k in rng.integers(pages, size=degree)] for url in urls}
    site = Site("s", ("http://a.test/", "http://b.test/0"), nodes_at_once=most)
    links.setdefault("http://b.test/0", [])
    left, fetched = Leftover(), Counter[str]()
    with patch.object(site_splitting, "_URLS_A_NODE", 5):
        planned = first_round(site, groups_of_hosts(site))
    starts: list[Mapping[str, int]] = [
        dict.fromkeys(urls_of(one.part)(site.seeds), 0) for one in planned
    ]
    met = set(url_hashes(site.seeds))
    for _ in range(10 * pages):
        left.add_results(
            [
                crawled(one.part, start, met, links, fetched)
                for one, start in zip(planned, starts, strict=True)
            ]
        )
        before = planned[0].part
        with patch.object(site_splitting, "_URLS_A_NODE", 5):
            planned = next_round(site, before, left.waiting(before.hosts), nodes, left.explored)
        if not planned:
            break
        starts = [
            {url: depth for depth, some in left.asks(one.part).items() for url in some}
            for one in planned
        ]
        met = set(left.met())
    assert not left.to_do
    reached, waiting = set(site.seeds), list(site.seeds)
    while waiting:
        url = waiting.pop()
        if "private" not in url:
            new = set(links[url]) - reached
            reached |= new
            waiting += new
    assert fetched == Counter(url for url in reached if "private" not in url)
    assert left.explored == {"http://a.test"}
