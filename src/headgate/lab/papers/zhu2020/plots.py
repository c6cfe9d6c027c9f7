"""A figure as SVG, the same bytes for the same numbers."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from headgate.lab.papers.zhu2020.figures import Figure, Panel
from headgate.planning.policies import DEFAULT_POLICY

__all__ = ["figure_svg"]

_COLOURS = {
    "M-MAXT": "#0b62a4",
    "M-SUMT": "#d1730b",
    "M-STET": "#0b62a4",
    "GA": "#7a5195",
    "PROBandwidth": "#a32020",
    "PRODataAmount": "#6b7280",
    "Random": "#6b7280",
    "DE": "#c05fa0",
    "ReAlloc-MAXT": "#0b62a4",
    "ReAlloc-SUMT": "#d1730b",
    "AllocOnce": "#7a5195",
    "ReAlloc-PROBandwidth": "#a32020",
    "ReAlloc-PRODataAmount": "#6b7280",
    DEFAULT_POLICY: "#1a7f37",
}
_MARKERS = "osD^vx*"
_ON_ANOTHER_LINE = {"GA", "DE", "ReAlloc-SUMT"}
"""Drawn as marks only: they lie on another policy's line, and would hide it."""


def figure_svg(figure: Figure) -> str:
    """One SVG element, panels side by side."""
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": f"zhu2020-{figure.number}",
        "font.family": "DejaVu Sans",
    }
    with mpl.rc_context(settings):
        count = len(figure.panels)
        canvas = Canvas(figsize=(5.2 * max(count, 1.3), 4.2), layout="constrained")
        for axes, panel in zip(
            canvas.subplots(1, count, squeeze=False)[0], figure.panels, strict=True
        ):
            _draw(axes, figure, panel)
        handles, labels = canvas.axes[0].get_legend_handles_labels()
        canvas.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        page = io.StringIO()
        canvas.savefig(page, format="svg", metadata={"Date": None})
    text = page.getvalue()
    return text[text.index("<svg") :]


def _draw(axes: Axes, figure: Figure, panel: Panel) -> None:
    for (policy, values), marker in zip(panel.series.items(), _MARKERS, strict=False):
        axes.plot(
            figure.x,
            values,
            marker=marker,
            markersize=5,
            markerfacecolor="none",
            linestyle="none" if policy in _ON_ANOTHER_LINE else "-",
            linewidth=2.4 if policy == DEFAULT_POLICY else 1.4,
            color=_COLOURS[policy],
            label=policy,
        )
    if panel.log_scale:
        axes.set_yscale("log")
    axes.set_xlabel(figure.x_label)
    axes.set_ylabel(panel.label)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
