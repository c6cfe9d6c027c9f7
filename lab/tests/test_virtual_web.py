"""The virtual web keeps the laws of its spec, and the survey's order beats the depth cut on it."""

from __future__ import annotations

import numpy as np

from headgate_lab.worlds.virtual_web import DEEPEST, make_web


def test_the_same_seed_makes_the_same_web() -> None:
    one, other = make_web(3, sites=40), make_web(3, sites=40)
    assert np.array_equal(one.targets, other.targets)
    assert np.array_equal(one.parent, other.parent)
    assert not np.array_equal(make_web(4, sites=40).depth, one.depth)


def test_trees_hold_together() -> None:
    web = make_web(5, sites=60)
    below = web.parent >= 0
    assert np.array_equal(web.depth[below], web.depth[web.parent[below]] + 1)
    assert np.array_equal(web.site[below], web.site[web.parent[below]])
    assert web.depth.max() <= DEEPEST
    reached = [page for parent in range(web.pages) for page in web.children(parent)]
    assert sorted(reached) == np.flatnonzero(below).tolist()


def test_urls_name_pages_both_ways() -> None:
    web = make_web(6, sites=30)
    for page in range(web.pages):
        assert web.page_of(web.url(page)) == page
    assert web.page_of("http://s0.web.test/0/99999.html") is None
    assert web.page_of("http://elsewhere.test/") is None


def test_the_depth_curve_is_the_papers() -> None:
    loads, losses = [], []
    for seed in range(50, 53):
        web = make_web(seed, sites=1200, hosts=21_000)
        pages = np.cumsum(web.pages_by_depth()) / web.pages
        hosts = np.cumsum(web.hosts_by_depth())
        loads.append(pages[8])
        losses.append(1 - hosts[8] / hosts[-1])
    assert 0.76 < np.mean(loads) < 0.84
    assert np.mean(losses) < 0.01
