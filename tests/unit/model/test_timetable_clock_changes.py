"""Timetables through clock changes, against a clock on the wall read minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.timetable import Timetable

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WEEK_MINUTES = 7 * 24 * 60

CHANGES = [
    ("Europe/Berlin", datetime(2026, 3, 26, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 22, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 5, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 10, 29, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 1, tzinfo=UTC)),  # half an hour
    ("Australia/Lord_Howe", datetime(2026, 10, 1, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 4, 2, tzinfo=UTC)),  # at midnight
    ("America/Santiago", datetime(2026, 9, 3, tzinfo=UTC)),
    ("Africa/Nairobi", datetime(2026, 3, 26, tzinfo=UTC)),  # never
]


def wall_clock_rates(
    entries: dict[tuple[int, int], int], zone: ZoneInfo, start: datetime
) -> list[int]:
    """The rate of every minute of a week: what the clock shows, looked up in the entries.

    ``entries`` has a rate by weekday and minute of the day.
    """
    rates = []
    for minute in range(WEEK_MINUTES):
        local = (start + timedelta(minutes=minute)).astimezone(zone)
        shown = (local.weekday(), local.hour * 60 + local.minute)
        passed = [moment for moment in entries if moment <= shown]
        rates.append(entries[max(passed or entries)])
    return rates


@pytest.mark.parametrize(("zone_name", "start"), CHANGES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_minute_has_the_rate_that_the_clock_says(
    zone_name: str, start: datetime, data: st.DataObject
) -> None:
    near_changes = st.integers(0, 6).flatmap(
        lambda day: st.tuples(st.just(day), st.integers(0, 4 * 60 - 1))
    )
    anywhere = st.tuples(st.integers(0, 6), st.integers(0, 24 * 60 - 1))
    entries = data.draw(
        st.dictionaries(st.one_of(near_changes, anywhere), st.integers(1, 9), min_size=1)
    )
    zone = ZoneInfo(zone_name)
    text = [
        f"{_DAYS[day]} {minute // 60:02d}:{minute % 60:02d} {rate} B/s"
        for (day, minute), rate in entries.items()
    ]
    table = Timetable.parse(text, zone)
    expected = wall_clock_rates(entries, zone, start)
    found: list[int] = []
    pieces = takewhile(lambda piece: piece.start < WEEK_MINUTES * 60, table.pieces(start))
    rate = 0
    for piece in pieces:
        assert piece.start % 60 == 0
        found += [rate] * (int(piece.start) // 60 - len(found))
        rate = int(piece.rate)
    found += [rate] * (WEEK_MINUTES - len(found))
    assert found == expected
    assert int(table.rate_at(start + timedelta(hours=75))) == expected[75 * 60]


def test_an_entry_in_the_skipped_hour_holds_from_the_jump_on() -> None:
    table = Timetable.parse(["00:00 1 B/s", "02:30 2 B/s"], ZoneInfo("Europe/Berlin"))
    start = datetime(2026, 3, 28, 23, tzinfo=UTC)  # midnight; at 2:00 it becomes 3:00
    before = list(takewhile(lambda piece: piece.start < 7200, table.pieces(start)))
    assert [(piece.start, int(piece.rate)) for piece in before] == [(0, 1)]
    assert int(table.rate_at(start + timedelta(hours=2))) == 2


def test_entries_of_the_hour_that_comes_twice_hold_twice() -> None:
    table = Timetable.parse(["00:00 1 B/s", "02:30 2 B/s"], ZoneInfo("Europe/Berlin"))
    start = datetime(2026, 10, 24, 22, tzinfo=UTC)  # midnight; at 3:00 it becomes 2:00
    quarters = [int(table.rate_at(start + timedelta(minutes=15 * k))) for k in range(8, 18)]
    assert quarters == [1, 1, 2, 2, 1, 1, 2, 2, 2, 2]
