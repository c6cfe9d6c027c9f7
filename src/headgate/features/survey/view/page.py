"""A survey's report as one HTML page that needs nothing else, with its charts and its graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from headgate.features.survey.report import DepthAhead, SurveyDepth, SurveyReport
from headgate.features.survey.strategy.facts import SurveyFacts
from headgate.features.survey.view.text import TLS_WORDS, nothing_surveyed
from headgate.model.units import format_duration, format_rate, format_size
from headgate.report.charts.line_chart import (
    NARROW,
    WIDE,
    Axis,
    ChartLine,
    Frame,
    Plane,
    line_chart,
)
from headgate.report.charts.svg import Chart, for_any_screen
from headgate.report.html_page import document, section
from headgate.report.markup import Markup, element, joined, shortened
from headgate.report.phrases import plural

__all__ = ["graph_picture", "survey_page"]

_ISSUERS_SHOWN = 10


def survey_page(report: SurveyReport, facts: SurveyFacts) -> str:
    """A survey's report as one HTML page that needs nothing else.

    The page; the same survey gives the same text.
    """
    headline = (
        f"{report.reachable:,} of {report.servers:,} servers answer, linking to"
        f" {report.hosts:,} other hosts"
    )
    if report.nothing_fetched:
        headline = nothing_surveyed(report)
    header = element(
        "header",
        element("p", f"Headgate, survey {report.stamp}", class_="kicker"),
        element("h1", headline),
        element("p", f"Ended: {report.ending}.", class_="amounts"),
    )
    tiles = element("section", *_tiles(report), class_="tiles")
    body = joined((header, tiles, *_sections(report, facts)), "\n")
    return document(f"{headline} – Headgate", body)


def _sections(report: SurveyReport, facts: SurveyFacts) -> Iterator[Markup]:
    yield section(
        "Hosts found against requests",
        harvest_chart(facts),
        "Hosts found by number of requests; dashed: had they been found at a steady pace.",
    )
    yield section(
        "Cost and yield by depth",
        depth_chart(facts),
        "Requests for pages down to each depth, and hosts they link to, as shares of all.",
    )
    yield section(
        "Each depth",
        _depths(report),
        "What was requested, and an estimate of what was not: links seen and not followed, and"
        " what they would lead to."
        if report.ahead
        else "What was requested. Nothing was left out.",
    )
    yield section("Servers by domain", domain_chart(facts))
    yield section(
        "Transfer rate against response time",
        speed_chart(facts),
        "A dot for each server that sent a body of more than ten packets; shorter ones arrive at"
        " once and do not show the rate.",
    )
    yield section(
        "TLS",
        _tls(report),
        "Servers by TLS version and by issuer of their certificates; servers.parquet has each.",
    )
    yield section(
        "robots.txt",
        _counts("what it says", report.robots),
        "absent: there is none; open: no rule for us; closed: not even the home page;"
        " unavailable: it could not be fetched, so nothing was requested.",
    )
    yield section("Servers without a page", _counts("why", report.unreachable))
    yield section(
        "The graph of hosts",
        graph_picture(facts),
        f"Up to {MOST_NODES} hosts with the most links: blue ones answer, red ones do not, grey"
        " ones were not contacted. hosts.graphml has all.",
    )


def _tiles(report: SurveyReport) -> Iterator[Markup]:
    per_host = f"{report.requests / report.hosts:.1f} per host found" if report.hosts else ""
    yield _tile("Requests", f"{report.requests:,}", per_host)
    unchanged = f"{plural(report.unchanged, 'page')} unchanged since the last survey"
    yield _tile("Bytes", format_size(report.wire_bytes), unchanged if report.unchanged else "")
    yield _tile(
        "The most for one server",
        f"{report.most_requests:,} requests",
        format_size(report.most_bytes),
    )
    if report.share_found is None:
        yield _tile("Found", "nothing", "no host was found to judge by what is left")
    else:
        found = f"about {report.share_found:.0%}"
        yield _tile("Found", found, "of what depth and caps leave to find")
    yield _tile("Time", format_duration(report.seconds), f"policy {report.policy}")


def _tile(what: str, figure: str, note: str) -> Markup:
    return element(
        "div",
        element("h2", what),
        element("p", figure, class_="figure"),
        element("p", note, class_="note"),
        class_="tile",
    )


def _depths(report: SurveyReport) -> Markup | None:
    walked = {level.depth: level for level in report.depths}
    ahead = {level.depth: level for level in report.ahead}
    depths = sorted(walked.keys() | ahead.keys())
    if not depths:
        return None
    rows = [
        _row(
            "td",
            str(depth),
            *_costs(walked.get(depth)),
            *(_costs(ahead.get(depth)) if ahead else ()),
        )
        for depth in depths
    ]
    asked = ("requests", "bytes", "new hosts", "per request")
    left = ("not asked", "bytes", "would bring", "per request") if ahead else ()
    return _table(_row("th", "depth", *asked, *left), rows)


def _costs(level: SurveyDepth | DepthAhead | None) -> tuple[str, str, str, str]:
    if level is None or not level.requests:
        return ("",) * 4
    costs = (f"{level.requests:,}", format_size(level.wire_bytes))
    if level.new_hosts is None:
        return (*costs, "unknown", "")
    return (*costs, f"{level.new_hosts:,.0f}", f"{level.new_hosts / level.requests:.3f}")


def _tls(report: SurveyReport) -> Markup | None:
    expiring = {"expires within 30 days": report.expiring} if report.expiring else {}
    issuers = dict(list(report.issuers.items())[:_ISSUERS_SHOWN])
    tables = (
        _counts("version", {TLS_WORDS.get(word, word): n for word, n in report.tls.items()}),
        _counts("certificate of", issuers),
        _counts("problem", {**report.tls_errors, **expiring}),
    )
    shown = [table for table in tables if table is not None]
    return element("div", *shown, class_="counts") if shown else None


def _counts(what: str, servers: Mapping[str, int]) -> Markup | None:
    """The most frequent first."""
    if not servers:
        return None
    ranked = sorted(servers.items(), key=lambda item: (-item[1], item[0]))
    rows = [_row("td", word, f"{count:,}") for word, count in ranked]
    return _table(_row("th", what, "servers"), rows)


def _table(head: Markup, rows: Iterable[Markup]) -> Markup:
    table = element("table", element("thead", head), element("tbody", *rows))
    return element("div", table, class_="scroll")


def _row(kind: str, first: str, *others: str) -> Markup:
    cells = (element(kind, text, class_="number") for text in others)
    return element("tr", element(kind, first), *cells)


# The charts of a survey's page.


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
            ChartLine(
                "requests", [(d, count / requests[-1]) for d, count in enumerate(requests)], "c9"
            ),
            ChartLine(
                "hosts found", [(d, count / hosts[-1]) for d, count in enumerate(hosts)], "c0"
            ),
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
            ChartLine(
                "hosts found", [(asked, found / all_hosts) for asked, found in facts.curve], "c0"
            ),
            ChartLine("had they come evenly", [(0.0, 0.0), (all_requests, 1.0)], "c9", "dashed"),
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


# The graph of hosts as a picture: springs between those that are linked, repulsion between all.
#
# Fruchterman and Reingold's layout, from a circle, so that the same graph gives the same picture.
# O(nodes squared) per step, hence the bound on nodes: servers with the most links first.


MOST_NODES = 300
_STEPS = 160
_GRAVITY = 3.0
_SIZE = 900.0
_MARGIN = 40.0
_NAMED = 16

Places = npt.NDArray[np.float64]


def graph_picture(facts: SurveyFacts) -> Markup | None:
    """None when there is nothing to draw."""
    edges = [
        (server.domain, facts.node_of(name), link.links)
        for server in facts.servers.values()
        for name, link in server.links.items()
    ]
    if not edges:
        return None
    weight: dict[str, int] = {}
    for source, target, _ in edges:
        weight[source] = weight.get(source, 0) + 1
        weight[target] = weight.get(target, 0) + 1
    names = sorted(weight, key=lambda name: (-weight[name], name))[:MOST_NODES]
    number = {name: place for place, name in enumerate(names)}
    pairs = sorted({(number[a], number[b]) for a, b, _ in edges if a in number and b in number})
    places = _layout(len(names), np.array(pairs, dtype=np.int64).reshape(-1, 2))
    return _drawn(names, pairs, places, weight, facts)


def _layout(count: int, pairs: npt.NDArray[np.int64]) -> Places:
    """Places in the unit square."""
    angle = 2 * np.pi * np.arange(count) / max(count, 1)
    places = 0.5 + 0.4 * np.stack((np.cos(angle), np.sin(angle)), axis=1)
    ideal = 0.8 / np.sqrt(max(count, 1))
    for step in range(_STEPS):
        apart = places[:, None, :] - places[None, :, :]
        squared = np.maximum((apart**2).sum(axis=2), 1e-6)
        moves = (apart * (ideal**2 / squared)[:, :, None]).sum(axis=1)
        spring = places[pairs[:, 0]] - places[pairs[:, 1]]
        pull = spring * (np.linalg.norm(spring, axis=1) / ideal)[:, None]
        np.add.at(moves, pairs[:, 0], -pull)
        np.add.at(moves, pairs[:, 1], pull)
        moves += (0.5 - places) * _GRAVITY  # so that unconnected parts do not drift away
        length = np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), 1e-9)
        warmth = 0.1 * (1 - step / _STEPS)
        places = places + moves / length * np.minimum(length, warmth)
    lowest = places.min(axis=0)
    spread: Places = (places - lowest) / np.maximum(places.max(axis=0) - lowest, 1e-9)
    return spread


def _drawn(
    names: list[str],
    pairs: list[tuple[int, int]],
    places: Places,
    weight: dict[str, int],
    facts: SurveyFacts,
) -> Markup:
    at = _MARGIN + places * (_SIZE - 2 * _MARGIN)
    lines = [
        element("line", class_="edge", x1=at[a, 0], y1=at[a, 1], x2=at[b, 0], y2=at[b, 1])
        for a, b in pairs
    ]
    dots, labels = [], []
    for place, name in enumerate(names):
        x, y = at[place]
        server = facts.servers.get(name)
        kind = "c9" if server is None else "c0" if server.reachable else "c4"
        radius = 3 + min(weight[name], 60) ** 0.5
        say = f"{name}: linked with {weight[name]:,}"
        dot = element("circle", class_=f"{kind} dot", cx=x, cy=y, r=radius)
        dots.append(element("g", element("title", say), dot))
        if place < _NAMED:
            labels.append(
                element("text", shortened(name, 28), class_="muted", x=x + radius + 2, y=y + 4)
            )
    content = joined((*lines, *dots, *labels))
    chart = Chart("The graph of hosts", _SIZE + 160, _SIZE, content).markup()
    return element("div", chart, class_="scroll roomy")
