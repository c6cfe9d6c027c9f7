"""A panel of a figure as a chart."""

from __future__ import annotations

from headgate.lab.papers.zhu2020.figures import Figure, Panel
from headgate.planning.policies import DEFAULT_POLICY
from headgate.views.markup import Markup
from headgate.views.plane import Axis, Line, line_chart

__all__ = ["panel_chart"]

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
        Line(
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


def _upright(panel: Panel) -> Axis:
    values = [value for series in panel.series.values() for value in series]
    if panel.log_scale:
        return Axis.of_powers(values, panel.label)
    low, high = min(values), max(values)
    room = _ROOM * (high - low)
    return Axis(low - room, high + room, panel.label)
