"""What a response is expected to be: the mean, and steady."""

from __future__ import annotations

import pytest

from headgate.traffic.response_size import FIRST_GUESS, MEMORY, ResponseSize


def test_it_is_the_mean_at_first() -> None:
    size = ResponseSize()
    for wire_bytes in (4_000, 5_000, 6_000):
        size.add(wire_bytes)
    assert size.expected == pytest.approx((FIRST_GUESS + 15_000) / 4)


def test_one_long_page_says_little_about_the_next() -> None:
    size = ResponseSize()
    for _ in range(1_000):
        size.add(10_000)
    size.add(500_000)
    assert size.expected < 15_000


def test_it_follows_a_site_that_changes() -> None:
    size = ResponseSize()
    for _ in range(1_000):
        size.add(10_000)
    for _ in range(3 * MEMORY):
        size.add(30_000)
    assert size.expected == pytest.approx(30_000, rel=0.05)
