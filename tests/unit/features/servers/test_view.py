"""Server speeds as a page: shades mean speed, and empty boxes that nobody measured."""

from __future__ import annotations

import io
import re

from rich.console import Console

from headgate.bandwidth.server_speed import KnownServer, Measure, ServerSpeed
from headgate.features.servers.view import print_servers, servers_page
from headgate.model.timetable import Calendar, DayKind, LocalMoment

NOON = LocalMoment(720.0, DayKind.WORKING, 1.0)


def server(address: str, rate: float, *hours: int) -> KnownServer:
    """Measured at these hours of a working day."""
    speed = ServerSpeed()
    for number, hour in enumerate(hours, 1):
        moment = LocalMoment(60.0 * hour, DayKind.WORKING, float(number))
        speed.learn(Measure(10.0 * rate, 10.0), moment)
    return KnownServer(address, ("<b>.example",), speed, Calendar(), NOON)


def shades(page: str) -> set[str]:
    """Of the hours, not of the scale below."""
    return set(re.findall(r'<rect class="(h\d)"[^>]*data-tip', page))


def test_a_per_cent_of_difference_is_none() -> None:
    page = servers_page([server("192.0.2.1", 100e3, 12), server("192.0.2.2", 101e3, 12)])
    assert shades(page) == {"h7"}
    assert "Speeds of 2 servers by the hour" in page


def test_ten_times_as_fast_is_the_whole_scale() -> None:
    page = servers_page([server("192.0.2.1", 10e3, 12), server("192.0.2.2", 100e3, 12)])
    assert shades(page) == {"h0", "h7"}


def test_what_was_not_measured_is_empty_and_one_server_is_one() -> None:
    known = server("192.0.2.1", 100e3, 12)
    page = servers_page([known])
    seen = [known.speed.seen(NOON.at(hour, kind)) for kind in DayKind for hour in range(24)]
    assert 0 < sum(seen) < 24
    assert page.count('class="unseen"') == 2 * (48 - sum(seen))  # for two widths of screen
    assert "Speed of 192.0.2.1 by the hour" in page
    assert "<b>" not in page.partition("</style>")[2]
    console = Console(file=io.StringIO(), width=110, record=True)
    print_servers(console, [known])
    text = console.export_text()
    assert text.count("█") == sum(seen)
    assert text.count("·") == 48 - sum(seen)


def test_the_best_hour_is_one_that_was_seen() -> None:
    """Estimates of other hours are means of those, and said to be nobody's best."""
    known = server("192.0.2.1", 100e3, 20)
    known.speed.learn(Measure(500e3, 10.0), LocalMoment(60.0 * 22, DayKind.WORKING, 2.0))
    console = Console(file=io.StringIO(), width=110, record=True)
    print_servers(console, [known])
    row = next(line for line in console.export_text().splitlines() if "192.0.2.1" in line)
    hours = [int(hour) for hour in re.findall(r"(\d\d):00", row)]
    assert len(hours) == 2
    assert all(known.speed.seen(NOON.at(hour, NOON.kind)) for hour in hours)
