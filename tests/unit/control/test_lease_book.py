"""A node's leases by its own clock: never longer than the manager's, whatever answers do."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from headgate.control.lease_book import LeaseBook
from headgate.crawling.task_messages import Lease, Orders, Stop

ONE, TWO = Lease(1, 1), Lease(2, 1)


def test_a_lease_counts_from_the_question() -> None:
    book = LeaseBook()
    book.take(ONE, 100.0, 60.0)
    assert not book.is_good(ONE, 101.0), "before the first beat nothing may pass"
    book.obey(Orders(good=(ONE,), seconds=60.0, total_seconds=60.0), 101.0)
    assert book.is_good(ONE, 160.0)
    assert not book.is_good(ONE, 161.0)


def test_what_was_left_by_an_earlier_life_is_good_only_once_a_beat_says_so() -> None:
    book = LeaseBook()
    book.take(ONE, 0.0, 0.0)
    assert not book.is_good(ONE, 0.0)
    stops = book.obey(Orders(stop=(Stop(lease=ONE, why="lost"), Stop(lease=TWO, why="lost"))), 10.0)
    assert [stop.lease for stop in stops] == [ONE], "of others nothing is to be done"
    book.obey(Orders(good=(ONE, TWO)), 20.0)
    assert book.is_good(ONE, 30.0)
    assert not book.is_good(TWO, 30.0), "it was never this node's"


def test_the_budgets_part_ends_by_itself() -> None:
    book = LeaseBook()
    book.take(ONE, 0.0, 600.0)
    book.obey(Orders(good=(ONE,), seconds=600.0, total=5e5, total_seconds=20.0), 0.0)
    assert (book.total, book.is_good(ONE, 19.0), book.is_good(ONE, 21.0)) == (5e5, True, False)


def test_an_older_answer_that_comes_late_changes_nothing() -> None:
    book = LeaseBook()
    book.take(ONE, 0.0, 60.0)
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
    book.take(ONE, now, 0.0)
    for there, back, pause, lost in events:
        asked = now
        theirs = max(theirs, asked + there + seconds)
        now += there + back
        if not lost:
            book.obey(Orders(good=(ONE,), seconds=seconds, total_seconds=seconds), asked)
        now += pause
        assert not book.is_good(ONE, theirs)
        assert not book.is_good(ONE, now) or now < theirs
