"""The chart of what the line carried: rates of all sites, one upon the other, under the budget.

Each site has the colour that it has in the Gantt chart below. Columns lie over the bands unseen;
what one held is told where the pointer is. What the crawl could have had and left to others lies
dashed upon the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

import numpy as np
import numpy.typing as npt

from headgate.cli.markup import Markup, element, joined, shortened
from headgate.cli.site_colours import colour_class
from headgate.cli.time_scale import TimeScale
from headgate.cli.timeline_bins import TimelineBins
from headgate.model.run_report import RunReport
from headgate.model.units import format_duration, format_rate

__all__ = ["rate_chart"]

_TOP, _HEIGHT, _BELOW = 22.0, 240.0, 26.0
_HEADROOM = 1.14
_FAR_ABOVE = 4.0
"""A budget so many times above all rates is told, not drawn: the rates would be a thin line."""
_FEW_SITES = 30
"""So many bands can stand an edge."""
_MOST_NAMED = 8
_LONGEST_TOLD = 60
_LABEL_WIDTH = 110.0

Floats = npt.NDArray[np.float64]


def rate_chart(report: RunReport, scale: TimeScale, order: Mapping[str, int]) -> Markup:
    """The chart; ``order`` gives each site its number: its colour and its place in the pile."""
    bins = TimelineBins.of(report.timeline)
    highest = _highest(report, bins)
    drawn = sorted(bins.rates, key=lambda name: order.get(name, len(order)))
    edges = "few" if len(drawn) <= _FEW_SITES else None
    return element(
        "svg",
        element("title", "Rates of all sites over time, one upon the other, under the budget"),
        _rate_grid(scale, highest),
        scale.grid(_TOP, _TOP + _HEIGHT),
        element("g", *_bands(bins, drawn, scale, highest, order), class_=edges),
        *_left_to_others(bins, scale, highest),
        *_columns(report, bins, drawn, scale),
        *_budget_line(report, scale, highest),
        viewBox=f"0 0 {scale.outer:.0f} {_TOP + _HEIGHT + _BELOW:.0f}",
        class_="chart rates",
        role="img",
    )


def _highest(report: RunReport, bins: TimelineBins) -> float:
    """The rate at the top edge."""
    measured = float((bins.total + bins.left_to_others).max())
    near = [
        rate
        for _, rate in _budget_pieces(report)
        if rate is not None and (rate <= _FAR_ABOVE * measured or not measured)
    ]
    return _HEADROOM * max(measured, *near, 1.0) if near else _HEADROOM * max(measured, 1.0)


def _y(rate: float, highest: float) -> float:
    return _TOP + _HEIGHT * (1 - min(rate / highest, 1.0))


def _rate_grid(scale: TimeScale, highest: float) -> Markup:
    return joined(
        joined(
            (
                element("line", class_="grid", x1=scale.left, x2=scale.right, y1=y, y2=y),
                element(
                    "text",
                    format_rate(rate) if rate else "0",
                    class_="tick",
                    x=scale.left - 8,
                    y=y + 4,
                    text_anchor="end",
                ),
            )
        )
        for rate, y in ((rate, _y(rate, highest)) for rate in _round_rates(highest))
    )


def _round_rates(highest: float) -> list[float]:
    """
    >>> _round_rates(340_000)
    [0.0, 100000.0, 200000.0, 300000.0]
    """
    magnitude = 10.0 ** math.floor(math.log10(highest / 4))
    step = next(magnitude * k for k in (1, 2, 5, 10) if highest / (magnitude * k) <= 5)
    return [step * k for k in range(int(highest / step) + 1)]


def _bands(
    bins: TimelineBins,
    drawn: Sequence[str],
    scale: TimeScale,
    highest: float,
    order: Mapping[str, int],
) -> Iterator[Markup]:
    low = np.zeros(bins.count)
    for name in drawn:
        high = low + bins.rates[name]
        path = "".join(_band_paths(low, high, bins.seconds, scale, highest))
        number = order.get(name)
        yield element("path", d=path, class_=f"band {colour_class(number)}", data_site=number)
        low = high


def _left_to_others(bins: TimelineBins, scale: TimeScale, highest: float) -> Iterator[Markup]:
    low = bins.total
    path = "".join(_band_paths(low, low + bins.left_to_others, bins.seconds, scale, highest))
    if path:
        yield element("path", d=path, class_="left-to-others")


def _band_paths(
    low: Floats, high: Floats, seconds: float, scale: TimeScale, highest: float
) -> Iterator[str]:
    """An outline for each run of columns in which there is something."""
    present = enumerate((high > low).tolist())
    for here, group in groupby(present, key=lambda pair: pair[1]):
        if here:
            columns = [column for column, _ in group]
            edges = [scale.x(column * seconds) for column in (*columns, columns[-1] + 1)]
            over = _stairs(edges, [_y(high[column], highest) for column in columns])
            under = _stairs(edges[::-1], [_y(low[column], highest) for column in columns[::-1]])
            yield f"M{edges[0]:.1f},{_y(low[columns[0]], highest):.1f}{over}{under}Z"


def _stairs(edges: Sequence[float], heights: Sequence[float]) -> str:
    """A line that runs level between two edges; equal neighbours are one."""
    parts = [f"V{heights[0]:.1f}"]
    for edge, (here, following) in zip(edges[1:], pairwise((*heights, math.nan)), strict=False):
        if f"{here:.1f}" != f"{following:.1f}":
            parts.append(f"H{edge:.1f}")
            if not math.isnan(following):
                parts.append(f"V{following:.1f}")
    return "".join(parts)


def _columns(
    report: RunReport, bins: TimelineBins, drawn: Sequence[str], scale: TimeScale
) -> Iterator[Markup]:
    for column in range(bins.count):
        start = column * bins.seconds
        left, right = scale.x(start), scale.x(start + bins.seconds)
        yield element(
            "rect",
            class_="column",
            x=left,
            width=max(right - left, 0.1),
            y=_TOP,
            height=_HEIGHT,
            data_tip=_column_words(report, bins, drawn, column),
        )


def _column_words(
    report: RunReport, bins: TimelineBins, drawn: Sequence[str], column: int
) -> Markup:
    """Several lines; the names in them are escaped one by one, so that the line breaks stay."""
    start = column * bins.seconds
    rates = [(float(bins.rates[name][column]), name) for name in drawn]
    running = sorted(((rate, name) for rate, name in rates if rate > 0), reverse=True)
    total = sum(rate for rate, _ in running)
    budget = _budget_at(report, start)
    of_budget = "" if budget is None else f" of {format_rate(budget)}"
    lines = [
        f"{format_duration(start)} – {format_duration(start + bins.seconds)}",
        f"{format_rate(total)}{of_budget}",
    ]
    for rate, name in running[:_MOST_NAMED]:
        lines.append(f"{format_rate(rate)}  {shortened(name, _LONGEST_TOLD)}")
    if bins.left_to_others[column] > 0:
        lines.append(f"{format_rate(float(bins.left_to_others[column]))}  left to others")
    if len(running) > _MOST_NAMED:
        lines.append(f"and {len(running) - _MOST_NAMED:,} more sites")
    return joined(lines, "&#10;")


def _budget_pieces(report: RunReport) -> list[tuple[float, float | None]]:
    """(start, rate) in order; at one moment the last word holds."""
    pieces = dict(report.budget_changes) or {0.0: report.budget}
    return sorted(pieces.items(), key=lambda piece: piece[0])


def _budget_at(report: RunReport, time: float) -> float | None:
    before = [rate for start, rate in _budget_pieces(report) if start <= time]
    return before[-1] if before else report.budget


def _budget_line(report: RunReport, scale: TimeScale, highest: float) -> Iterator[Markup]:
    """A step line; dashed along the top edge where the budget lies beyond it."""
    pieces = _budget_pieces(report)
    if all(rate is None for _, rate in pieces):
        return
    end = max(report.seconds, pieces[-1][0])
    last_y: float | None = None
    free_from = scale.left
    for (start, rate), (until, _) in pairwise((*pieces, (end, None))):
        beyond = rate is None or rate > highest
        y = _TOP if beyond or rate is None else _y(rate, highest)
        begin, finish = scale.x(start), scale.x(until)
        rise = "" if last_y is None else f"V{y:.1f}"
        path = f"M{begin:.1f},{y if last_y is None else last_y:.1f}{rise}H{finish:.1f}"
        yield element("path", d=path, class_="budget beyond" if beyond else "budget")
        if begin >= free_from:
            yield _budget_label(rate, begin, y, beyond=beyond)
            free_from = begin + _LABEL_WIDTH
        last_y = y


def _budget_label(rate: float | None, x: float, y: float, *, beyond: bool) -> Markup:
    words = "no limit" if rate is None else f"budget {format_rate(rate)}"
    arrow = " ▲" if beyond else ""
    return element("text", f"{words}{arrow}", class_="budget-label", x=x + 4, y=y - 6)
