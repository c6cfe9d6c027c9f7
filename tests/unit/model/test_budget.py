"""Quotas: what is written, and when periods begin, against a calendar read minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.model.budget import SLOT_SECONDS, Period, Quota, QuotaUse
from headgate.model.errors import UserMistake
from headgate.model.units import Bytes

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Santiago",  # clocks change at midnight
    "America/Havana",  # midnight comes twice
    "Asia/Beirut",
    "Asia/Kathmandu",  # 5:45 from Greenwich
    "Australia/Lord_Howe",
)
BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "bytes_", "period"),
    [
        ("20 GB/month", 20e9, Period.MONTH),
        ("500MB / day", 500e6, Period.DAY),
        ("1 GiB/Day", 2**30, Period.DAY),
    ],
)
def test_quotas_are_read(text: str, bytes_: float, period: Period) -> None:
    assert Quota.parse(text, BERLIN) == Quota(Bytes(bytes_), period, BERLIN)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("20 GB", "is not a quota"),
        ("20 GB/year", "is not a quota"),
        ("/day", "is not a quota"),
        ("0 GB/day", "no byte"),
        ("2 Gb/day", "bits or"),
        ("lots/day", "is not a size"),
    ],
)
def test_mistakes(text: str, problem: str) -> None:
    with pytest.raises(UserMistake, match=problem):
        Quota.parse(text, BERLIN)


@settings(max_examples=300, deadline=None)
@given(
    moment=st.integers(0, 5 * 366 * 86400).map(lambda s: START + timedelta(seconds=s)),
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    period=st.sampled_from(Period),
)
def test_a_period_is_all_instants_of_its_local_days(
    moment: datetime, zone: ZoneInfo, period: Period
) -> None:
    def label(instant: datetime) -> str:
        return f"{instant.astimezone(zone):{'%Y-%m-%d' if period is Period.DAY else '%Y-%m'}}"

    quota = Quota(Bytes(1.0), period, zone)
    began, resets = quota.began(moment), quota.resets(moment)
    second = timedelta(seconds=1)
    assert began <= moment < resets
    assert label(began) == label(moment) == label(resets - second)
    assert label(began - second) < label(moment) < label(resets)
    assert began.timestamp() % SLOT_SECONDS == 0
    assert quota.began(resets) == resets


@pytest.mark.parametrize(
    ("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-16", 24)]
)
def test_days_of_clock_changes_are_shorter_and_longer(day: str, hours: int) -> None:
    noon = datetime.fromisoformat(f"{day}T12:00+00:00")
    quota = Quota(Bytes(1.0), Period.DAY, BERLIN)
    assert quota.resets(noon) - quota.began(noon) == timedelta(hours=hours)


def test_the_last_bytes_are_spent_ever_more_slowly() -> None:
    quota = Quota.parse("1 MB/day", BERLIN)
    moment = datetime(2026, 11, 16, tzinfo=UTC)
    rates = [QuotaUse(quota, used, moment).rate_bound for used in (0.0, 0.9e6, 0.99e6, 2e6)]
    assert rates == pytest.approx([500e3, 50e3, 0.0, 0.0])
