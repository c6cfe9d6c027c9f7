"""Sites nobody has seen are taken for what others of the same crawl turned out to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.size_estimate import SizePrior
from headgate.model.units import SizeRange

GUESS = SizeRange(1e5, 1e6, 1e7)
sizes = st.lists(st.floats(1.0, 1e12), max_size=20)


def seen(sizes_: list[float]) -> SizePrior:
    size_prior = SizePrior()
    for number, size in enumerate(sizes_):
        size_prior.record(f"site-{number}", size)
    return size_prior


def test_where_none_was_seen_the_guess_stands() -> None:
    supposed = SizePrior().like_these(GUESS)
    assert (supposed.low, supposed.likely, supposed.high) == pytest.approx((1e5, 1e6, 1e7))


@given(sizes)
def test_it_is_the_geometric_mean_of_the_guess_and_all_that_were_seen(sizes_: list[float]) -> None:
    supposed = seen(sizes_).like_these(GUESS)
    assert supposed.likely == pytest.approx(np.exp(np.mean(np.log([GUESS.likely, *sizes_]))))
    assert supposed.low <= supposed.likely <= supposed.high


def test_what_is_thought_of_a_site_now_replaces_what_was_thought_of_it() -> None:
    size_prior = seen([1e9, 1e3])
    size_prior.record("site-0", 1e3)
    assert size_prior.like_these(GUESS).likely == pytest.approx(
        seen([1e3, 1e3]).like_these(GUESS).likely
    )


def test_many_that_are_alike_leave_a_narrow_range_and_unequal_ones_a_wide_one() -> None:
    alike, unequal = seen([1e5] * 30).like_these(GUESS), seen([1e4, 1e6] * 15).like_these(GUESS)
    assert alike.high / alike.low < 10 < 1e3 < unequal.high / unequal.low


def test_there_is_news_at_first_and_when_the_mean_moves() -> None:
    size_prior = SizePrior()
    assert not size_prior.news()
    size_prior.record("a", 1e5)
    assert size_prior.news()
    assert not size_prior.news()
    size_prior.record("a", 2e5)
    assert size_prior.news()
