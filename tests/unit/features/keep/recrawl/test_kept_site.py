"""A site at its visit: which pages are asked, what looks teach, how it stands afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.features.keep.recrawl.kept_site import (
    DAY_SECONDS,
    KeptSite,
    LastmodTrust,
    LookCosts,
    SitePages,
    SiteTerms,
)
from headgate.features.keep.recrawl.page_estimates import (
    FOR_ALL,
    PageEstimates,
    expected_age,
    look_value,
    mean_age,
    mean_freshness,
    probability_changed,
)
from headgate.features.keep.recrawl.page_histories import is_flapping, nutch_intervals
from headgate.features.keep.recrawl.page_policies import (
    ByIndex,
    ByNutch,
    PagePolicy,
    Uniform,
    WholeChannel,
)
from headgate.features.keep.recrawl.rates import RateGrid, RatePrior
from headgate.features.keep.recrawl.site_outlook import KNOTS_SECONDS, outlook_of
from headgate.features.keep.recrawl.site_table import SiteRows
from headgate.features.keep.recrawl.visit_choice import chosen_visit, promised_visit
from headgate.model.keeping import Staleness
from headgate_lab.worlds.looked_pages import Look, take_in

T0 = 1e9
INDEX = ByIndex()


def site(pages: int = 4, terms: SiteTerms | None = None) -> KeptSite:
    """All asked at T0, 50 KB each, every other one with a validator."""
    terms = terms or SiteTerms()
    arrays = SitePages.unasked(pages, size=50_000.0)
    arrays.asked[:] = arrays.known_at[:] = T0
    arrays.validators[::2] = True
    return KeptSite(terms, arrays, RatePrior().probabilities(terms.grid))


def looks(at: float, *changed: bool | None) -> list[Look]:
    return [Look(page, at, seen) for page, seen in enumerate(changed)]


def test_the_important_page_goes_first_and_others_ride_along() -> None:
    kept = site(pages=6)
    kept.pages.importances[4] = 10.0
    kept.pages.importances[5] = 0.001
    now = T0 + 30 * DAY_SECONDS
    visit = chosen_visit(kept, INDEX, now)
    assert visit is not None
    assert visit.pages[0] == 4
    assert 5 not in visit.pages
    expected = LookCosts().connection + PageEstimates(kept).cost(now)[visit.pages].sum()
    assert visit.expected_bytes == pytest.approx(expected)
    kept.pages.importances[:] = 1.0
    cheap = chosen_visit(kept, INDEX, now)
    assert cheap is not None
    assert sorted(cheap.pages.tolist()) == [0, 2, 4]  # the others would be sent again unchanged
    together = chosen_visit(kept, INDEX, T0 + 300 * DAY_SECONDS)
    assert together is not None
    assert sorted(together.pages.tolist()) == list(range(6))
    assert together.pages[0] in (0, 2, 4)  # the cheap ones first


def test_a_page_of_hardly_any_importance_counts_among_all_pages() -> None:
    kept = site(pages=3)
    now = T0 + 30 * DAY_SECONDS
    ordinary = PageEstimates(kept).value(Staleness.AGE, now)
    kept.pages.importances[:] = [1e-9, 1.0, 10.0]
    light, same, heavy = PageEstimates(kept).value(Staleness.AGE, now) / ordinary
    assert same == pytest.approx(1.0)
    assert light == pytest.approx(FOR_ALL)
    assert heavy == pytest.approx(FOR_ALL + (1 - FOR_ALL) * 10.0)


@pytest.mark.parametrize("staleness", list(Staleness))
@pytest.mark.parametrize("rate_cell", [8, 16, 24])
@pytest.mark.parametrize("byte_worth", [1e-5, 1e-3])
def test_looking_when_the_index_says_so_is_the_best_period_of_a_page(
    staleness: Staleness, rate_cell: int, byte_worth: float
) -> None:
    """Bytes that an unchanged page saves are saved by looking often, too."""
    kept = site(pages=2)
    kept.prior = np.zeros(len(kept.terms.grid))
    kept.prior[rate_cell] = 1.0
    rate = float(kept.terms.grid.rates[rate_cell])
    periods = np.geomspace(0.01, 1_000.0, 4_000)
    moments = T0 + periods * DAY_SECONDS
    known = PageEstimates(kept)
    of_age = staleness is Staleness.AGE
    stale = mean_age(rate, periods) if of_age else 1 - mean_freshness(rate, periods)
    paid = stale[:, None] + byte_worth * known.cost(moments) / periods[:, None]
    best = paid.argmin(axis=0)
    index = known.value(staleness, moments) / known.charge(moments)
    for page, when in enumerate(best):
        if 0 < when < len(periods) - 1:
            assert index[when, page] == pytest.approx(byte_worth, rel=0.03)
        else:
            assert (index[:-1, page] < byte_worth).all()  # it is given up


def test_a_change_told_by_a_sitemap_is_charged_only_where_another_comes() -> None:
    kept = site(pages=2)
    now = T0 + 30 * DAY_SECONDS
    before = PageEstimates(kept).charge(now)
    kept.pages.told_at[:] = now - DAY_SECONDS
    known = PageEstimates(kept)
    assert before[0] < known.charge(now)[0] < known.cost(now)[0]
    assert before[1] == known.charge(now)[1] == known.cost(now)[1]  # no validator


def test_bytes_bound_those_that_ride_along() -> None:
    now = T0 + 30 * DAY_SECONDS
    whole = chosen_visit(site(), INDEX, now)
    assert whole is not None
    for bound in (0.0, 30_000.0, 60_000.0, 1e9):
        part = chosen_visit(site(), INDEX, now, most_bytes=bound)
        assert part is not None
        assert part.pages.tolist() == whole.pages.tolist()[: len(part.pages)]
        assert len(part.pages) == 1 or part.expected_bytes <= bound


def test_no_page_is_asked_before_it_may_be() -> None:
    kept = site()
    assert chosen_visit(kept, Uniform(), T0 + 3599) is None
    assert chosen_visit(kept, Uniform(), T0 + 3600) is not None
    kept.pages.not_before[:] = [0.0, np.inf, T0 + 9e9, 0.0]
    visit = chosen_visit(kept, Uniform(), T0 + 3600)
    assert visit is not None
    assert sorted(visit.pages.tolist()) == [0, 3]


@given(st.lists(st.tuples(st.floats(1.0, 40.0), st.booleans()), min_size=1, max_size=25))
def test_waiting_for_a_change_that_is_seldom_is_bounded_by_a_day(
    history: list[tuple[float, bool]],
) -> None:
    kept = site(1)
    now = T0
    for days, changed in history:
        now += days * DAY_SECONDS
        take_in(kept, looks(now, changed))
    ready = INDEX.ready(PageEstimates(kept))[0]
    assert now + 3600 <= ready <= now + DAY_SECONDS


def test_pages_that_gave_nothing_to_copy_are_not_out_of_date() -> None:
    """As a seed that answers 404; one that was never asked for is out of date."""
    kept = site(3)
    before = outlook_of(kept, INDEX, T0)
    kept.pages.known_at[1] = 0.0
    without = outlook_of(kept, INDEX, T0)
    assert without.pages == 2
    assert without.fresh == pytest.approx(before.fresh)
    kept.pages.asked[1] = 0.0
    unseen = outlook_of(kept, INDEX, T0)
    assert unseen.pages == 3
    assert unseen.fresh[0] < without.fresh[0]
    kept.pages.asked[:], kept.pages.known_at[:] = T0, 0.0
    assert outlook_of(kept, INDEX, T0).pages == 0


@pytest.mark.parametrize("policy", [INDEX, ByIndex(Staleness.FRESHNESS), Uniform(), ByNutch()])
def test_the_curve_is_what_the_best_page_is_worth_then(policy: PagePolicy) -> None:
    kept = site(5)
    kept.pages.asked[:] += np.array([0.0, -5, -50, 3, -1]) * DAY_SECONDS
    kept.pages.known_at[:] = kept.pages.asked
    kept.pages.importances[:] = [1, 2, 3, 4, 5]
    now = T0 + 4 * DAY_SECONDS
    seen = outlook_of(kept, policy, now)
    known = PageEstimates(kept)
    ready = policy.ready(known)
    assert seen.begins == max(now, ready.min())
    for knot, value in zip(KNOTS_SECONDS, seen.values, strict=True):
        at = seen.begins + float(knot)
        worth = policy.worth(known, at).opening
        assert value == pytest.approx(max(worth[ready <= at]), rel=1e-9)
    assert seen.oldest_look == T0 - 50 * DAY_SECONDS
    assert sum(seen.rate_weights) == pytest.approx(5.0)


def test_a_promise_does_not_press_before_a_page_may_be_fetched_for_it() -> None:
    """Robots.txt forbade the oldest page, so it waits for a day, as long as is promised."""
    terms = SiteTerms(fresh_within=DAY_SECONDS)
    kept = site(2, terms)
    kept.pages.not_before[0] = T0 + DAY_SECONDS
    kept.pages.asked[1] += 3600.0
    now = T0 + 7200.0
    seen = outlook_of(kept, INDEX, now)
    rows = SiteRows.empty(1)
    rows.set_terms(0, terms)
    rows.set_outlook(0, seen)
    presses = float(rows.presses_at()[0])
    assert promised_visit(kept, presses) is not None
    kept.pages.not_before[1] = T0 + DAY_SECONDS
    rows.set_outlook(0, outlook_of(kept, INDEX, now))
    presses = float(rows.presses_at()[0])
    assert presses == T0 + DAY_SECONDS
    assert promised_visit(kept, presses - 1.0) is None
    visit = promised_visit(kept, presses)
    assert visit is not None
    assert sorted(visit.pages) == [0, 1]


@given(
    st.lists(st.tuples(st.floats(0.001, 900.0), st.booleans()), max_size=8),
    st.floats(1e-4, 2000.0),
)
def test_averages_by_table_are_those_by_formula(
    history: list[tuple[float, bool]], days: float
) -> None:
    kept = site(1)
    now = T0
    for gap, changed in history:
        now += gap * DAY_SECONDS
        take_in(kept, looks(now, changed))
    known = PageEstimates(kept)
    rates, at = RateGrid().rates, now + days * DAY_SECONDS
    row = known.probabilities[0]
    since = (at - now) / DAY_SECONDS
    changed_exactly = float(row @ probability_changed(rates, since))
    age_exactly = float(row @ expected_age(rates, since))
    assert known.probability_changed(at)[0] == pytest.approx(changed_exactly, rel=0.005)
    assert known.expected_age(at)[0] == pytest.approx(age_exactly, rel=0.005)
    for staleness in Staleness:
        exactly = float(row @ look_value(staleness, rates, since))
        assert known.value(staleness, at)[0] == pytest.approx(exactly, rel=0.005)


def test_a_large_site_is_reckoned_as_its_pages_alone() -> None:
    """Pages are averaged in blocks."""
    kept = site(10_000)
    kept.pages.known_at -= np.linspace(0, 300, 10_000) * DAY_SECONDS
    known = PageEstimates(kept)
    some = [0, 4095, 4096, 9999]
    alone = PageEstimates(site(1))
    for page in some:
        alone.site.pages.known_at[0] = kept.pages.known_at[page]
        found = known.probability_changed(T0 + 1000.0)[page]
        assert found == pytest.approx(alone.probability_changed(T0 + 1000.0)[0], rel=1e-9)


def test_looks_teach_which_page_changes() -> None:
    kept = site(3)
    for day in range(1, 11):
        take_in(kept, looks(T0 + day * DAY_SECONDS, True, False, None))
    often, seldom, unknown = PageEstimates(kept).probability_changed(T0 + 11 * DAY_SECONDS)
    assert often > 0.7
    assert seldom < 0.1
    assert not kept.pages.histories[2].any()
    assert kept.pages.asked.tolist() == [T0 + 10 * DAY_SECONDS] * 3
    assert seldom < unknown < often


def test_a_first_look_tells_nothing_of_the_rate() -> None:
    kept = site(1)
    kept.pages.asked[:] = kept.pages.known_at[:] = 0.0
    take_in(kept, looks(T0, True))
    assert not kept.pages.histories.any()
    assert kept.pages.asked[0] == T0


def test_a_promise_asks_the_longest_unseen_and_all_that_are_ripe() -> None:
    kept = site(5, SiteTerms(fresh_within=DAY_SECONDS))
    kept.pages.asked[:] = T0 - np.array([0.3, 0.6, 0.97, 0.55, 0.7]) * DAY_SECONDS
    kept.pages.not_before[4] = T0 + 1
    visit = promised_visit(kept, T0)
    assert visit is not None
    assert visit.pages.tolist() == [2, 1, 3]
    kept.pages.asked[:] = T0
    assert promised_visit(kept, T0) is None
    assert promised_visit(site(), T0 + 9e9) is None


def test_a_lastmod_makes_a_page_worth_a_look_as_far_as_it_is_trusted() -> None:
    kept = site(2)
    now = T0 + 2 * DAY_SECONDS
    kept.pages.told_at[0] = T0 + DAY_SECONDS
    known = PageEstimates(kept)
    changed = known.probability_changed(now)
    assert changed[0] == pytest.approx(0.9 + 0.1 * changed[1])
    value = known.value(Staleness.AGE, now)
    assert value[0] == pytest.approx(0.9 * (2 * 1 - 1 / 2) + 0.1 * value[1])
    kept.trust = LastmodTrust(right=1, wrong=9)
    assert PageEstimates(kept).probability_changed(now)[0] < 0.6


def test_what_looks_find_where_a_change_was_told_is_counted() -> None:
    kept = site(3)
    kept.pages.told_at[:] = [T0 + 10, T0 + 10, 0.0]
    take_in(kept, looks(T0 + 100.0, True, False, True))
    assert kept.trust == LastmodTrust(right=1, wrong=1)


def test_a_page_that_is_another_one_at_every_look_counts_as_one_that_changes_daily() -> None:
    terms = SiteTerms(min_interval=900.0)
    kept = site(2, terms)
    now = T0
    for _ in range(30):
        now += 1000.0
        take_in(kept, looks(now, True, False))
    assert is_flapping(kept.pages.histories, 3600.0).tolist() == [True, False]
    rate = PageEstimates(kept).mean_rates[0]
    assert rate == pytest.approx(terms.grid.speed, rel=0.2)  # a day is six hours for this site


@pytest.mark.parametrize("policy", [INDEX, Uniform(), ByNutch(), WholeChannel()])
def test_a_site_of_no_pages_and_one_of_none_to_ask_wait_for_ever(policy: PagePolicy) -> None:
    for kept in (site(0), site(2)):
        kept.pages.not_before[:] = np.inf
        assert chosen_visit(kept, policy, T0 + 9e9) is None
        assert outlook_of(kept, policy, T0).begins == np.inf


def test_nutch_looks_sooner_at_what_changed() -> None:
    kept = site(2)
    take_in(kept, looks(T0 + DAY_SECONDS, True, False))
    np.testing.assert_allclose(nutch_intervals(kept.pages.histories, 1.0), [24.0, 36.0])
    ready = ByNutch().ready(PageEstimates(kept))
    np.testing.assert_allclose((ready - T0) / DAY_SECONDS, [25.0, 37.0])


def test_no_page_is_forgotten() -> None:
    """However little one is worth, its age grows and its turn comes."""
    kept = site(4)
    kept.pages.importances[3] = 0.01
    last = now = T0
    for _ in range(1500):
        now += DAY_SECONDS / 2
        visit = chosen_visit(kept, INDEX, now, most_bytes=0.0)
        if visit is None:
            continue
        take_in(kept, [Look(int(page), now, page != 3) for page in visit.pages])
        if 3 in visit.pages:
            last = now
    assert now - last < 120 * DAY_SECONDS
