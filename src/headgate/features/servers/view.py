"""Server speeds for people: 24 hours of two kinds of day, as a page or in a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headgate.bandwidth.server_speed import KnownServer
from headgate.model.timetable import DayKind
from headgate.model.units import format_duration, format_rate
from headgate.report.charts.svg import Chart, for_any_screen
from headgate.report.html_page import document, section
from headgate.report.markup import Markup, element, joined, printable, shortened
from headgate.report.phrases import plural

__all__ = ["print_servers", "servers_page", "servers_picture"]


# Server speeds as a page, and as a picture: 24 hours of two kinds of day for each server.


_MOST = 60
_SHADES = 8
_LEAST_SPAN = 10.0
"""The shades span at least this factor: a few per cent make no difference."""
_LEFT, _HEAD, _CELL_HEIGHT, _GAP, _BELOW = 78.0, 20.0, 16.0, 14.0, 74.0
_WIDE_CELL, _NARROW_CELL = 34.0, 13.0
_KINDS = ((DayKind.WORKING, "working day"), (DayKind.HOLIDAY, "holiday"))


def servers_page(servers: Sequence[KnownServer]) -> str:
    """The page; the same speeds give the same text."""
    heading = _heading(servers)
    charts = for_any_screen(_chart(servers, _WIDE_CELL), _chart(servers, _NARROW_CELL))
    left_out = len(servers) - _MOST
    more = f" {plural(left_out, 'more server')} not shown." if left_out > 0 else ""
    zone = servers[0].calendar.zone.key
    note = f"By the hours of {zone}. An empty box: nothing was measured near that hour.{more}"
    body = joined(
        (
            element(
                "header", element("p", "Headgate, servers", class_="kicker"), element("h1", heading)
            ),
            section("Speed at each hour", charts, note),
        ),
        "\n",
    )
    return document(f"{heading} – Headgate", body)


def servers_picture(servers: Sequence[KnownServer]) -> Chart:
    return _chart(servers, _WIDE_CELL)


def _heading(servers: Sequence[KnownServer]) -> str:
    if len(servers) == 1:
        return f"Speed of {servers[0].address} by the hour"
    return f"Speeds of {len(servers):,} servers by the hour"


def _chart(servers: Sequence[KnownServer], cell: float) -> Chart:
    shown = servers[:_MOST]
    rates = [rate for server in shown for rate in (*server.working_day, *server.holiday)]
    fastest = max(rates)
    slowest = min(*rates, fastest / _LEAST_SPAN)
    row = _HEAD + len(_KINDS) * _CELL_HEIGHT + _GAP
    width = _LEFT + 24 * cell + 24.0
    parts = [
        element(
            "g",
            *_server(server, cell, slowest, fastest),
            transform=f"translate(0 {row * place:g})",
        )
        for place, server in enumerate(shown)
    ]
    bottom = row * len(shown) - _GAP
    parts += [*_hours(cell, bottom), *_scale(slowest, fastest, bottom + 34, width - 24.0)]
    title = "The speed of each server by the hour, on working days and holidays"
    return Chart(title, width, bottom + _BELOW, joined(parts), "heat")


def _server(server: KnownServer, cell: float, slowest: float, fastest: float) -> Iterator[Markup]:
    hosts = ", ".join(server.hosts[:3])
    longest = 90 if cell == _WIDE_CELL else 44
    yield element("text", shortened(f"{server.address}  {hosts}", longest), x=0, y=13)
    for line, (kind, name) in enumerate(_KINDS):
        y = _HEAD + line * _CELL_HEIGHT
        yield element("text", name, class_="tick", x=_LEFT - 8, y=y + 12, text_anchor="end")
        for hour, rate in enumerate(server.speed.hourly(kind)):
            seen = server.speed.seen(server.now.at(hour, kind))
            shade = f"h{_shade(rate, slowest, fastest)}" if seen else "unseen"
            when = f"{hour:02d}:00, {name}: {format_rate(rate)}{'' if seen else ', not measured'}"
            yield element(
                "rect", class_=shade, x=_LEFT + hour * cell + 0.5, y=y + 0.5,
                width=cell - 1.0, height=_CELL_HEIGHT - 1.0, data_tip=when,
            )  # fmt: skip


def _shade(rate: float, slowest: float, fastest: float) -> int:
    """On a logarithmic scale.

    >>> [_shade(rate, 10.0, 100.0) for rate in (10.0, 32.0, 99.0, 100.0)]
    [0, 4, 7, 7]
    """
    share = math.log(rate / slowest) / math.log(fastest / slowest)
    return min(max(int(_SHADES * share), 0), _SHADES - 1)


def _hours(cell: float, bottom: float) -> Iterator[Markup]:
    for hour in range(0, 24, 3 if cell == _WIDE_CELL else 6):
        x = _LEFT + (hour + 0.5) * cell
        yield element("text", f"{hour}:00", class_="tick", x=x, y=bottom + 16, text_anchor="middle")


def _scale(slowest: float, fastest: float, top: float, right: float) -> Iterator[Markup]:
    """What the shades mean, from slow to fast."""
    width = (right - _LEFT) / _SHADES
    for shade in range(_SHADES):
        yield element(
            "rect", class_=f"h{shade}", x=_LEFT + shade * width, y=top, width=width, height=10
        )
    for rate, anchor, x in ((slowest, "start", _LEFT), (fastest, "end", right)):
        yield element("text", format_rate(rate), class_="tick", x=x, y=top + 24, text_anchor=anchor)


_MOST_ROWS, _MOST_MAPS = 200, 20
_BLOCKS = "▁▂▃▄▅▆▇█"
_UNSEEN = "·"
_STYLES = ("red", "red", "yellow", "yellow", "green", "green", "bright_green", "bright_green")
"""Slow to fast, beside the height of a block."""


def print_servers(console: Console, servers: Sequence[KnownServer]) -> None:
    """Server speeds for people: a table, and for each server a day of blocks, whose height is the
    speed.
    """
    console.print(_table(servers[:_MOST_ROWS]))
    if len(servers) > _MOST_ROWS:
        console.print(
            f"… {len(servers) - _MOST_ROWS:,} more; --host finds one, --json has them all"
        )
    console.print()
    zone = servers[0].calendar.zone.key
    console.print(f"Speed by the hour ({zone}), each server against its own fastest:")
    console.print(Text(f"{'':<25}0     6     12    18    24", style="dim"))
    for server in servers[:_MOST_MAPS]:
        for kind in (DayKind.WORKING, DayKind.HOLIDAY):
            console.print(_map(server, kind), no_wrap=True, crop=True)


def _table(servers: Sequence[KnownServer]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("address", no_wrap=True)
    table.add_column("hosts", overflow="ellipsis", no_wrap=True, max_width=32)
    for name in ("now", "best hour", "worst hour", "first byte", "a request", "measures"):
        table.add_column(name, justify="right", no_wrap=True)
    for server in servers:
        table.add_row(
            printable(server.address),
            Text(printable(_hosts(server))),
            f"{'' if server.speed.bounded else '≥ '}{format_rate(server.rate_now)}",
            _extreme(server, max),
            _extreme(server, min),
            _seconds(server.speed.latency_seconds),
            _seconds(server.speed.request_seconds),
            f"{server.speed.measures:,}",
        )
    return table


def _hosts(server: KnownServer) -> str:
    first, *others = server.hosts or ("",)
    return f"{first} +{len(others)}" if others else first


def _extreme(server: KnownServer, which: Callable[[Sequence[float]], float]) -> str:
    """Among the hours near which something was measured."""
    kind = server.now.kind
    seen = {
        hour: rate
        for hour, rate in enumerate(server.today)
        if server.speed.seen(server.now.at(hour, kind))
    }
    if not seen:
        return "not seen"
    found = which(list(seen.values()))
    if max(seen.values()) <= 1.01 * min(seen.values()):
        return "all alike"
    return f"{next(hour for hour in seen if seen[hour] == found):02d}:00 {format_rate(found)}"


def _map(server: KnownServer, kind: DayKind) -> Text:
    """24 blocks, or a dot for an hour near which nothing was measured."""
    first = kind is DayKind.WORKING
    text = Text(f"{printable(server.address if first else '')[:15]:<16}{kind.name.lower():<9}")
    fastest = max(*server.working_day, *server.holiday)
    for hour, rate in enumerate(server.speed.hourly(kind)):
        level = min(int(len(_BLOCKS) * rate / fastest), len(_BLOCKS) - 1)
        seen = server.speed.seen(server.now.at(hour, kind))
        text.append(_BLOCKS[level] if seen else _UNSEEN, style=_STYLES[level] if seen else "dim")
    measured = any(server.speed.seen(server.now.at(hour, kind)) for hour in range(24))
    fastest_seen = format_rate(max(server.speed.hourly(kind)))
    text.append(f"  up to {fastest_seen}" if measured else "  not measured")
    return text


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else format_duration(seconds)
