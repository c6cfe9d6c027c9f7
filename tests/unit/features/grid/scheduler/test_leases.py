"""A node's leases by its own clock: never longer than the manager's, whatever answers do."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from headgate.features.grid.protocol import Lease, Orders, StopTask
from headgate.features.grid.scheduler.leases import LeaseBook, LeasedTotals

ONE, TWO = Lease(1, 1), Lease(2, 1)


def test_a_lease_counts_from_the_question() -> None:
    book = LeaseBook()
    book.add(ONE, 100.0, 60.0)
    assert not book.is_good(ONE, 101.0), "before the first beat nothing may pass"
    book.obey(Orders(good=(ONE,), seconds=60.0, total_seconds=60.0), 101.0)
    assert book.is_good(ONE, 160.0)
    assert not book.is_good(ONE, 161.0)


def test_what_was_left_by_an_earlier_life_is_good_only_once_a_beat_says_so() -> None:
    book = LeaseBook()
    book.add(ONE, 0.0, 0.0)
    assert not book.is_good(ONE, 0.0)
    stops = book.obey(
        Orders(stop=(StopTask(lease=ONE, why="lost"), StopTask(lease=TWO, why="lost"))), 10.0
    )
    assert [stop.lease for stop in stops] == [ONE], "of others nothing is to be done"
    book.obey(Orders(good=(ONE, TWO)), 20.0)
    assert book.is_good(ONE, 30.0)
    assert not book.is_good(TWO, 30.0), "it was never this node's"


def test_the_budgets_part_ends_by_itself() -> None:
    book = LeaseBook()
    book.add(ONE, 0.0, 600.0)
    book.obey(Orders(good=(ONE,), seconds=600.0, total=5e5, total_seconds=20.0), 0.0)
    assert (book.total, book.is_good(ONE, 19.0), book.is_good(ONE, 21.0)) == (5e5, True, False)


def test_an_older_answer_that_comes_late_changes_nothing() -> None:
    book = LeaseBook()
    book.add(ONE, 0.0, 60.0)
    book.obey(Orders(good=(ONE,), total=2e5), 40.0)
    book.obey(Orders(good=(ONE,), total=9e5), 20.0)
    assert book.total == 2e5
    assert book.is_good(ONE, 99.0)


_EVENTS = st.lists(
    st.tuples(
        st.floats(0, 50),  # on the way there
        st.floats(0, 50),  # and back
        st.floats(0, 30),  # until the next beat
        st.booleans(),  # the answer is lost
    ),
    max_size=20,
)


@given(_EVENTS, st.floats(1, 60))
def test_it_never_ends_later_than_where_it_was_given(
    events: list[tuple[float, float, float, bool]], seconds: float
) -> None:
    """The manager prolongs when it hears; the node counts from when it asked."""
    book, now, theirs = LeaseBook(), 0.0, -math.inf
    book.add(ONE, now, 0.0)
    for there, back, pause, lost in events:
        asked = now
        theirs = max(theirs, asked + there + seconds)
        now += there + back
        if not lost:
            book.obey(Orders(good=(ONE,), seconds=seconds, total_seconds=seconds), asked)
        now += pause
        assert not book.is_good(ONE, theirs)
        assert not book.is_good(ONE, now) or now < theirs


# One budget over many nodes: what all may believe never adds up to more.


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
