"""The charts of a survey's page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from headgate.model.units import format_duration, format_rate
from headgate.surveying.facts import SurveyFacts
from headgate.views.chart import Chart, for_any_screen
from headgate.views.markup import Markup, element, joined
from headgate.views.plane import NARROW, WIDE, Axis, Frame, Line, Plane, line_chart

__all__ = ["depth_chart", "domain_chart", "harvest_chart", "speed_chart"]

_BAR, _GAP, _TOP = 20.0, 6.0, 6.0
_BESIDE = 130.0
"""For the words after a bar."""
_MOST_DOMAINS = 15
_MOST_DOTS = 3000


def depth_chart(facts: SurveyFacts) -> Markup | None:
    """Requests and hosts down to each depth, as parts of all."""
    requests = list(_running(level.requests for level in facts.depths))
    hosts = list(_running(level.new_hosts for level in facts.depths))
    if len(requests) < 2 or not hosts[-1]:
        return None
    return line_chart(
        "Cost and harvest by depth",
        Axis(0.0, len(requests) - 1, "depth", whole=True),
        _SHARES,
        [
            Line("requests", [(d, count / requests[-1]) for d, count in enumerate(requests)], "c9"),
            Line("hosts found", [(d, count / hosts[-1]) for d, count in enumerate(hosts)], "c0"),
        ],
    )


def harvest_chart(facts: SurveyFacts) -> Markup | None:
    """Hosts found against requests, in the order they came."""
    all_requests, all_hosts = facts.curve[-1]
    if not all_hosts:
        return None
    return line_chart(
        "Harvest against load",
        Axis(0.0, all_requests, "requests", whole=True),
        _SHARES,
        [
            Line("hosts found", [(asked, found / all_hosts) for asked, found in facts.curve], "c0"),
            Line("had they come evenly", [(0.0, 0.0), (all_requests, 1.0)], "c9", "dashed"),
        ],
    )


def domain_chart(facts: SurveyFacts) -> Markup | None:
    """Servers by top-level domain, those that answer first."""
    everyone: Counter[str] = Counter()
    answering: Counter[str] = Counter()
    for server in facts.servers.values():
        top = server.domain.rpartition(".")[2]
        name = "by IP" if top.isdigit() or top.endswith("]") else f".{top}"
        everyone[name] += 1
        answering[name] += server.reachable
    shown = [(name, count, answering[name]) for name, count in everyone.most_common(_MOST_DOMAINS)]
    if not shown:
        return None
    return for_any_screen(_domains(shown, WIDE), _domains(shown, NARROW))


def _domains(shown: Sequence[tuple[str, int, int]], frame: Frame) -> Chart:
    longest = max(count for _, count, _ in shown)
    length = frame.width + frame.right - _BESIDE
    rows = []
    for place, (name, count, good) in enumerate(shown):
        y = _TOP + place * (_BAR + _GAP)
        width = length * count / longest
        rows += [
            element("text", name, class_="name", x=frame.left - 8, y=y + 15, text_anchor="end"),
            element("rect", class_="c9", x=frame.left, y=y, width=width, height=_BAR),
            element(
                "rect", class_="c0", x=frame.left, y=y, width=length * good / longest, height=_BAR
            ),
            element(
                "text", f"{good:,} of {count:,} answer", class_="muted",
                x=frame.left + width + 8, y=y + 15,
            ),
        ]  # fmt: skip
    height = _TOP + len(shown) * (_BAR + _GAP)
    return Chart("Servers by domain", frame.outer, height, joined(rows), "plane")


def speed_chart(facts: SurveyFacts) -> Markup | None:
    """Transfer rate against response time, both by powers of ten."""
    measured = [
        (server.domain, server.response_seconds, server.transfer_rate)
        for server in facts.servers.values()
        if server.response_seconds and server.transfer_rate
    ]
    if len(measured) < 2:
        return None
    times = Axis.of_powers((at for _, at, _ in measured), "response time", _short_time)
    rates = Axis.of_powers((rate for _, _, rate in measured), "", format_rate)
    wide, narrow = (
        plane.chart(
            "Transfer rate against response time",
            (
                _dot(
                    f"{domain}: {_short_time(at)}, {format_rate(rate)}", plane.x(at), plane.y(rate)
                )
                for domain, at, rate in measured[:_MOST_DOTS]
            ),
        )
        for plane in (Plane(WIDE, times, rates), Plane(NARROW, times, rates))
    )
    return for_any_screen(wide, narrow)


def _short_time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else format_duration(seconds)


def _dot(say: str, x: float, y: float) -> Markup:
    return element("g", element("title", say), element("circle", class_="c0 dot", cx=x, cy=y, r=3))


def _running(counts: Iterable[int]) -> Iterator[int]:
    total = 0
    for count in counts:
        total += count
        yield total


_SHARES = Axis(0.0, 1.0, "", "{:.0%}".format)
