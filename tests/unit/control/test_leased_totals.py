"""One budget over many nodes: what all may believe never adds up to more."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from headgate.control.leased_totals import LeasedTotals

LEASE = 60.0


def ask(
    totals: LeasedTotals, node: str, now: float, weights: dict[str, float],
    beat: tuple[int, int] = (1, 0), budget: float | None = 100.0,
) -> float | None:  # fmt: skip
    return totals.lease(node, beat, budget, weights, now + LEASE, now)


def test_the_first_has_all_and_who_joins_waits_for_it_to_step_back() -> None:
    totals = LeasedTotals()
    assert ask(totals, "a", 0.0, {"a": 1.0}) == 100.0
    both = {"a": 1.0, "b": 1.0}
    assert ask(totals, "b", 1.0, both) == 0.0
    assert ask(totals, "a", 20.0, both, (2, 1)) == 50.0
    assert ask(totals, "b", 21.0, both, (2, 1)) == 0.0, "the first may not have heard"
    assert ask(totals, "a", 40.0, both, (3, 2)) == 50.0, "it has"
    assert ask(totals, "b", 41.0, both, (3, 2)) == 50.0


def test_who_is_cut_off_takes_its_part_along_for_one_lease() -> None:
    totals = LeasedTotals()
    both = {"a": 1.0, "b": 1.0}
    assert ask(totals, "a", 0.0, both) == 50.0
    assert ask(totals, "b", 0.0, both) == 50.0
    assert ask(totals, "b", 30.0, {"b": 1.0}, (2, 1)) == 50.0
    assert ask(totals, "b", LEASE + 1, {"b": 1.0}, (3, 2)) == 100.0


def test_another_life_does_not_free_what_the_one_before_may_use() -> None:
    totals = LeasedTotals()
    assert ask(totals, "a", 0.0, {"a": 1.0}, (7, 6)) == 100.0
    totals.begin("a")
    both = {"a": 1.0, "b": 1.0}
    assert ask(totals, "a", 1.0, both, (1, 0)) == 50.0
    assert ask(totals, "b", 2.0, both) == 0.0
    assert ask(totals, "b", LEASE + 1, both, (2, 1)) == 50.0


def test_without_a_budget_nobody_is_bounded() -> None:
    assert ask(LeasedTotals(), "a", 0.0, {"a": 1.0}, budget=None) is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"),
            st.floats(0.0, LEASE),
            st.booleans(),
            st.sampled_from([1.0, 3.0]),
        ),
        max_size=60,
    )
)
def test_whatever_is_lost_the_sum_holds(
    steps: list[tuple[str, float, bool, float]],
) -> None:
    """Each node believes in the last answer that arrived; some never do."""
    totals, now = LeasedTotals(), 0.0
    number = dict.fromkeys("abcd", 0)
    heard = dict.fromkeys("abcd", 0)
    believed: dict[str, tuple[float, float]] = {}
    for node, seconds, arrives, weight in steps:
        now += seconds
        number[node] += 1
        weights = {name: weight if name == node else 1.0 for name in "abcd"}
        rate = totals.lease(node, (number[node], heard[node]), 100.0, weights, now + LEASE, now)
        assert rate is not None
        if arrives:
            heard[node] = number[node]
            believed[node] = rate, now + LEASE
        alive = [rate for rate, until in believed.values() if until > now]
        assert math.fsum(alive) <= 100.0 + 1e-6
        assert totals.all_held(now) <= 100.0 + 1e-6
