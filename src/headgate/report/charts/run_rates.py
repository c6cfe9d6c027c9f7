"""The chart of the line's use: rates of all sites, stacked, under the budget.

Each site has the colour that it has in the Gantt chart below. Columns lie over the bands unseen;
what one held is told where the pointer is. What the crawl could have had and left to others lies
dashed upon the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from headgate.model.run_report import RunReport
from headgate.model.units import format_duration, format_rate
from headgate.report.charts.axes import RateScale, TimeScale
from headgate.report.charts.svg import Chart, colour_class
from headgate.report.charts.timeline_bins import TimelineBins
from headgate.report.markup import Markup, element, joined, shortened

__all__ = ["rate_chart"]

_FEW_SITES = 30
"""Up to so many bands have an edge."""
_MOST_NAMED = 8
_LONGEST_TOLD = 60


def rate_chart(
    report: RunReport, scale: TimeScale, order: Mapping[str, int], *, told: bool = True
) -> Chart:
    """The chart; ``order`` gives each site its number: its colour and its place in the pile.
    ``told``: what each column held is told under the pointer."""
    bins = TimelineBins.of(report.timeline)
    budget = _budget_pieces(report)
    rates = RateScale.holding(max(_pile(bins.total, bins.left_to_others)), budget)
    drawn = sorted(bins.rates, key=lambda name: order.get(name, len(order)))
    edges = "few" if len(drawn) <= _FEW_SITES else None
    content = (
        rates.grid(scale),
        scale.grid(rates.top, rates.bottom),
        element("g", *_bands(bins, drawn, scale, rates, order), class_=edges),
        *_left_to_others(bins, scale, rates),
        *(_columns(report, bins, drawn, scale, rates) if told else ()),
        *rates.budget_line(budget, report.seconds, scale),
    )
    title = "Rates of all sites over time, stacked, under the budget"
    return Chart(title, scale.outer, rates.outer, joined(content), "rates")


def _bands(
    bins: TimelineBins,
    drawn: Sequence[str],
    scale: TimeScale,
    rates: RateScale,
    order: Mapping[str, int],
) -> Iterator[Markup]:
    low = [0.0] * bins.count
    for name in drawn:
        high = _pile(low, bins.rates[name])
        path = "".join(_band_paths(low, high, bins.seconds, scale, rates))
        number = order.get(name)
        yield element("path", d=path, class_=f"band {colour_class(number)}", data_site=number)
        low = high


def _left_to_others(bins: TimelineBins, scale: TimeScale, rates: RateScale) -> Iterator[Markup]:
    low = bins.total
    path = "".join(_band_paths(low, _pile(low, bins.left_to_others), bins.seconds, scale, rates))
    if path:
        yield element("path", d=path, class_="left-to-others")


def _band_paths(
    low: Sequence[float], high: Sequence[float], seconds: float, scale: TimeScale, rates: RateScale
) -> Iterator[str]:
    """An outline for each run of columns in which there is something."""
    present = enumerate(over > under for under, over in zip(low, high, strict=True))
    for here, group in groupby(present, key=lambda pair: pair[1]):
        if here:
            columns = [column for column, _ in group]
            edges = [scale.x(column * seconds) for column in (*columns, columns[-1] + 1)]
            over = _stairs(edges, [rates.y(high[column]) for column in columns])
            under = _stairs(edges[::-1], [rates.y(low[column]) for column in columns[::-1]])
            yield f"M{edges[0]:.1f},{rates.y(low[columns[0]]):.1f}{over}{under}Z"


def _pile(low: Sequence[float], added: Sequence[float]) -> list[float]:
    return [under + more for under, more in zip(low, added, strict=True)]


def _stairs(edges: Sequence[float], heights: Sequence[float]) -> str:
    """A step line; equal neighbours are merged."""
    parts = [f"V{heights[0]:.1f}"]
    for edge, (here, following) in zip(edges[1:], pairwise((*heights, math.nan)), strict=False):
        if f"{here:.1f}" != f"{following:.1f}":
            parts.append(f"H{edge:.1f}")
            if not math.isnan(following):
                parts.append(f"V{following:.1f}")
    return "".join(parts)


def _columns(
    report: RunReport, bins: TimelineBins, drawn: Sequence[str], scale: TimeScale, rates: RateScale
) -> Iterator[Markup]:
    for column in range(bins.count):
        start = column * bins.seconds
        left, right = scale.x(start), scale.x(start + bins.seconds)
        yield element(
            "rect",
            class_="column",
            x=left,
            width=max(right - left, 0.1),
            y=rates.top,
            height=rates.height,
            data_tip=_column_words(report, bins, drawn, column),
        )


def _column_words(
    report: RunReport, bins: TimelineBins, drawn: Sequence[str], column: int
) -> Markup:
    """Several lines; the names in them are escaped one by one, so that the line breaks stay."""
    start = column * bins.seconds
    rates = [(bins.rates[name][column], name) for name in drawn]
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
        lines.append(f"{format_rate(bins.left_to_others[column])}  left to others")
    if len(running) > _MOST_NAMED:
        lines.append(f"and {len(running) - _MOST_NAMED:,} more sites")
    return joined(lines, "&#10;")


def _budget_pieces(report: RunReport) -> list[tuple[float, float | None]]:
    """(start, rate) in order; of simultaneous ones the last counts."""
    pieces = dict(report.budget_changes) or {0.0: report.budget}
    return sorted(pieces.items(), key=lambda piece: piece[0])


def _budget_at(report: RunReport, time: float) -> float | None:
    before = [rate for start, rate in _budget_pieces(report) if start <= time]
    return before[-1] if before else report.budget
