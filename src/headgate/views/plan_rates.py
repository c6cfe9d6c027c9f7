"""The chart of a plan's rates: all sites stacked under the budget, in the colours of its Gantt.

Very many sites are drawn as one band, in columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from headgate.model.plan import Plan
from headgate.views.chart import Chart
from headgate.views.gantt import chart_span
from headgate.views.markup import Markup, element, joined
from headgate.views.plan_gantt import MOST_ROWS
from headgate.views.rate_bands import Band, stacked_bands, summed_bands
from headgate.views.rate_scale import RateScale
from headgate.views.site_colours import colour_class
from headgate.views.time_scale import TimeScale

__all__ = ["plan_rates"]

_COLUMNS = 300


def plan_rates(plan: Plan, scale: TimeScale, order: Mapping[str, int]) -> Chart:
    sites = sorted(plan.sites, key=lambda site: order[site.name])
    whole = len(sites) > MOST_ROWS
    bands = summed_bands(plan, chart_span(plan), _COLUMNS) if whole else stacked_bands(sites)
    pieces = [(piece.start, piece.rate) for piece in plan.budget_pieces]
    rates = RateScale.holding(max((band.high for band in bands), default=0.0), pieces)
    content = (
        rates.grid(scale),
        scale.grid(rates.top, rates.bottom),
        element("g", *_piles(bands, scale, rates), class_=None if whole else "few"),
        *rates.budget_line(pieces, scale.span, scale),
    )
    title = "Rates of all sites over time, stacked, under the budget"
    return Chart(title, scale.outer, rates.outer, joined(content), "rates")


def _piles(bands: Sequence[Band], scale: TimeScale, rates: RateScale) -> Iterator[Markup]:
    """One path for each site and state."""
    paths: dict[tuple[int, bool], list[str]] = defaultdict(list)
    for band in bands:
        left, right = scale.x(band.start), scale.x(band.end)
        low, high = rates.y(band.low), rates.y(band.high)
        paths[band.row, band.late].append(
            f"M{left:.1f},{low:.1f}V{high:.1f}H{right:.1f}V{low:.1f}Z"
        )
    for (row, late), parts in sorted(paths.items()):
        number = None if row < 0 else row
        colour = "late" if late else colour_class(number)
        yield element("path", d="".join(parts), class_=f"band {colour}", data_site=number)
