"""A panel of a figure as a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headgate.report.charts.line_chart import Axis, ChartLine, line_chart
from headgate.report.markup import Markup
from headgate.scheduling.policies import DEFAULT_POLICY
from headgate_lab.papers.zhu2020.figures import Figure, Panel
from headgate_lab.papers.zhu2020.real_crawls import CRAWLS, ONE_RATE, Crawled

__all__ = ["panel_chart", "real_crawls_charts"]

_COLOURS = {
    "M-MAXT": "c0",
    "M-SUMT": "c1",
    "M-STET": "c0",
    "GA": "c6",
    "PROBandwidth": "c4",
    "PRODataAmount": "c9",
    "Random": "c9",
    "DE": "c8",
    "ReAlloc-MAXT": "c0",
    "ReAlloc-SUMT": "c1",
    "AllocOnce": "c6",
    "ReAlloc-PROBandwidth": "c4",
    "ReAlloc-PRODataAmount": "c9",
    DEFAULT_POLICY: "c2",
}
_ON_ANOTHER_LINE = {"GA", "DE", "ReAlloc-SUMT"}
"""Drawn as marks only: they lie on another policy's line, and would hide it."""
_ROOM = 0.05
"""Above and below all values, as part of their range."""


def panel_chart(figure: Figure, panel: Panel) -> Markup:
    lines = [
        ChartLine(
            policy,
            list(zip(figure.x, values, strict=True)),
            _COLOURS[policy],
            "ours" if policy == DEFAULT_POLICY else "",
            joined=policy not in _ON_ANOTHER_LINE,
            marked=True,
        )
        for policy, values in panel.series.items()
    ]
    across = Axis(min(figure.x), max(figure.x), figure.x_label)
    return line_chart(f"Fig. {figure.number}: {panel.label}", across, _upright(panel), lines)


def real_crawls_charts() -> tuple[Markup, Markup]:
    """Fig. 11 and 12."""
    kinds = dict.fromkeys(one.kind for one in CRAWLS)
    whole = {kind: max(one.payload for one in CRAWLS if one.kind == kind) for kind in kinds}
    return (
        _crawls_chart(
            "Fig. 11: time against rate",
            [one for one in CRAWLS if one.payload > 0.98 * whole[one.kind]],
            "rate (KB/s)",
            lambda one: one.rate / 1e3,
        ),
        _crawls_chart(
            f"Fig. 12: time against data at {ONE_RATE / 1e3:.0f} KB/s",
            [one for one in CRAWLS if one.rate == ONE_RATE],
            "data (MB)",
            lambda one: one.payload / 1e6,
        ),
    )


def _crawls_chart(
    title: str, crawls: Sequence[Crawled], caption: str, along: Callable[[Crawled], float]
) -> Markup:
    """Marks are what was measured, lines what payload over rate would take."""
    lines = []
    for colour, kind in zip(("c0", "c4", "c2"), dict.fromkeys(o.kind for o in crawls), strict=True):
        mine = sorted((one for one in crawls if one.kind == kind), key=along)
        ideal = [(along(one), one.payload / one.rate) for one in mine]
        lines.append(ChartLine("", ideal, colour, "dashed"))
        lines.append(
            ChartLine(kind, [(along(one), one.seconds) for one in mine], colour, joined=False)
        )
    most_x = max(along(one) for one in crawls)
    most_y = max(one.seconds for one in crawls)
    across, up = Axis(0.0, 1.05 * most_x, caption), Axis(0.0, 1.08 * most_y, "seconds")
    return line_chart(title, across, up, lines)


def _upright(panel: Panel) -> Axis:
    values = [value for series in panel.series.values() for value in series]
    if panel.log_scale:
        return Axis.of_powers(values, panel.label)
    low, high = min(values), max(values)
    room = _ROOM * (high - low)
    return Axis(low - room, high + room, panel.label)
