"""Quantities: what is read, what is refused, and that what we write we read again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.model.errors import UserMistake
from headgate.model.units import (
    UNLIMITED,
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_rate,
    parse_size,
)

PARSERS: list[Callable[[Any], float]] = [parse_size, parse_rate, parse_duration]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("120 MB", 120e6),
        ("120MB", 120e6),
        ("1.5 KiB", 1536),
        ("1 kB", 1000),
        ("1 KB", 1000),
        ("11904.761905 kbit", 11904761.905 / 8),
        ("3e3 B", 3000),
        ("8 bit", 1),
        (" 7 ", 7),
        (7, 7),
        (0, 0),
    ],
)
def test_sizes(text: str | float, size: float) -> None:
    assert parse_size(text) == pytest.approx(size)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1 MB/s", 1e6),
        ("512 KiB/s", 524288),
        ("1000 kbit/s", 125_000),
        ("8 Mbps", 1e6),
        ("100", 100),
        ("unlimited", UNLIMITED),
    ],
)
def test_rates(text: str | float, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10m", 600), ("1h30m", 5400), ("1d 12h", 129_600), ("250ms", 0.25), ("90", 90), (1.5, 1.5)],
)
def test_durations(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "value", ["", "fast", "-1", "nan", "inf", "1,5 MB", "1e999", True, None, -1, math.nan, math.inf]
)
def test_what_is_no_quantity_is_refused(parse: Callable[[Any], float], value: object) -> None:
    with pytest.raises(UserMistake):
        parse(value)


@pytest.mark.parametrize("unit", ["kb", "Kb", "mb", "Gb"])
def test_a_unit_that_may_be_bits_or_bytes_is_refused_with_both(unit: str) -> None:
    with pytest.raises(UserMistake, match=r"may mean bits or bytes; write .B.* or .bit"):
        parse_size(f"10 {unit}")


def test_a_near_miss_of_a_unit_is_answered_with_the_unit() -> None:
    with pytest.raises(UserMistake, match="did you mean 'MB/s'"):
        parse_rate("10 MB")
    with pytest.raises(UserMistake, match="did you mean 'MiB'"):
        parse_size("10 mib")


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.text() | st.text(alphabet="0123456789.e+- kKMGTiBbit/smhdw", max_size=30))
def test_any_text_is_read_or_refused(parse: Callable[[str], float], text: str) -> None:
    try:
        value = parse(text)
    except UserMistake:
        return
    assert value >= 0


@given(size=st.floats(min_value=1, max_value=1e16))
def test_a_written_size_is_read_back(size: float) -> None:
    assert parse_size(format_size(size)) == pytest.approx(size, rel=0.006)


@given(rate=st.floats(min_value=1, max_value=1e16) | st.just(math.inf))
def test_a_written_rate_is_read_back(rate: float) -> None:
    assert parse_rate(format_rate(rate)) == pytest.approx(rate, rel=0.006)


@given(seconds=st.floats(min_value=0, max_value=1e9))
def test_a_written_duration_is_read_back(seconds: float) -> None:
    written = format_duration(seconds)
    coarsest = (
        0.05 if seconds < 60 else 0.5 if seconds < 3600 else 60 if seconds < 172_800 else 3600
    )
    assert parse_duration(written) == pytest.approx(seconds, abs=coarsest * 1.01)


@given(seconds=st.floats(min_value=0, max_value=1e9))
def test_a_written_duration_has_no_overfull_unit(seconds: float) -> None:
    written = format_duration(seconds)
    assert "60s" not in written
    assert " 60m" not in written
