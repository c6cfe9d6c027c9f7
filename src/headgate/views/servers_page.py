"""Server speeds as a page, and as a picture: 24 hours of two kinds of day for each server."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from headgate.model.local_time import DayKind
from headgate.model.units import format_rate
from headgate.traffic.known_server import KnownServer
from headgate.views.chart import Chart, for_any_screen
from headgate.views.html_page import document, section
from headgate.views.markup import Markup, element, joined, shortened
from headgate.views.plan_words import plural

__all__ = ["servers_page", "servers_picture"]

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
