"""One lattice of rates for pages of all speeds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.keep.recrawl.arrays import FloatArray
from headgate.features.keep.recrawl.kept_site import DAY_SECONDS, KeptSite, SitePages, SiteTerms
from headgate.features.keep.recrawl.page_estimates import PageEstimates
from headgate.features.keep.recrawl.rates import RateGrid, RatePrior
from headgate_lab.worlds.looked_pages import Look, take_in

T0 = 1e9


@given(st.floats(0.01, 1e6))
def test_grids_share_their_rates_and_reach_far_enough(min_interval: float) -> None:
    grid, usual = RateGrid.for_interval(min_interval), RateGrid()
    np.testing.assert_allclose(grid.rates[: len(usual)], usual.rates)
    assert grid.rates[-1] >= 4.0 * grid.speed * (1 - 1e-9)
    assert grid.usual.sum() == pytest.approx(1.0)
    assert len(grid) <= 70


def watched(min_interval: float, gap: float, rate: float, looks: int) -> KeptSite:
    """Twenty pages that change at ``rate`` a day, seen so many times, ``gap`` seconds apart."""
    terms = SiteTerms(min_interval=min_interval)
    pages = SitePages.unasked(20)
    pages.asked[:] = pages.known_at[:] = T0
    kept = KeptSite(terms, pages, RatePrior().probabilities(terms.grid))
    rng = np.random.default_rng(1)
    now = T0
    for _ in range(looks):
        now += gap
        changed = rng.random(20) < -np.expm1(-rate * gap / DAY_SECONDS)
        take_in(kept, [Look(page, now, bool(seen)) for page, seen in enumerate(changed)])
    return kept


def learned_rates(kept: KeptSite) -> FloatArray:
    """By the mean of the logarithm, as rates lie on the lattice: whatever may happen, a page may
    become a very fast one, and a mean of rates would be of little else."""
    log_rates = np.log(kept.terms.grid.rates)
    return np.asarray(np.exp(PageEstimates(kept).probabilities @ log_rates))


@pytest.mark.parametrize("seconds", [1.0, 5.0, 60.0])
def test_pages_of_seconds_are_known_as_well_as_those_of_days(seconds: float) -> None:
    """The same story told faster comes to the same rate in its own time."""
    slow = watched(3600.0, 3 * 3600.0, 2.0, looks=12)
    scale = 3600.0 / seconds
    fast = watched(seconds, 3 * seconds, 2.0 * scale, looks=12)
    found = learned_rates(fast) / scale
    np.testing.assert_allclose(found, learned_rates(slow), rtol=0.15)


def test_a_shorter_interval_keeps_what_was_learned_of_slow_pages() -> None:
    kept = watched(3600.0, 20 * DAY_SECONDS, 1 / 40, looks=15)
    collection = RatePrior()
    collection.counted("site", 50 * PageEstimates(kept).probabilities.sum(axis=0))
    collection.renew()  # of a thousand such pages
    kept.prior = collection.probabilities(kept.terms.grid)
    before = learned_rates(kept)
    kept.terms = SiteTerms(min_interval=5.0)
    kept.prior = collection.probabilities(kept.terms.grid)
    np.testing.assert_allclose(learned_rates(kept), before, rtol=0.35)
    kept.terms = SiteTerms()
    kept.prior = collection.probabilities(kept.terms.grid)
    np.testing.assert_allclose(learned_rates(kept), before)


def test_sites_of_all_speeds_make_one_prior() -> None:
    fast, slow = RateGrid.for_interval(5.0), RateGrid()
    prior = RatePrior()
    np.testing.assert_allclose(prior.probabilities(fast), fast.usual)
    prior.counted("fast", np.eye(len(fast))[50] * 1000)
    prior.counted("slow", np.eye(len(slow))[3] * 1000)
    prior.renew()
    both = prior.probabilities(fast)
    assert both.sum() == pytest.approx(1.0)
    assert both[50] == pytest.approx(both[3], rel=0.01)
    assert prior.probabilities(slow)[3] > 0.4
    prior.forget("fast")
    prior.renew()
    assert prior.probabilities(fast)[50] < 0.01


def test_the_prior_in_use_is_another_one_every_two_hundred_visits() -> None:
    prior = RatePrior()
    sure = np.eye(32)[0] * 1e6
    renewed = [prior.visited("a", sure) for _ in range(400)]
    assert [n + 1 for n, new in enumerate(renewed) if new] == [200, 400]
    assert prior.probabilities(RateGrid())[0] > 0.99
