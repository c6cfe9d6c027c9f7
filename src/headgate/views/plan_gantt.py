"""The Gantt chart of a plan: a bar for each site, as thick as its rate is high.

What comes after a deadline is hatched and says how late. With very many sites, those that are late
come before the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headgate.model.plan import Plan, PlannedSite
from headgate.model.units import format_duration, format_size
from headgate.views.chart import Chart
from headgate.views.gantt import worth_showing
from headgate.views.gantt_row import deadline_mark, remark, row_head
from headgate.views.markup import Markup, element, joined, shortened
from headgate.views.plan_words import duration_at_least, mean_rate, time_to_spare
from headgate.views.rate_bands import gantt_bands
from headgate.views.site_colours import colour_class
from headgate.views.time_scale import TimeScale

__all__ = ["MOST_ROWS", "highest_rate", "plan_gantt"]

MOST_ROWS = 120
_TOP, _BELOW = 6.0, 26.0
_FEW_ROWS, _ROW, _LOW_ROW = 30, 26.0, 15.0
_THINNEST_BAR = 1.5
_LONGEST_TOLD = 80


def plan_gantt(plan: Plan, scale: TimeScale, order: Mapping[str, int]) -> Chart:
    """``order`` gives each site's number, for its colour."""
    sites = worth_showing(plan.sites, MOST_ROWS)
    height = _ROW if len(sites) <= _FEW_ROWS else _LOW_ROW
    bottom = _TOP + height * len(sites)
    highest = highest_rate(plan)
    rows = (
        element(
            "g",
            *row_head(site.name, order[site.name], scale, height),
            *_bars(site, highest, scale, height, order[site.name]),
            *_deadline(site, scale, height),
            transform=f"translate(0 {_TOP + height * place:g})",
            data_site=order[site.name],
            data_tip=_words(site),
        )
        for place, site in enumerate(sites)
    )
    return Chart(
        "When each site is to be crawled, at which rate, and its deadline",
        scale.outer,
        bottom + _BELOW,
        joined((scale.grid(_TOP, bottom), *rows)),
        "gantt" if height == _ROW else "gantt small",
    )


def highest_rate(plan: Plan) -> float:
    rates = [segment.rate for site in plan.sites for segment in site.segments]
    return max(rates, default=1.0)


def _bars(
    site: PlannedSite, highest: float, scale: TimeScale, height: float, number: int
) -> Iterator[Markup]:
    middle = height / 2
    if site.segments:
        x1, x2 = scale.x(site.start), scale.x(site.end)
        yield element("line", class_="wait", x1=x1, x2=x2, y1=middle, y2=middle)
    for band in gantt_bands([site], highest):
        left, right = scale.x(band.start), scale.x(band.end)
        yield element(
            "rect",
            class_="real late" if band.late else f"real {colour_class(number)}",
            x=left,
            y=middle + band.low * height,
            width=max(right - left, _THINNEST_BAR),
            height=(band.high - band.low) * height,
        )


def _deadline(site: PlannedSite, scale: TimeScale, height: float) -> Iterator[Markup]:
    """Its mark, the time to spare, and a remark."""
    end = scale.x(site.end)
    if site.deadline is not None:
        x = scale.x(site.deadline)
        if not site.late:
            yield element("line", class_="slack", x1=end, x2=x, y1=height / 2, y2=height / 2)
        if site.deadline <= scale.span:
            yield deadline_mark(x, height)
            end = max(end, x)
    if site.late:
        yield remark(f"{duration_at_least(site.late)} late", "late", end, height)
    elif site.left_bytes:
        yield remark(f"{format_size(site.left_bytes)} left", "late", end, height)
    elif site.deadline is not None and site.deadline > scale.span:
        words = f"┃ {format_duration(site.deadline)} ▸"
        yield remark(words, "muted", scale.right, height)


def _words(site: PlannedSite) -> Markup:
    lines = [
        shortened(site.name, _LONGEST_TOLD),
        f"{format_size(site.bytes)}{mean_rate(site, ' at ')}",
    ]
    if site.segments:
        lines.append(f"{format_duration(site.start)} – {format_duration(site.end)}")
    if site.deadline is not None:
        spare = time_to_spare(site)
        standing = spare if site.late or site.left_bytes else f"{spare} to spare"
        lines.append(f"deadline {format_duration(site.deadline)}, {standing}")
    return joined(lines, "&#10;")
