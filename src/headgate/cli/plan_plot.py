"""A plan as a picture: a Gantt chart with deadlines, and below it the rates under the budget line.

A site has one colour in both. What comes after its deadline is hatched and in the one colour that
no site has, which colour-blind eyes tell from the others, too. A bar is as thick as its rate is
high. The same plan gives the same SVG, byte for byte.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from headgate.cli.gantt import chart_span, worth_showing
from headgate.cli.plan_words import PlanWords, duration_at_least
from headgate.cli.rate_bands import Band, gantt_bands, stacked_bands, summed_bands
from headgate.cli.time_axis import ticks
from headgate.model.plan import Plan, PlannedSite, Verdict
from headgate.model.units import format_duration, format_rate

__all__ = ["save_plot"]

_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "hatch.linewidth": 0.7,
    "svg.hashsalt": "headgate",
    "text.parse_math": False,
}
_COLOURS = ("#4477AA", "#66CCEE", "#228833", "#CCBB44", "#AA3377", "#999999")
"""Tol's bright scheme without its red."""
_LATE_COLOUR = "#D55E00"
_VERDICT_COLOURS = {
    Verdict.FEASIBLE: "#1B6B2B",
    Verdict.INFEASIBLE: "#A03000",
    Verdict.OPEN: "#7A5C00",
}
_MOST_ROWS, _MOST_LABELLED, _LONGEST_NAME = 500, 40, 28
_WIDTH, _RATES_HEIGHT, _LINE_LENGTH = 11.0, 2.2, 120
_ROW_HEIGHT, _GANTT_HEIGHT, _LABEL_HEIGHT = 0.32, 9.0, 0.15
"""Inches: of a row, of all rows at the most, of a label."""
_FEW_BANDS = 500
"""As many can have edges and still be seen."""


def save_plot(plan: Plan, path: Path, *, began: str = "") -> None:
    """Draw a plan into a file of the kind its suffix says; ``began`` as in the text output."""
    kind = path.suffix.lower().removeprefix(".")
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        picture = _rendered(_figure(plan, began), "svg" if kind == "html" else kind)
    if kind == "html":
        from headgate.cli.plan_page import page

        picture = page(plan, picture.decode(), began).encode()
    path.write_bytes(picture)


def _rendered(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else {})
    return buffer.getvalue()


def _figure(plan: Plan, began: str) -> Figure:
    sites = worth_showing(plan.sites, _MOST_ROWS)
    gantt_height = _gantt_height(sites)
    headline = textwrap.fill(PlanWords.of(plan).headline, _LINE_LENGTH)
    heading_height = 0.9 + 0.2 * headline.count("\n")
    figure = Figure((_WIDTH, heading_height + gantt_height + _RATES_HEIGHT))
    figure.set_layout_engine("constrained")
    gantt, rates = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [gantt_height, _RATES_HEIGHT]}
    )
    style = {"fontsize": 11, "fontweight": "bold", "color": _VERDICT_COLOURS[plan.verdict]}
    figure.suptitle(headline, x=0.008, horizontalalignment="left", **style)
    _draw_gantt(gantt, plan, sites)
    _draw_rates(rates, plan, sites)
    _draw_time(rates, plan, began)
    return figure


def _gantt_height(sites: Sequence[PlannedSite]) -> float:
    return min(max(_ROW_HEIGHT * len(sites), 1.0), _GANTT_HEIGHT)


def _draw_gantt(axes: Axes, plan: Plan, sites: Sequence[PlannedSite]) -> None:
    highest = max(segment.rate for site in sites for segment in site.segments)
    span = chart_span(plan)
    labelled = _labelled_rows(sites)
    for row, site in enumerate(sites):
        axes.plot([site.start, site.end], [row, row], color="#BBBBBB", linewidth=0.8, zorder=1)
        _draw_deadline(axes, row, site, span)
        if row in labelled:
            _draw_remark(axes, row, site, span)
    _draw_bands(axes, gantt_bands(sites, highest))
    axes.set_ylim(len(sites) - 0.4, -0.6)
    axes.set_yticks(labelled, [_cut(sites[row].name) for row in labelled])
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelbottom=False)
    _draw_legend(axes, plan)
    shown = "" if len(sites) == len(plan.sites) else f"{len(sites)} of {len(plan.sites):,} sites. "
    note = f"{shown}Thickness of a bar: its rate, up to {format_rate(highest)}"
    axes.set_title(note, loc="left", fontsize=8, color="#555555")


def _draw_deadline(axes: Axes, row: int, site: PlannedSite, span: float) -> None:
    if site.deadline is None:
        return
    if not site.late:
        slack = [site.end, min(site.deadline, span)]
        axes.plot(slack, [row, row], color="#999999", linewidth=0.8, linestyle=":", zorder=1)
    if site.deadline <= span:
        axes.vlines(site.deadline, row - 0.46, row + 0.46, color="black", linewidth=1.8, zorder=4)


def _draw_remark(axes: Axes, row: int, site: PlannedSite, span: float) -> None:
    """How late the site is, or when a deadline beyond the chart is."""
    style: dict[str, Any] = {"verticalalignment": "center", "fontsize": 8}
    if site.late:
        words = f" {duration_at_least(site.late)} late"
        axes.text(site.end, row, words, color=_LATE_COLOUR, **style)
    elif site.deadline is not None and site.deadline > span:
        axes.text(span, row, f" {format_duration(site.deadline)} ▸", color="black", **style)


def _labelled_rows(sites: Sequence[PlannedSite]) -> list[int]:
    """All rows, or with many sites those of late ones as far as labels do not overlap."""
    if len(sites) <= _MOST_LABELLED:
        return list(range(len(sites)))
    apart = len(sites) * _LABEL_HEIGHT / _gantt_height(sites)
    labelled: list[int] = []
    for row, site in enumerate(sites):
        if site.late and (not labelled or row - labelled[-1] >= apart):
            labelled.append(row)
    return labelled


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _draw_legend(axes: Axes, plan: Plan) -> None:
    handles: list[Line2D | Patch] = []
    if any(site.deadline is not None for site in plan.sites):
        style: dict[str, Any] = {"marker": "|", "markersize": 10, "markeredgewidth": 1.8}
        handles.append(Line2D([], [], color="black", linestyle="", label="deadline", **style))
    if plan.late_sites:
        handles.append(
            Patch(facecolor=_LATE_COLOUR, edgecolor="black", hatch="////", label="after it: late")
        )
    if handles:
        place: dict[str, Any] = {"bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.1, "ncols": 2}
        axes.legend(handles=handles, loc="lower right", frameon=False, fontsize=8, **place)


def _draw_rates(axes: Axes, plan: Plan, sites: Sequence[PlannedSite]) -> None:
    if len(plan.sites) > len(sites):
        bands = summed_bands(plan, chart_span(plan), 600)
    else:
        bands = stacked_bands(sites)
    _draw_bands(axes, bands)
    starts = [piece.start for piece in plan.budget_pieces]
    rates = [piece.rate for piece in plan.budget_pieces]
    moments = [*starts, max(chart_span(plan), starts[-1])]
    line: dict[str, Any] = {"color": "black", "linewidth": 1.8, "zorder": 4}
    axes.stairs(rates, moments, baseline=None, label="budget", **line)
    axes.set_ylim(0, 1.12 * max(*rates, *(band.high for band in bands)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: format_rate(rate)))
    axes.legend(loc="upper right", frameon=False, fontsize=8, borderaxespad=0.1)
    axes.set_title(
        "Rates of all sites, one upon the other", loc="left", fontsize=8, color="#555555"
    )


def _draw_bands(axes: Axes, bands: Sequence[Band]) -> None:
    for late in (False, True):
        chosen = [band for band in bands if band.late is late]
        colours = [_LATE_COLOUR if late else _COLOURS[band.row % len(_COLOURS)] for band in chosen]
        corners = [
            [(b.start, b.low), (b.end, b.low), (b.end, b.high), (b.start, b.high)] for b in chosen
        ]
        edges: dict[str, Any] = {"linewidths": 0.4 if len(bands) < _FEW_BANDS else 0.0}
        edges |= {"edgecolors": "black", "hatch": "////"} if late else {"edgecolors": "white"}
        axes.add_collection(PolyCollection(corners, facecolors=colours, zorder=2, **edges))


def _draw_time(axes: Axes, plan: Plan, began: str) -> None:
    span = chart_span(plan)
    moments = ticks(span, 10)
    axes.set_xticks([at for at, _ in moments], [label for _, label in moments])
    axes.set_xlim(0, span)
    axes.set_xlabel(f"time from the start{began.replace(', from', ':')}")
    for each in axes.figure.axes:
        each.grid(axis="x", color="#E5E5E5", linewidth=0.6)
        each.set_axisbelow(True)
        each.spines[["top", "right"]].set_visible(False)
