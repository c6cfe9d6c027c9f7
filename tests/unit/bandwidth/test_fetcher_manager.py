"""What the fetcher manager learns of servers from the downloads it started."""

from __future__ import annotations

import pytest

from headgate.bandwidth.admission_control import WAYS, Download, FetcherManager
from headgate.bandwidth.server_speed import Measure, ServerSpeeds
from headgate.model.timetable import DayKind, LocalMoment

NOON = LocalMoment(720.0, DayKind.WORKING)
LIMIT = 100_000.0


def manager(way: str, **rules: int) -> FetcherManager:
    told = {"look_ahead": 6, "per_server": 4, **rules}
    return FetcherManager(WAYS[way], LIMIT, ServerSpeeds(rule=WAYS[way].estimator), **told)


def test_what_its_share_held_back_is_no_measure() -> None:
    managed = manager("shares")
    managed.speeds.learn("server", Measure(40_000, 1.0), NOON)
    managed.offer(Download("a", "server", 1.0))
    assert [start.taken.share for start in managed.starts(0.0, NOON)] == [60_000]
    managed.came("a", Measure(58_000, 1.0), NOON)
    assert managed.speeds.speed("server").measures == 1
    assert (managed.speeds.rate("server", NOON) or 0.0) >= 40_000


def test_nor_is_what_came_while_the_line_was_full() -> None:
    managed = manager("shares")
    managed.speeds.learn("server", Measure(40_000, 1.0), NOON)
    managed.measured(0.97 * LIMIT)
    managed.offer(Download("a", "server", 1.0))
    managed.starts(0.0, NOON)
    managed.came("a", Measure(10_000, 1.0), NOON)
    assert managed.speeds.rate("server", NOON) == pytest.approx(40_000)


def test_a_server_slower_than_its_shares_is_known_as_slow() -> None:
    managed = manager("shares")
    managed.speeds.learn("server", Measure(40_000, 1.0), NOON)
    for number in range(60):
        managed.offer(Download(f"{number}", "server", 1.0))
        managed.starts(float(number), NOON)
        managed.came(f"{number}", Measure(10_000, 1.0), NOON)
    assert managed.speeds.rate("server", NOON) == pytest.approx(10_000, rel=0.1)


def test_what_failed_says_nothing() -> None:
    managed = manager("shares")
    managed.offer(Download("a", "server", 1.0))
    managed.starts(0.0, NOON)
    managed.ended("a")
    assert managed.speeds.rate("server", NOON) is None
    assert managed.predicted == 0.0


@pytest.mark.parametrize("way", WAYS)
def test_without_a_limit_to_fill_nothing_starts(way: str) -> None:
    managed = manager(way)
    managed.limit = 0.0
    managed.offer(Download("a", "server", 1.0))
    assert managed.starts(0.0, NOON) == []
    managed.limit = LIMIT
    assert len(managed.starts(1.0, NOON)) == 1
