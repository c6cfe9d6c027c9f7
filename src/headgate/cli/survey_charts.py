"""The charts of a survey's page, as SVG."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from headgate.cli.markup import Markup, element, joined
from headgate.model.units import format_duration, format_rate
from headgate.survey.facts import ServerFacts, SurveyFacts

__all__ = ["depth_chart", "domain_chart", "harvest_chart", "speed_chart"]

_LEFT, _TOP, _WIDTH, _HEIGHT, _RIGHT, _BELOW = 70.0, 14.0, 640.0, 260.0, 190.0, 44.0
_BAR = 20.0
_MOST_DOMAINS = 15
_MOST_DOTS = 3000

Points = Sequence[tuple[float, float]]
Scale = Callable[[float], float]


def depth_chart(facts: SurveyFacts) -> Markup | None:
    """Requests and hosts down to each depth, as parts of all."""
    requests = list(_running(level.requests for level in facts.depths))
    hosts = list(_running(level.new_hosts for level in facts.depths))
    if len(requests) < 2 or not hosts[-1]:
        return None
    deepest = len(requests) - 1
    lines = [
        ("requests", 9, [(d / deepest, count / requests[-1]) for d, count in enumerate(requests)]),
        ("hosts found", 0, [(d / deepest, count / hosts[-1]) for d, count in enumerate(hosts)]),
    ]
    ticks = [(depth / deepest, str(depth)) for depth in range(deepest + 1)]
    return _line_chart("Cost and harvest by depth", lines, ticks, "depth")


def harvest_chart(facts: SurveyFacts) -> Markup | None:
    """Hosts found against requests, in the order they came."""
    all_requests, all_hosts = facts.curve[-1]
    if not all_hosts:
        return None
    points = [(requests / all_requests, hosts / all_hosts) for requests, hosts in facts.curve]
    ticks = [(share / 5, f"{all_requests * share / 5:,.0f}") for share in range(6)]
    return _line_chart(
        "Harvest against load",
        [("hosts found", 0, points), ("had they come evenly", 9, [(0.0, 0.0), (1.0, 1.0)])],
        ticks,
        "requests",
    )


def domain_chart(facts: SurveyFacts) -> Markup | None:
    """Servers by top-level domain, those that answer first."""
    everyone: Counter[str] = Counter()
    answering: Counter[str] = Counter()
    for server in facts.servers.values():
        top = server.domain.rpartition(".")[2]
        name = "addresses" if top.isdigit() or top.endswith("]") else f".{top}"
        everyone[name] += 1
        answering[name] += server.reachable
    shown = everyone.most_common(_MOST_DOMAINS)
    if not shown:
        return None
    longest = shown[0][1]
    rows = []
    for place, (name, count) in enumerate(shown):
        y = _TOP + place * (_BAR + 6)
        width = _WIDTH * count / longest
        good = _WIDTH * answering[name] / longest
        rows += [
            element("text", name, class_="name", x=_LEFT - 8, y=y + 15, text_anchor="end"),
            element("rect", class_="c9", x=_LEFT, y=y, width=width, height=_BAR),
            element("rect", class_="c0", x=_LEFT, y=y, width=good, height=_BAR),
            element(
                "text", f"{answering[name]:,} of {count:,} answer", class_="muted",
                x=_LEFT + width + 8, y=y + 15,
            ),
        ]  # fmt: skip
    return _svg("Servers by domain", rows, _TOP + len(shown) * (_BAR + 6) + 10)


def speed_chart(facts: SurveyFacts) -> Markup | None:
    """Transfer rate against response time, both by powers of ten."""
    servers = [s for s in facts.servers.values() if s.response_seconds > 0 and s.transfer_rate > 0]
    if len(servers) < 2:
        return None
    times, x = _log_axis([server.response_seconds for server in servers], _LEFT, _WIDTH)
    rates, y = _log_axis([server.transfer_rate for server in servers], _TOP + _HEIGHT, -_HEIGHT)
    dots = [_dot(server, x, y) for server in servers[:_MOST_DOTS]]
    grid = [
        *_upright_lines((x(value), _short_time(value)) for value in times),
        *_level_lines((y(value), format_rate(value)) for value in rates),
        _caption("response time"),
    ]
    return _svg("Transfer rate against response time", [*grid, *dots], _TOP + _HEIGHT + _BELOW)


def _short_time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else format_duration(seconds)


def _dot(server: ServerFacts, x: Scale, y: Scale) -> Markup:
    say = (
        f"{server.domain}: {_short_time(server.response_seconds)},"
        f" {format_rate(server.transfer_rate)}"
    )
    circle = element(
        "circle", class_="c0 dot", cx=x(server.response_seconds),
        cy=y(server.transfer_rate), r=3,
    )  # fmt: skip
    return element("g", element("title", say), circle)


def _line_chart(
    title: str,
    lines: Iterable[tuple[str, int, Points]],
    ticks: Iterable[tuple[float, str]],
    below: str,
) -> Markup:
    """Lines in the unit square, each with its name at its end."""
    parts = [
        *_upright_lines((_LEFT + at * _WIDTH, text) for at, text in ticks),
        *_level_lines((_TOP + (1 - at / 5) * _HEIGHT, f"{at / 5:.0%}") for at in range(6)),
        _caption(below),
    ]
    for place, (name, colour, points) in enumerate(lines):
        drawn = [(_LEFT + px * _WIDTH, _TOP + (1 - py) * _HEIGHT) for px, py in points]
        path = " ".join(f"{'L' if k else 'M'}{px:.1f} {py:.1f}" for k, (px, py) in enumerate(drawn))
        parts.append(element("path", d=path, class_=f"harvest-line c{colour}"))
        y = _TOP + 30 + 18 * place
        x = _LEFT + _WIDTH + 12
        parts.append(element("rect", class_=f"c{colour}", x=x, y=y - 9, width=10, height=10))
        parts.append(element("text", name, x=x + 16, y=y))
    return _svg(title, parts, _TOP + _HEIGHT + _BELOW)


def _svg(title: str, parts: Iterable[Markup], height: float) -> Markup:
    return element(
        "svg",
        element("title", title),
        joined(parts),
        viewBox=f"0 0 {_LEFT + _WIDTH + _RIGHT:.0f} {height:.0f}",
        class_="chart",
        role="img",
    )


def _upright_lines(at: Iterable[tuple[float, str]]) -> Iterator[Markup]:
    bottom = _TOP + _HEIGHT
    for x, text in at:
        yield element("line", class_="grid", x1=x, x2=x, y1=_TOP, y2=bottom)
        yield element("text", text, class_="tick", x=x, y=bottom + 16, text_anchor="middle")


def _level_lines(at: Iterable[tuple[float, str]]) -> Iterator[Markup]:
    for y, text in at:
        yield element("line", class_="grid", x1=_LEFT, x2=_LEFT + _WIDTH, y1=y, y2=y)
        yield element("text", text, class_="tick", x=_LEFT - 8, y=y + 4, text_anchor="end")


def _caption(text: str) -> Markup:
    return element(
        "text", text, class_="muted", x=_LEFT + _WIDTH, y=_TOP + _HEIGHT + 34, text_anchor="end"
    )


def _log_axis(values: Sequence[float], start: float, length: float) -> tuple[list[float], Scale]:
    """Powers of ten that hold the values, and where a value lies between them."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def place(value: float) -> float:
        return start + length * (math.log10(value) - low) / (high - low)

    return [10.0**power for power in range(low, high + 1)], place


def _running(counts: Iterable[int]) -> Iterator[int]:
    total = 0
    for count in counts:
        total += count
        yield total
