"""What a site will take, by the best source there is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headgate.bandwidth.server_speed import Measure, ServerSpeed
from headgate.control.forecast import (
    Past,
    PastVisit,
    Remembered,
    Scouted,
    Source,
    forecast,
    unknown_site_bytes,
)
from headgate.control.site_estimate import SpeedWatch
from headgate.model.site import Site
from headgate.model.timetable import Calendar, DayKind, LocalMoment
from headgate.model.units import Bytes, BytesPerSecond, Seconds, SizeRange

LOOKED = Scouted(SizeRange(1e5, 4e5, 2e6), bytes_per_second=5e4)


def test_the_user_knows_best() -> None:
    site = Site("a", expect=Bytes(7e6), max_rate=BytesPerSecond(2e4))
    known = forecast(site, Past((PastVisit(1e6, 10, complete=True),)), LOOKED)
    assert (known.bytes, known.source, known.cap) == (7e6, Source.USER, 2e4)


def test_a_delay_of_the_user_is_a_cap() -> None:
    site = Site("a", delay=Seconds(2.0))
    assert forecast(site).cap == 10_000 / 2
    known = Past(memory=Remembered(pages=10, sized=4, sized_bytes=120_000.0))
    assert forecast(site, known).cap == 30_000 / 2
    assert forecast(Site("a", delay=Seconds(0.0)), known).cap is None


def test_alpha_is_fitted_over_complete_visits() -> None:
    visits = (
        PastVisit(1e6, 10, complete=False, alpha=9.0),
        PastVisit(4e6, 40, complete=True, alpha=1.5),
        PastVisit(2e6, 40, complete=True, alpha=1.0),
        PastVisit(2e6, 40, complete=True),
    )
    expected = (4 * 4 * 1.5 + 2 * 2 * 1.0) / (4 * 4 + 2 * 2)
    assert forecast(Site("a"), Past(visits)).alpha == pytest.approx(expected)
    large = PastVisit(int(5e9), 40, complete=True, alpha=1.5)
    assert forecast(Site("a"), Past((large,))).alpha == pytest.approx(1.5)


def _server(by_hour: dict[int, float]) -> ServerSpeed:
    server = ServerSpeed()
    for hour, rate in by_hour.items():
        for minute in range(0, 60, 5):
            moment = LocalMoment(60 * hour + minute, DayKind.WORKING, 3600.0 * hour)
            server.learn(Measure(rate * 20, 20.0), moment)
    return server


def test_the_cap_is_the_servers_at_that_hour() -> None:
    server = _server({3: 400e3, 15: 100e3})
    monday = datetime(2026, 11, 16, tzinfo=UTC).timestamp()
    known = forecast(Site("a"), Past((), server), instant=monday + 3.5 * 3600)
    assert known.cap == pytest.approx(400e3, rel=0.02)
    afternoon = monday + 15 * 3600
    assert known.cap_between(Calendar(), afternoon, afternoon + 3600) == pytest.approx(
        1e5, rel=0.02
    )
    shared = forecast(Site("a"), Past((), server, sharing=4), instant=monday + 3.5 * 3600)
    assert shared.cap == pytest.approx(100e3, rel=0.02)


def test_a_server_that_only_we_held_back_bounds_nothing() -> None:
    server = ServerSpeed()
    server.learn(Measure(1e4, 1.0, at_least=True), LocalMoment(0.0, DayKind.WORKING))
    assert forecast(Site("a"), Past((), server)).cap is None


def test_a_first_look_comes_next() -> None:
    known = forecast(Site("a"), scouted=LOOKED)
    assert (known.bytes, known.source, known.cap) == (4e5, Source.SCOUT, 5e4)
    assert known.bytes_range == (1e5, 2e6)
    listed = Scouted(SizeRange.exactly(1e6), by_sitemap=True)
    assert forecast(Site("a"), scouted=listed).source is Source.SITEMAP


def test_a_site_nobody_knows_is_guessed_and_the_range_says_so() -> None:
    known = forecast(Site("a"))
    assert (known.source, known.bytes) == (Source.GUESS, 8e6)
    assert known.bytes_range is not None
    low, high = known.bytes_range
    assert low < 1e6
    assert high > 200e6


def test_it_is_guessed_like_the_others_if_there_are_enough() -> None:
    told = [forecast(Site("s", expect=Bytes(size))) for size in (1e6, 2e6, 900e6)]
    assert unknown_site_bytes(told) == 2e6
    assert unknown_site_bytes(told[:2]) == 8e6
    assert unknown_site_bytes([*told, forecast(Site("a"), unknown_bytes=7.0)]) == 2e6


def test_a_visit_broken_off_is_the_least_there_is() -> None:
    known = forecast(Site("a"), Past((PastVisit(90e6, 10, complete=False, first=True),)))
    assert known.source is Source.GUESS
    assert known.bytes == 180e6
    assert known.bytes_range is not None
    assert known.bytes_range[0] == 90e6


def test_one_slow_look_is_no_proof() -> None:
    watch = SpeedWatch(cap=100.0e3)
    for came in (20e3, 99e3, 20e3, 20e3):  # the second look raises the cap
        assert watch.observe(came, 100e3, busy=True) >= 100e3
    for _ in range(3):
        cap = watch.observe(20e3, 150e3, busy=True)
    assert cap == pytest.approx(23e3)


def test_a_site_without_work_is_not_slow() -> None:
    watch = SpeedWatch(cap=100e3)
    for _ in range(9):
        assert watch.observe(1e3, 100e3, busy=False) == 100e3
