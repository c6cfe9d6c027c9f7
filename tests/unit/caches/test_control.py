"""What the manager remembers: each thing a value depends on is varied, with the others fixed."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace
from tests.unit.control.test_snapshots import Crawl, snapshots

from headgate.bandwidth.server_speed import Measure, ServerSpeeds
from headgate.control.allowance import Allowance, LineUse
from headgate.control.forecast import Forecast, Source
from headgate.model.budget import Quota, QuotaUse
from headgate.model.timetable import DayKind, LocalMoment
from headgate.scheduling.capacity import Capacity

BERLIN = ZoneInfo("Europe/Berlin")
NOVEMBER = datetime(2026, 11, 16, 7, tzinfo=BERLIN)


def at(hour: float, kind: DayKind = DayKind.WORKING) -> LocalMoment:
    return LocalMoment(60.0 * hour, kind)


def test_the_median_server_is_that_of_the_moment() -> None:
    """It was that of the hour of the last measures, for as long as nothing was measured."""
    speeds = ServerSpeeds()
    for address in ("192.0.2.1", "192.0.2.2", "192.0.2.3"):
        for _ in range(100):
            speeds.learn(address, Measure(900_000, 10.0), at(3))
            speeds.learn(address, Measure(100_000, 10.0), at(15))
            speeds.learn(address, Measure(500_000, 10.0), at(15, DayKind.HOLIDAY))
    unknown = "198.51.100.9"
    for moment in (at(15), at(3), at(15, DayKind.HOLIDAY), at(15), at(15.5)):
        measured = speeds.rate("192.0.2.1", moment)
        assert speeds.rate(unknown, moment) == pytest.approx(measured, rel=1e-3)


def test_the_median_server_follows_the_measures() -> None:
    speeds = ServerSpeeds()
    speeds.learn("192.0.2.1", Measure(10_000, 1.0), at(12))
    assert speeds.rate("198.51.100.9", at(12)) == pytest.approx(10_000)
    for number in range(64):
        speeds.learn(f"192.0.2.{number}", Measure(90_000, 1.0), at(12))
    assert speeds.rate("198.51.100.9", at(12)) == pytest.approx(90_000)


def limited(base: Capacity, use: QuotaUse) -> Allowance:
    return Allowance(lambda _: base, use.moment.timestamp(), use)


def test_later_periods_of_a_quota_go_by_everything_they_are_reckoned_from() -> None:
    """What an allowance with a past allows is what a new one allows, whatever changed."""
    line, faster = Capacity.constant(100e3), Capacity.constant(200e3)
    small, large = Quota.parse("1 GB/month", BERLIN), Quota.parse("2 GB/month", BERLIN)
    for quota, used, moment, base in (
        (large, 0.0, NOVEMBER, line),
        (small, 500e6, NOVEMBER, line),
        (small, 0.0, NOVEMBER + timedelta(days=30), line),
        (small, 0.0, NOVEMBER, faster),
    ):
        allowance = limited(line, QuotaUse(small, 0.0, NOVEMBER))
        if base is not line:
            allowance.fix(base)
        use = QuotaUse(quota, used, moment)
        allowance.observe(0.0, allowance.wall, use)
        new = limited(base, use).capacity
        assert allowance.capacity is not None
        assert new is not None
        assert allowance.capacity.is_near(new, 1.0), (quota, used, moment, base)


def test_the_period_of_a_quota_is_found_again_for_another_and_when_it_is_over() -> None:
    use = LineUse.from_saved({})
    for wall in (NOVEMBER, NOVEMBER - timedelta(days=31)):
        use.add(1_000, wall.timestamp())
    month, day = Quota.parse("1 GB/month", BERLIN), Quota.parse("1 GB/day", BERLIN)
    use.add(100, (NOVEMBER - timedelta(days=1)).timestamp())
    for quota, days, used in (
        (month, 0, 1_100),
        (day, 0, 1_000),
        (month, 0, 1_100),
        (month, 30, 0),
        (month, -31, 2_100),
    ):
        then = NOVEMBER + timedelta(days=days)
        assert use.quota_use(quota, then.timestamp()) == QuotaUse(quota, used, then)


def test_an_end_that_is_no_longer_foreseen_is_no_longer_shown() -> None:
    """As when the budget's limit is taken off: a site that waited kept its old end."""
    crawl, made = Crawl(), snapshots()
    made.take(crawl.look(1.0, "wiki", past=28.0))
    assert [site.eta for site in made.take(crawl.look(2.0, "wiki")).sites][1] is None
    shown = made.take(crawl.look(3.0, "wiki"))
    assert [site.name for site in shown.changed or ()] == ["wiki"], "and it is left alone again"


def test_a_snapshot_follows_what_it_is_made_of() -> None:
    """Each of the report, rates, shares, ends and forecasts, with the others as they were."""
    crawl = Crawl()
    look = crawl.look(10.0, "wiki")
    variants = {
        "measured": replace(look, measured={"wiki": 20_000.0}),
        "granted": replace(look, granted={"wiki": 1.0}),
        "ends": replace(look, ends={"wiki": 12.0, "past": 13.0}),
        "no longer running": replace(look, granted={}, measured={}),
    }
    for name, other in variants.items():
        made = snapshots()
        for each in (look, other, look):
            assert made.take(each).sites == snapshots().take(each).sites, name
    made = snapshots()
    made.take(look)
    made.planned({"wiki": Forecast(900_000.0, Source.USER)})
    assert [site.expected is None for site in made.take(look).sites] == [False, True]
