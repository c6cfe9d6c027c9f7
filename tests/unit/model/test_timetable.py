"""Timetables: which rate holds when, over weeks and over both turns of daylight saving."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import UserMistake
from headgate.model.timetable import Timetable

BERLIN = ZoneInfo("Europe/Berlin")
OFFICE = ["Mon-Fri 08:00 300 KB/s", "19:00 2 MB/s", "Sat 00:00 unlimited"]
HOUR = 3600.0
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

entries = st.builds(
    "{}{:02d}:{:02d} {} B/s".format,
    st.sampled_from(["", *(f"{day} " for day in DAYS), "Mon-Fri ", "Sat-Sun ", "Fri-Mon "]),
    st.integers(0, 23),
    st.sampled_from([0, 30]),
    st.integers(0, 9),
)
moments = st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
zones = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])


def local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("moment", "rate"),
    [
        ("2026-11-16 07:59", 2e6),  # Monday morning: Sunday's 19:00 still holds
        ("2026-11-16 08:00", 3e5),
        ("2026-11-16 18:59", 3e5),
        ("2026-11-16 19:00", 2e6),
        ("2026-11-20 23:59", 2e6),
        ("2026-11-21 00:00", float("inf")),
        ("2026-11-21 19:00", 2e6),  # "19:00" is every day, Saturday too
        ("2026-11-22 12:00", 2e6),
    ],
)
def test_rate_at(moment: str, rate: float) -> None:
    assert Timetable.parse(OFFICE, BERLIN).rate_at(local(moment)) == rate


def test_named_days_win_over_every_day_in_any_order() -> None:
    for order in (["08:00 1 B/s", "Sat-Sun 08:00 5 B/s"], ["Sat-Sun 08:00 5 B/s", "08:00 1 B/s"]):
        table = Timetable.parse(order, BERLIN)
        assert table.rate_at(local("2026-11-21 09:00")) == pytest.approx(5)
        assert table.rate_at(local("2026-11-20 09:00")) == pytest.approx(1)


def test_days_can_go_over_the_end_of_the_week() -> None:
    table = Timetable.parse(["Sat-Mon 08:00 5 B/s", "Tue 08:00 1 B/s"], BERLIN)
    assert table.rate_at(local("2026-11-16 08:00")) == pytest.approx(5)
    assert table.rate_at(local("2026-11-17 08:00")) == pytest.approx(1)


def test_a_night_is_an_hour_shorter_in_spring() -> None:
    table = Timetable.parse(["22:00 2 B/s", "06:00 1 B/s"], BERLIN)
    first, second = islice(table.pieces(local("2026-03-28 22:00")), 2)
    assert (first.start, first.rate) == pytest.approx((0, 2))
    assert (second.start, second.rate) == pytest.approx((7 * HOUR, 1))


def test_a_night_is_an_hour_longer_in_autumn() -> None:
    table = Timetable.parse(["22:00 2 B/s", "06:00 1 B/s"], BERLIN)
    first, second = islice(table.pieces(local("2026-10-24 22:00")), 2)
    assert (first.start, first.rate) == pytest.approx((0, 2))
    assert (second.start, second.rate) == pytest.approx((9 * HOUR, 1))


def test_what_is_written_is_read_back() -> None:
    table = Timetable.parse(OFFICE, BERLIN)
    assert Timetable.parse(str(table).split(", "), BERLIN) == table


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([], "at least one entry"),
        (["8:00 1 MB/s"], "is not a timetable entry"),
        (["24:00 1 MB/s"], "is not a timetable entry"),
        (["Mo 08:00 1 MB/s"], "is not a timetable entry"),
        (["08:00"], "is not a timetable entry"),
        (["08:00 fast"], "is not a rate"),
        (["08:00 1 kb/s"], "bits or bytes"),
        (["08:00 1 MB/s", "08:00 2 MB/s"], "a second time"),
        (["Mon 08:00 1 MB/s", "Mon-Fri 08:00 2 MB/s"], "a second time"),
        (["08:00 0", "19:00 0 B/s"], "no hour of the week"),
    ],
)
def test_mistakes(entries: list[str], problem: str) -> None:
    with pytest.raises(UserMistake, match=problem):
        Timetable.parse(entries, BERLIN)


@given(texts=st.lists(st.text() | entries, max_size=5))
def test_any_texts_are_read_or_refused(texts: list[str]) -> None:
    try:
        Timetable.parse(texts, BERLIN)
    except UserMistake:
        return


@given(texts=st.lists(entries, min_size=1, max_size=5), start=moments, zone=zones)
def test_pieces_go_forward_and_agree_with_rate_at(
    texts: list[str], start: datetime, zone: str
) -> None:
    try:
        table = Timetable.parse(texts, ZoneInfo(zone))
    except UserMistake:
        return
    pieces = list(islice(table.pieces(start), 20))
    assert pieces[0].start == 0
    assert all(one.start < other.start for one, other in pairwise(pieces))
    for one, other in pairwise(pieces):
        middle = start + timedelta(seconds=(one.start + other.start) / 2)
        assert table.rate_at(middle) == one.rate
