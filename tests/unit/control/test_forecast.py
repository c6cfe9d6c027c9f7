"""What a site will take, by the best source there is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from headgate.control.forecast import (
    Past,
    PastVisit,
    Scouted,
    Source,
    forecast,
    remaining_bytes,
)
from headgate.control.speed_watch import SpeedWatch
from headgate.model.local_time import Calendar, DayKind, LocalMoment
from headgate.model.site import Site
from headgate.model.units import Bytes, BytesPerSecond
from headgate.traffic.server_speed import Measure, ServerSpeed

LOOKED = Scouted(pages_in_sitemap=0, pages_by_links=40, mean_wire_bytes=1e4, bytes_per_second=5e4)


def test_the_user_knows_best() -> None:
    site = Site("a", expect=Bytes(7e6), max_rate=BytesPerSecond(2e4))
    known = forecast(site, Past((PastVisit(1e6, 10, complete=True),)), LOOKED)
    assert (known.bytes, known.source, known.cap) == (7e6, Source.USER, 2e4)


def test_history_counts_complete_visits_only() -> None:
    visits = (
        PastVisit(1e3, 10, complete=False),
        PastVisit(4e6, 40, complete=True),
        PastVisit(6e6, 50, complete=True),
    )
    known = forecast(Site("a"), Past(visits))
    assert (known.bytes, known.source, known.cap) == (4e6, Source.HISTORY, None)
    assert known.bytes_range == pytest.approx((4e6 / 1.1, 6e6))


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


@pytest.mark.parametrize(
    ("pages", "links", "bytes_", "source"),
    [(100, 40, 1e6, Source.SITEMAP), (0, 40, 4e5, Source.SCOUT), (0, 0, 20e6, Source.GUESS)],
)
def test_a_first_look_comes_next(pages: int, links: int, bytes_: float, source: Source) -> None:
    known = forecast(Site("a"), scouted=Scouted(pages, links, 1e4, None))
    assert (known.bytes, known.source, known.cap) == (bytes_, source, None)


def test_what_remains_is_at_least_what_is_known_to_be_left() -> None:
    assert remaining_bytes(100e3, 20e3, to_do=2, mean_bytes=10e3) == 80e3
    assert remaining_bytes(100e3, 95e3, to_do=9, mean_bytes=10e3) == 90e3
    assert remaining_bytes(100e3, 300e3, to_do=0, mean_bytes=10e3) == 1.0


def test_one_slow_look_is_no_proof() -> None:
    watch = SpeedWatch(cap=100.0e3)
    for came in (20e3, 99e3, 20e3, 20e3):  # the second look raises the cap
        assert watch.look(came, 100e3, busy=True) >= 100e3
    for _ in range(3):
        cap = watch.look(20e3, 150e3, busy=True)
    assert cap == pytest.approx(23e3)


def test_a_site_without_work_is_not_slow() -> None:
    watch = SpeedWatch(cap=100e3)
    for _ in range(9):
        assert watch.look(1e3, 100e3, busy=False) == 100e3
