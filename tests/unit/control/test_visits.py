"""What earlier visits tell of the next."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.control.forecast import PastVisit, Remembered, next_visit


def visit(bytes_: float, **how: bool | int) -> PastVisit:
    fields = {"complete": True, "pages": 100} | how
    return PastVisit(bytes_, 10.0, **fields)  # type: ignore[arg-type]


def test_the_first_visit_is_not_the_measure_of_the_others() -> None:
    """It moved everything; the others were mostly answered by "not modified"."""
    told = next_visit([visit(60e3), visit(55e3), visit(4e6, first=True)], None)
    assert told is not None
    assert 54e3 < told.likely < 61e3
    assert told.high < 200e3


DISTURBED = pytest.mark.parametrize(
    "disturbed",
    [
        visit(1e3, complete=False),
        visit(5e3, troubles=60),
        visit(900e3, troubles=60),
    ],
    ids=["interrupted", "outage", "errors that cost"],
)


@DISTURBED
def test_one_disturbed_visit_does_not_decide(disturbed: PastVisit) -> None:
    """The newest visit alone was taken: three of four ends lay outside of its range."""
    visits = [disturbed, visit(60e3), visit(62e3), visit(58e3)]
    told = next_visit(visits, None)
    assert told is not None
    assert told.likely == pytest.approx(60e3, rel=0.05)
    assert told.low < 58e3 < 62e3 < told.high


@DISTURBED
def test_an_undisturbed_visit_counts_more_than_the_newest(disturbed: PastVisit) -> None:
    """Of two visits there is no middle: how well they went decides."""
    told = next_visit([disturbed, visit(60e3)], None)
    assert told is not None
    assert told.likely == pytest.approx(60e3)
    newest = next_visit([visit(80e3), visit(60e3)], None)
    assert newest is not None
    assert newest.likely == pytest.approx(80e3)


def test_the_range_is_what_visits_differ_by() -> None:
    steady = next_visit([visit(60e3), visit(61e3), visit(59e3), visit(60e3)], None)
    restless = next_visit([visit(60e3), visit(200e3), visit(20e3), visit(90e3)], None)
    assert steady is not None
    assert restless is not None
    assert steady.high / steady.low < 1.5
    assert restless.high / restless.low > 4


def test_a_single_visit_is_believed_less_than_several() -> None:
    one = next_visit([visit(60e3)], None)
    four = next_visit([visit(60e3)] * 4, None)
    assert one is not None
    assert four is not None
    assert one.high / one.low > four.high / four.low


def test_pages_that_are_remembered_bound_a_second_visit() -> None:
    memory = Remembered(100, sized=100, sized_bytes=2e6, revalidatable=100)
    told = next_visit([visit(2.1e6, first=True)], memory)
    assert told is not None
    assert told.low == pytest.approx(50e3, rel=0.1)
    assert 50e3 < told.likely < 500e3
    assert told.high == pytest.approx(2e6, rel=0.11)
    without = Remembered(100, sized=100, sized_bytes=2e6)
    all_again = next_visit([visit(2.1e6, first=True)], without)
    assert all_again is not None
    assert all_again.likely == 2e6
    assert all_again.low == pytest.approx(2e6, rel=0.1)


def test_pages_never_asked_for_come_on_top() -> None:
    """Stopped at its deadline with 175 of 1,170 pages: the rest is still to come."""
    memory = Remembered(1170, never_asked=995, sized=175, sized_bytes=1.75e6, revalidatable=175)
    told = next_visit([visit(1.8e6, complete=False, first=True)], memory)
    assert told is not None
    assert told.low > 9e6


def test_nothing_is_told_by_a_first_visit_that_was_broken_off() -> None:
    assert next_visit([visit(1e6, complete=False, first=True)], None) is None
    assert next_visit([], None) is None


@given(
    st.lists(
        st.builds(
            PastVisit,
            st.floats(0, 1e12),
            st.just(1.0),
            st.booleans(),
            pages=st.integers(0, 10**6),
            troubles=st.integers(0, 10**6),
            first=st.booleans(),
        ),
        max_size=9,
    ),
    st.one_of(
        st.none(),
        st.builds(
            Remembered,
            st.integers(500, 1000),
            st.integers(0, 200),
            st.integers(0, 300),
            st.floats(0, 1e9),
            st.integers(0, 300),
        ),
    ),
)
def test_whatever_was_it_is_a_range(visits: list[PastVisit], memory: Remembered | None) -> None:
    told = next_visit(visits, memory)
    if told is not None:
        assert 0 <= told.low <= told.likely <= told.high
