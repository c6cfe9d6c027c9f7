"""Sites nobody has seen are taken for what others of the same crawl turned out to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.kindred import Kindred
from headgate.model.size_range import SizeRange

GUESS = SizeRange(1e5, 1e6, 1e7)
sizes = st.lists(st.floats(1.0, 1e12), max_size=20)


def seen(sizes_: list[float]) -> Kindred:
    kindred = Kindred()
    for number, size in enumerate(sizes_):
        kindred.note(f"site-{number}", size)
    return kindred


def test_where_none_was_seen_the_guess_stands() -> None:
    supposed = Kindred().like_these(GUESS)
    assert (supposed.low, supposed.likely, supposed.high) == pytest.approx((1e5, 1e6, 1e7))


@given(sizes)
def test_it_is_the_geometric_mean_of_the_guess_and_all_that_were_seen(sizes_: list[float]) -> None:
    supposed = seen(sizes_).like_these(GUESS)
    assert supposed.likely == pytest.approx(np.exp(np.mean(np.log([GUESS.likely, *sizes_]))))
    assert supposed.low <= supposed.likely <= supposed.high


def test_what_is_thought_of_a_site_now_replaces_what_was_thought_of_it() -> None:
    kindred = seen([1e9, 1e3])
    kindred.note("site-0", 1e3)
    assert kindred.like_these(GUESS).likely == pytest.approx(
        seen([1e3, 1e3]).like_these(GUESS).likely
    )


def test_many_that_are_alike_leave_a_narrow_range_and_unequal_ones_a_wide_one() -> None:
    alike, unequal = seen([1e5] * 30).like_these(GUESS), seen([1e4, 1e6] * 15).like_these(GUESS)
    assert alike.high / alike.low < 10 < 1e3 < unequal.high / unequal.low


def test_there_is_news_at_first_and_when_the_mean_moves() -> None:
    kindred = Kindred()
    assert not kindred.news()
    kindred.note("a", 1e5)
    assert kindred.news()
    assert not kindred.news()
    kindred.note("a", 2e5)
    assert kindred.news()
