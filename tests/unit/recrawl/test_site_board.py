"""The board: whose turn it is, what it costs, and what looks teach it."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.recrawl.page_board import Look, LookCosts, PageBoard


def board(pages: int = 4) -> PageBoard:
    return PageBoard(
        sites=np.arange(pages) // 2,
        importances=np.ones(pages),
        sizes=np.full(pages, 50_000.0),
        validators=np.array([True, False] * (pages // 2)),
        asked=np.zeros(pages),
    )


def test_nothing_is_asked_before_its_gap_is_over() -> None:
    assert board().next_visit(now=0.2) is None
    assert board().next_visit(now=0.25) is not None


def test_the_important_page_goes_first_and_its_site_rides_along() -> None:
    pages = board()
    pages.importances[2] = 10.0
    visit = pages.next_visit(now=30.0)
    assert visit is not None
    assert visit.site == 1
    assert visit.pages[0] == 2
    assert visit.expected_bytes == pytest.approx(
        LookCosts().connection + pages.expected_costs(30.0)[visit.pages].sum()
    )


def test_a_page_with_a_validator_costs_its_bytes_only_as_far_as_it_may_have_changed() -> None:
    pages = board(2)
    changed = pages.probability_changed(10.0)
    request = LookCosts().request
    expected = [request + changed[0] * 50_000, request + 50_000]
    np.testing.assert_allclose(pages.expected_costs(10.0), expected)


def test_looks_teach_which_page_changes() -> None:
    pages = board(2)
    for day in range(1, 11):
        pages.looked(Look(0, float(day), True, 50_000.0))
        pages.looked(Look(1, float(day), False, 50_000.0))
    often, seldom = pages.probability_changed(11.0)
    assert often > 0.7
    assert seldom < 0.1


def test_no_page_is_forgotten() -> None:
    """However little one is worth, its age grows and its turn comes."""
    pages = board()
    pages.importances[3] = 0.01
    pages.sites[3] = 9
    last, now = 0.0, 0.0
    for _ in range(3000):
        now += 0.25
        visit = pages.next_visit(now)
        assert visit is not None
        for page in visit.pages:
            pages.looked(Look(int(page), now, page != 3, 50_000.0))
        if 3 in visit.pages:
            last = now
    assert now - last < 250
