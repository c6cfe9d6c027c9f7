"""The chapter's pictures: Fig. 3 to 5, the tables as marks, the ratchet, the overlay."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean

import numpy as np

from headgate.report.charts.bars import MarkKind, MarkRow, mark_rows
from headgate.report.charts.line_chart import Axis, ChartLine, line_chart
from headgate.report.markup import Markup, element, joined
from headgate_lab.papers.page import side_by_side
from headgate_lab.papers.sarss2010.overlay import Overlay
from headgate_lab.papers.sarss2010.printed import CASES, INTERVALS, QUALITY, QUEUES
from headgate_lab.papers.sarss2010.simulation import (
    DELTAS,
    IIR_BY_SUMS,
    PULL_AGE,
    PULL_FRESH,
    RATCHETS,
    STRATEGIES,
    Run,
    Simulation,
)
from headgate_lab.worlds.volunteers import Volunteers, volunteers

__all__ = [
    "assignments_chart",
    "distributions",
    "freshness_chart",
    "intervals_chart",
    "quality_charts",
    "ratchet_chart",
    "series_charts",
]

_COLOURS = {
    "FIXED": "c4", "IIR": "c1", "ICR": "c0", PULL_FRESH: "c2", PULL_AGE: "c5", IIR_BY_SUMS: "c3",
}  # fmt: skip
_PAPER = MarkKind("paper", "c4", hollow=True)
_OURS = MarkKind("ours", "c0")
_INDEPENDENT = {
    ("REC", "FIXED"): 0.202, ("REC", "IIR"): 0.166, ("REC", "ICR"): 0.200,
    ("REC", PULL_FRESH): 0.383,
    ("RUC", "FIXED"): 0.309, ("RUC", "IIR"): 0.273, ("RUC", "ICR"): 0.297,
    ("RUC", PULL_FRESH): 0.418,
}  # fmt: skip
"""Weighted freshness, obtained independently of this project on a tenth of the world."""
_RANKS = len(INTERVALS["REC", "FIXED"])


def intervals_chart(simulation: Simulation, seed: int, case: str) -> Markup:
    """Tables 1 and 3: mean minutes between two tasks of a channel."""
    rows = []
    for name in ("FIXED", "IIR", "ICR"):
        ours = simulation.of(case, name, seed).intervals
        for group, (paper, found) in enumerate(zip(INTERVALS[case, name], ours, strict=True)):
            rows.append(MarkRow(f"{name}, rank {_RANKS - 1 - group}", (paper, found)))
    values = [value for row in rows for value in row.values if value is not None]
    across = Axis.of_powers(values, "minutes between two tasks", "{:,.0f}".format)
    return mark_rows(f"Recrawl intervals, {case}", across, (_PAPER, _OURS), rows)


def quality_charts(simulation: Simulation, seed: int) -> Markup:
    """Tables 2 and 4, and the queues of the text."""
    parts: list[Markup] = []
    for number, caption in enumerate(("update quality, weighted", "update quality, unweighted")):
        rows = []
        for case in CASES:
            for name in STRATEGIES:
                found = simulation.of(case, name, seed)
                ours = (found.weighted_quality, found.quality)[number]
                paper = QUALITY.get((case, name))
                rows.append(MarkRow(f"{case}, {name}", (paper[number] if paper else None, ours)))
        parts += _marks(caption, rows)
    rows = [
        MarkRow(f"{case}, {name}", (paper, simulation.of(case, name, seed).queue))
        for (case, name), paper in QUEUES.items()
    ]
    return joined((*parts, *_marks("tasks that wait at each crawler", rows)))


def _marks(caption: str, rows: Sequence[MarkRow]) -> list[Markup]:
    most = max(value for row in rows for value in row.values if value is not None)
    across = Axis(0.0, 1.05 * most, caption, "{:.4g}".format)
    heading = element("h4", caption[0].upper() + caption[1:])
    return [heading, mark_rows(caption, across, (_PAPER, _OURS), rows)]


def freshness_chart(simulation: Simulation, seed: int) -> Markup:
    rows = [
        MarkRow(
            f"{case}, {name}",
            (
                _INDEPENDENT.get((case, name)),
                found.weighted_task_freshness,
                found.weighted_freshness,
            ),
        )
        for case in CASES
        for name in STRATEGIES
        for found in (simulation.of(case, name, seed),)
    ]
    most = max(value for row in rows for value in row.values if value is not None)
    kinds = (
        MarkKind("independent results", "c4", hollow=True),
        MarkKind("copies as old as their tasks", "c0"),
        MarkKind("page by page", "c2"),
    )
    caption = "share of pages like their copies, weighted"
    across = Axis(0.0, 1.1 * most, caption, "{:.3g}".format)
    return mark_rows("Freshness", across, kinds, rows)


def series_charts(simulation: Simulation, seed: int, case: str) -> Markup:
    """Fig. 4 and 5: what waits, and the throughput, over time."""
    pushed = ("FIXED", "IIR", "ICR")
    parts = []
    for names, caption, values in (
        (pushed, "tasks that wait", "queued"),
        (STRATEGIES, "throughput, Mbit/s", "megabits"),
    ):
        lines = []
        for name in names:
            series = simulation.of(case, name, seed).series
            points = list(zip(series.minutes, getattr(series, values), strict=True))
            kind = "ours" if name == PULL_FRESH else ""
            lines.append(ChartLine(name, points, _COLOURS[name], kind))
        most = max(y for line in lines for _, y in line.points)
        across = Axis(0.0, float(simulation.extent.minutes), "minutes")
        parts.append(
            line_chart(f"{case}: {caption}", across, Axis(0.0, 1.08 * most, caption), lines)
        )
    return side_by_side(*parts)


def ratchet_chart(simulation: Simulation, seed: int) -> Markup:
    """Success of ICR and both kinds of IIR against δ, and what the law says."""
    law = [(d, sqrt(1 - d)) for d in np.linspace(DELTAS[0] - 0.05, DELTAS[-1] + 0.05, 30).tolist()]
    lines = [ChartLine("√(1 − δ)", law, "c9", "dashed")]
    for name in RATCHETS:
        points = [(d, simulation.runs[Run("REC", name, seed, d)].success) for d in DELTAS]
        lines.append(ChartLine(name, points, _COLOURS[name], marked=True))
    across = Axis(DELTAS[0] - 0.05, DELTAS[-1] + 0.05, "δ")
    return line_chart("Success at which IIR and ICR rest", across, Axis(0.5, 1.0, "success"), lines)


def distributions(simulation: Simulation, seed: int) -> Markup:
    """Fig. 3: what was drawn."""
    extent = simulation.extent
    world = volunteers(CASES["REC"] // extent.scale, 1, seed, extent.scale)
    charts = (_latencies(world), _bandwidths(world), _pages(world), _groups(world))
    return element("div", *charts, class_="pairs")


def _latencies(world: Volunteers) -> Markup:
    counts, edges = np.histogram(world.latency * 1e3, bins=20)
    middles = (edges[:-1] + edges[1:]) / 2
    across = Axis(0.0, float(edges[-1]) * 1.05, "latency, ms")
    return _bars("Latencies", across, list(zip(middles.tolist(), counts.tolist(), strict=True)))


def _bandwidths(world: Volunteers) -> Markup:
    values, counts = np.unique(world.bandwidth, return_counts=True)
    names = {float(k): f"{value:,.0f}" for k, value in enumerate(values.tolist())}
    across = Axis(-0.5, 2.5, "kbit/s", lambda k: names.get(k, ""), whole=True)
    return _bars("Bandwidth of crawlers", across, list(enumerate(map(float, counts.tolist()))))


def _pages(world: Volunteers) -> Markup:
    powers = np.log10(world.pages)
    counts, edges = np.histogram(powers, bins=24)
    middles = ((edges[:-1] + edges[1:]) / 2).tolist()
    across = Axis(
        float(edges[0]), float(edges[-1]), "pages of a channel", lambda p: f"{10**p:,.0f}",
        whole=True,
    )  # fmt: skip
    return _bars("Pages", across, list(zip(middles, map(float, counts.tolist()), strict=True)))


def _groups(world: Volunteers) -> Markup:
    counts = np.bincount(world.group).tolist()
    across = Axis(-0.5, _RANKS - 0.5, "rank", lambda k: f"{_RANKS - 1 - k:g}", whole=True)
    return _bars("Channels of each rank", across, list(enumerate(map(float, counts))))


def _bars(title: str, across: Axis, points: list[tuple[float, float]]) -> Markup:
    most = max(y for _, y in points)
    up = Axis(0.0, 1.08 * most, "how many")
    chart = line_chart(title, across, up, [ChartLine("", points, "c0", bars=True)])
    return element("div", element("h4", title), chart)


def assignments_chart(draws: list[Overlay]) -> Markup:
    """Mean round trips of each way; the bar: all draws."""
    rows = []
    for same in zip(*(draw.assignments for draw in draws), strict=True):
        found = [one.mean_milliseconds for one in same]
        rows.append(MarkRow(same[0].way, (fmean(found),), (min(found), max(found))))
    most = max(row.span[1] for row in rows if row.span is not None)
    across = Axis(0.0, 1.05 * most, "mean round trip, ms", "{:.4g}".format)
    return mark_rows(f"Round trips, {draws[0].net}", across, (_OURS,), rows)
