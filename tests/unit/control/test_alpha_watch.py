"""alpha is learned where the site sets the pace, never where our grant does."""

from __future__ import annotations

import pytest

from headgate.control.alpha_watch import AlphaWatch
from headgate.control.server_watch import ServerWatch
from headgate.crawling.progress import Progress, TaskState
from headgate.model.local_time import Calendar, DayKind, LocalMoment
from headgate.model.site import Site
from headgate.traffic.server_speed import Measure, ServerSpeeds
from headgate.traffic.server_tally import ServerTally


def watched(rate: float) -> AlphaWatch:
    """One site at a server that gives so many bytes per second."""
    servers = ServerWatch(ServerSpeeds(), Calendar(), {"docs.example": "192.0.2.1"})
    servers.speeds.learn("192.0.2.1", Measure(rate, 1.0), LocalMoment(0.0, DayKind.WORKING))
    return AlphaWatch.of([Site("docs", seeds=("https://docs.example/",))], servers)


def crawl(watch: AlphaWatch, came: int, granted: float) -> float | None:
    report = Progress("docs", TaskState.CRAWLING)
    for second in range(11):
        watch.look([report], {"docs": granted}, float(second), float(second))
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
    watch = AlphaWatch.of([Site("docs", seeds=("https://docs.example/",))], servers)
    report, tally = Progress("docs", TaskState.CRAWLING), ServerTally({"docs.example"})
    for second, rate in enumerate((0.0, 0.0, 0.0, 100e3, 100e3, 100e3)):
        watch.look([report], {"docs": rate}, float(second), float(second))
        report.wire_bytes += int(0.98 * rate)
        tally.count(0.0, second + 1.0, int(0.98 * rate), 0.1, held=second + 0.9)
    servers.finish({"192.0.2.1": tally}, 6.0, 6.0)
    assert not servers.speeds.speed("192.0.2.1").bounded


def test_what_came_before_the_speed_was_known_counts_in_the_end() -> None:
    servers = ServerWatch(ServerSpeeds(), Calendar())
    watch = AlphaWatch.of([Site("docs", seeds=("https://docs.example/",))], servers)
    assert crawl(watch, 1_000, 50_000.0) is None
    servers.hosts["docs.example"] = "192.0.2.1"
    servers.speeds.learn("192.0.2.1", Measure(1e5, 1.0), LocalMoment(0.0, DayKind.WORKING))
    assert watch.alpha("docs") == pytest.approx(100.0)
    assert watch.alpha("docs") == pytest.approx(100.0)
