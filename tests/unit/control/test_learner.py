"""alpha is learned where the site sets the pace, never where our grant does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from headgate.bandwidth.server_speed import Measure, ServerSpeed, ServerSpeeds
from headgate.bandwidth.server_tally import ServerTally
from headgate.control.learner import AlphaWatch, ServerWatch
from headgate.crawling.progress import Progress, TaskState
from headgate.model.errors import UserMistake
from headgate.model.site import Site
from headgate.model.timetable import Calendar, DayKind, LocalMoment


def watched(rate: float) -> AlphaWatch:
    """One site at a server that gives so many bytes per second."""
    servers = ServerWatch(ServerSpeeds(), Calendar(), {"docs.example": "192.0.2.1"})
    servers.speeds.learn("192.0.2.1", Measure(rate, 1.0), LocalMoment(0.0, DayKind.WORKING))
    return AlphaWatch.from_sites([Site("docs", seeds=("https://docs.example/",))], servers)


def crawl(watch: AlphaWatch, came: int, granted: float) -> float | None:
    report = Progress("docs", TaskState.CRAWLING)
    for second in range(11):
        watch.observe([report], {"docs": granted}, float(second), float(second))
        report.wire_bytes += came
    return watch.alpha("docs")


@pytest.mark.parametrize(
    ("came", "granted", "alpha"),
    [
        (80_000, 500_000.0, 1.25),  # the server's pace, less a fifth of pauses
        (1_000, 50_000.0, 100.0),  # a crawl delay sets the pace, below what was granted
        (49_000, 50_000.0, None),  # our grant does
    ],
)
def test_alpha(came: int, granted: float, alpha: float | None) -> None:
    found = crawl(watched(100_000.0), came, granted)
    assert found == (None if alpha is None else pytest.approx(alpha))


def test_a_rate_that_was_just_raised_was_not_granted_before() -> None:
    """A site that was parked for long would seem to have left half of its grant."""
    servers = ServerWatch(ServerSpeeds(), Calendar(), {"docs.example": "192.0.2.1"})
    watch = AlphaWatch.from_sites([Site("docs", seeds=("https://docs.example/",))], servers)
    report, tally = Progress("docs", TaskState.CRAWLING), ServerTally({"docs.example"})
    for second, rate in enumerate((0.0, 0.0, 0.0, 100e3, 100e3, 100e3)):
        watch.observe([report], {"docs": rate}, float(second), float(second))
        report.wire_bytes += int(0.98 * rate)
        tally.count(0.0, second + 1.0, int(0.98 * rate), 0.1, held=second + 0.9)
    servers.finish({"192.0.2.1": tally}, 6.0, 6.0)
    assert not servers.speeds.speed("192.0.2.1").bounded


def test_what_came_before_the_speed_was_known_counts_in_the_end() -> None:
    servers = ServerWatch(ServerSpeeds(), Calendar())
    watch = AlphaWatch.from_sites([Site("docs", seeds=("https://docs.example/",))], servers)
    assert crawl(watch, 1_000, 50_000.0) is None
    servers.hosts["docs.example"] = "192.0.2.1"
    servers.speeds.learn("192.0.2.1", Measure(1e5, 1.0), LocalMoment(0.0, DayKind.WORKING))
    assert watch.alpha("docs") == pytest.approx(100.0)
    assert watch.alpha("docs") == pytest.approx(100.0)


# Counters become measures: which hour, which speed, and whose limit it was.


_START = datetime(2026, 11, 16, 8, tzinfo=UTC).timestamp()  # a Monday
_EIGHT = LocalMoment(480.0, DayKind.WORKING)


def watch() -> ServerWatch:
    return ServerWatch(ServerSpeeds(), Calendar())


def test_growth_of_the_counters_is_a_measure() -> None:
    watching, tally = watch(), ServerTally({"docs.example"})
    for second in range(0, 30, 2):
        tally.count(second, second + 1.0, 50_000, 0.1, held=0.0)
        watching.observe({"192.0.2.1": tally}, second + 1.0, _START + second + 1.0)
    watching.finish({"192.0.2.1": tally}, 30.0, _START + 30.0)
    speed = watching.speeds.speed("192.0.2.1")
    assert speed.rate(_EIGHT) == pytest.approx(50_000, rel=1e-6)
    assert speed.bounded
    assert watching.take_changed() == {"192.0.2.1": frozenset({"docs.example"})}
    assert watching.take_changed() == {}


def test_what_we_held_back_is_a_lower_bound() -> None:
    watching, tally = watch(), ServerTally()
    tally.count(0.0, 1.0, 1_000, 0.1, held=5.0)
    watching.finish({"192.0.2.1": tally}, 6.0, _START)
    assert not watching.speeds.speed("192.0.2.1").bounded


def test_a_grant_that_was_not_used_up_is_the_servers_limit() -> None:
    watching, tally = watch(), ServerTally({"docs.example"})
    tally.count(0.0, 1.0, 10_000, 0.1, held=5.0)
    watching.record_use("docs.example", granted=20_000.0, came=10_000.0)
    watching.finish({"192.0.2.1": tally}, 6.0, _START)
    assert watching.speeds.speed("192.0.2.1").bounded


@pytest.mark.parametrize("granted", [0.0, 2_000.0])
def test_robots_txt_alone_does_not_make_a_server_slow(granted: float) -> None:
    """A site that was parked while its robots.txt came, and broken off: 170 bytes in 20 ms."""
    watching, tally = watch(), ServerTally({"docs.example"})
    tally.count(0.0, 0.02, 170, 0.02, held=0.0)
    watching.record_use("docs.example", granted=granted, came=170.0)
    watching.finish({"192.0.2.1": tally}, 8.0, _START)
    assert not watching.speeds.speed("192.0.2.1").bounded


@pytest.mark.parametrize("jump_hours", [-5, 5])
def test_a_wall_clock_that_is_put_right_changes_no_speed(jump_hours: int) -> None:
    watching, tally = watch(), ServerTally()
    for second in range(60):
        tally.count(second, second + 0.5, 20_000, 0.1, held=0.0)
        wall = _START + second + (3600.0 * jump_hours if second >= 30 else 0.0)
        watching.observe({"192.0.2.1": tally}, second + 0.5, wall)
    rates = watching.speeds.speed("192.0.2.1").hourly(DayKind.WORKING)
    assert rates == pytest.approx([40_000] * 24)


@pytest.mark.parametrize(
    ("zone", "first_day"),
    [
        ("Europe/Berlin", datetime(2026, 3, 26)),  # noqa: DTZ001
        ("Europe/Berlin", datetime(2026, 10, 22)),  # noqa: DTZ001
        ("America/New_York", datetime(2026, 3, 5)),  # noqa: DTZ001
        ("America/New_York", datetime(2026, 10, 29)),  # noqa: DTZ001
        ("Australia/Lord_Howe", datetime(2026, 4, 2)),  # noqa: DTZ001  by half an hour
        ("Africa/Nairobi", datetime(2026, 3, 26)),  # noqa: DTZ001  never
    ],
)
def test_a_week_around_a_change_of_clocks_puts_every_measure_in_its_hour(
    zone: str, first_day: datetime
) -> None:
    """The oracle walks the week in UTC and adds the zone's offset itself."""
    place = ZoneInfo(zone)
    watching, tally = ServerWatch(ServerSpeeds(), Calendar(place)), ServerTally()
    expected, by_utc = ServerSpeed(), ServerSpeed()
    start = first_day.replace(tzinfo=place).astimezone(UTC)
    for count in range(7 * 24 * 4):
        instant = start + timedelta(minutes=15 * count)
        offset = place.utcoffset(instant.astimezone(place))
        assert offset is not None
        size = 1000 * (1 + (instant + offset).hour) + count
        tally.count(900.0 * count, 900.0 * count + 1.0, size, 0.1, held=0.0)
        # A measure is labelled with the middle of the time it was taken in.
        watching.observe({"192.0.2.1": tally}, 900.0 * (count + 1), instant.timestamp() + 450.0)
        for speed, local in ((expected, instant + offset), (by_utc, instant)):
            kind = DayKind.WORKING if local.weekday() < 5 else DayKind.HOLIDAY
            minute = local.hour * 60 + local.minute
            speed.learn(Measure(size, 1.0), LocalMoment(minute, kind, instant.timestamp()))
    learned = watching.speeds.speed("192.0.2.1")
    for kind in DayKind:
        assert learned.hourly(kind) == pytest.approx(expected.hourly(kind), rel=1e-9)
        assert learned.hourly(kind) != pytest.approx(by_utc.hourly(kind), rel=1e-3)


def test_a_countrys_holidays_are_no_working_days() -> None:
    nairobi = Calendar.from_zone(ZoneInfo("Africa/Nairobi"), "KE")
    noon = datetime(2026, 10, 20, 12, tzinfo=ZoneInfo("Africa/Nairobi")).timestamp()
    assert nairobi.moment(noon).kind is DayKind.HOLIDAY  # Mashujaa Day, a Tuesday
    assert Calendar(nairobi.zone).moment(noon).kind is DayKind.WORKING
    assert nairobi.moment(noon + 86400.0).kind is DayKind.WORKING


def test_a_country_that_is_none_is_a_mistake() -> None:
    with pytest.raises(UserMistake, match="the holidays of 'XX' are not known"):
        Calendar.from_zone(ZoneInfo("UTC"), "XX")
