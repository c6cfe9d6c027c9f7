"""Dates as sites write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.reading.dates import parse_date


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2005", datetime(2005, 1, 1, tzinfo=UTC)),
        ("2005-02", datetime(2005, 2, 1, tzinfo=UTC)),
        (" 2005-02-03\n", datetime(2005, 2, 3, tzinfo=UTC)),
        ("2005-2-3", datetime(2005, 2, 3, tzinfo=UTC)),
        ("2005-02-03T04:05Z", datetime(2005, 2, 3, 4, 5, tzinfo=UTC)),
        ("2005-02-03 04:05:06", datetime(2005, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("2005-02-03t04:05:06.789z", datetime(2005, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("2005-02-03T04:05:06+02:00", datetime(2005, 2, 3, 2, 5, 6, tzinfo=UTC)),
        ("2005-02-03T04:05:06-0130", datetime(2005, 2, 3, 5, 35, 6, tzinfo=UTC)),
        ("Thu, 03 Feb 2005 04:05:06 GMT", datetime(2005, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("3 Feb 2005 04:05:06 +0100", datetime(2005, 2, 3, 3, 5, 6, tzinfo=UTC)),
        ("3 Feb 2005 04:05:06", datetime(2005, 2, 3, 4, 5, 6, tzinfo=UTC)),
    ],
)
def test_moment(text: str, moment: datetime) -> None:
    assert parse_date(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "2005-13-01",
        "2005-02-30",
        "0000-01-01",
        "2005-01-01T25:00Z",
        "0001-01-01T00:00+23:59",
        "2005-01-01T00:00+99:99",
        "1" * 100_000,
        "99999999999999 Jan 2005 00:00:00",
    ],
)
def test_cannot_be_told(text: str) -> None:
    assert parse_date(text) is None


@given(st.text())
def test_any_text_does(text: str) -> None:
    moment = parse_date(text)
    assert moment is None or moment.tzinfo is UTC


@given(st.datetimes(timezones=st.just(UTC)))
def test_reads_what_python_writes(moment: datetime) -> None:
    assert parse_date(moment.isoformat()) == moment.replace(microsecond=0)
