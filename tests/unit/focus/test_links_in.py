"""Online importance against cash kept in a plain dictionary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.focus.signs import LinkSigns, PageSigns
from headgate.focus.topic import LinksIn, _score

_webs = st.lists(
    st.tuples(st.integers(0, 30), st.lists(st.integers(0, 30), max_size=8, unique=True)),
    max_size=40,
)


def url(number: int) -> str:
    return f"http://a/{number}"


def page(number: int, targets: list[int], came_with: float = 0.0) -> PageSigns:
    links = [LinkSigns(url(target)) for target in targets]
    return PageSigns(url(number), links=links, came_with=came_with)


@given(_webs)
def test_cash_is_handed_out_as_by_the_book(fetches: list[tuple[int, list[int]]]) -> None:
    order, cash = LinksIn(), {0: 1.0}
    order.scores(page(99, [0], came_with=1.0))
    for number, targets in fetches:
        given_out = order.scores(page(number, targets))
        if not targets:
            continue
        had = max(cash.pop(number, 0.0), 2.0**-24)
        for target in targets:
            cash[target] = cash.get(target, 0.0) + had / len(targets)
        for target in targets:
            assert given_out[url(target)] == pytest.approx(_score(cash[target]))


def test_a_page_that_many_link_to_overtakes() -> None:
    order = LinksIn()
    order.scores(page(0, list(range(1, 11)), came_with=1.0))
    for number in range(1, 9):
        scores = order.scores(page(number, [50, 100 + number]))
    assert scores[url(50)] > scores[url(108)]
    assert order.score_url(url(50)) == scores[url(50)]
    assert order.score_url("http://a/never-met") == 0.0


def test_after_a_restart_a_page_hands_out_what_its_score_says() -> None:
    fresh = LinksIn().scores(page(7, [1, 2], came_with=0.5))
    assert fresh[url(1)] == pytest.approx(_score(2.0**-13))
