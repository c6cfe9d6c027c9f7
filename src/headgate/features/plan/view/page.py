"""A plan as a page and as a picture: the verdict, a Gantt chart, and the rates."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from headgate.features.plan.view.words import PlanWords, mean_rate, time_to_spare
from headgate.model.plan import Plan, PlannedSite
from headgate.model.units import format_duration, format_rate, format_size
from headgate.report.charts.axes import RateScale, TimeScale
from headgate.report.charts.rate_bands import Band, gantt_bands, stacked_bands, summed_bands
from headgate.report.charts.svg import Chart, colour_class, for_any_screen, stacked
from headgate.report.charts.text_gantt import (
    chart_span,
    deadline_mark,
    remark,
    row_head,
    worth_showing,
)
from headgate.report.html_page import Cell, data_table, document, section
from headgate.report.markup import Markup, element, joined, shortened
from headgate.report.phrases import duration_at_least, foreseen_end, plural

__all__ = ["plan_page", "plan_picture"]


# A plan as a page and as a picture: the verdict, and when each site is crawled at which rate.


_MOST_ROWS = 1000
_LINE_LENGTH, _LINE_HEIGHT = 105, 20.0
_UNKNOWN = float("inf")


def plan_page(plan: Plan, began: str = "") -> str:
    """The page; the same plan gives the same text."""
    words = PlanWords.from_plan(plan)
    order = _order(plan)
    span = chart_span(plan)
    scales = (TimeScale(span), TimeScale.narrow(span))
    body = joined(
        (
            element(
                "header",
                element("p", f"Headgate, a plan by {plan.policy}{began}", class_="kicker"),
                element("h1", words.headline, class_=str(plan.verdict)),
                *(element("p", said) for said in (words.outcome, words.guesses) if said),
                *_list("What would make it feasible, one of these:", words.remedies),
                *_list("How good it is:", words.quality),
            ),
            section(
                "When each site is crawled",
                for_any_screen(*(plan_gantt(plan, scale, order) for scale in scales)),
                _gantt_note(plan),
            ),
            section(
                "Rates under the budget",
                for_any_screen(*(plan_rates(plan, scale, order) for scale in scales)),
                "All sites, stacked, in the colours of the chart above."
                if len(plan.sites) <= MOST_ROWS
                else "All sites together.",
            ),
            section("Sites", _table(plan, order)),
        ),
        "\n",
    )
    return document(f"{words.headline} – Headgate", body)


def plan_picture(plan: Plan) -> Chart:
    """The page's two charts under the verdict, as one."""
    words = PlanWords.from_plan(plan).headline
    scale, order = TimeScale(chart_span(plan)), _order(plan)
    charts = (
        _heading(words, str(plan.verdict), scale.outer),
        plan_gantt(plan, scale, order),
        plan_rates(plan, scale, order),
    )
    return stacked(words, charts)


def _heading(words: str, verdict: str, width: float) -> Chart:
    lines = textwrap.wrap(words, _LINE_LENGTH)
    content = joined(
        element("text", line, class_=f"headline {verdict}", x=0, y=_LINE_HEIGHT * (row + 0.75))
        for row, line in enumerate(lines)
    )
    return Chart("", width, _LINE_HEIGHT * (len(lines) + 0.5), content)


def _order(plan: Plan) -> dict[str, int]:
    """Each site's number, by their starts, so that neighbours differ in colour."""
    return {
        site.name: number for number, site in enumerate(worth_showing(plan.sites, len(plan.sites)))
    }


def _list(heading: str, items: Sequence[str]) -> Iterator[Markup]:
    if items:
        yield element("p", heading)
        yield element("ul", *(element("li", item) for item in items))


def _gantt_note(plan: Plan) -> str:
    left_out = len(plan.sites) - MOST_ROWS
    more = f" {plural(left_out, 'more site')} in the table only." if left_out > 0 else ""
    thick = f"A bar is as thick as its rate is high, up to {format_rate(highest_rate(plan))}."
    late = " Hatched: after the deadline ┃." if plan.late_sites else ""
    return f"{thick}{late}{more}"


def _table(plan: Plan, order: Mapping[str, int]) -> Markup:
    sites = worth_showing(plan.sites, _MOST_ROWS)
    foreseen = any(site.foreseen for site in plan.sites)
    columns = (
        "site",
        "slack",
        "deadline",
        "end",
        *(["foreseen"] * foreseen),
        "start",
        "size",
        "mean rate",
    )
    rows = [(site.name, order[site.name], tuple(_cells(site, foreseen=foreseen))) for site in sites]
    left_out = len(plan.sites) - len(sites)
    more = element("p", f"… {plural(left_out, 'more site')}; --json has them all")
    table = data_table(columns, rows)
    return joined((table, more)) if left_out else table


def _cells(site: PlannedSite, *, foreseen: bool) -> Iterator[Cell]:
    missed = bool(site.late or site.left_bytes)
    spare = site.slack if site.slack is not None else _UNKNOWN
    yield Cell(time_to_spare(site), -site.late if missed else spare, "late" if missed else None)
    for moment in (site.deadline, site.end):
        yield Cell("", _UNKNOWN) if moment is None else Cell(format_duration(moment), moment)
    if foreseen:
        yield Cell(foreseen_end(site.foreseen), site.foreseen.likely if site.foreseen else _UNKNOWN)
    yield Cell(format_duration(site.start) if site.segments else "", site.start)
    yield Cell(format_size(site.bytes), site.bytes)
    yield Cell(mean_rate(site), site.bytes)


# The Gantt chart of a plan: a bar for each site, as thick as its rate is high.
#
# What comes after a deadline is hatched and says how late. With very many sites, those that are
# late come before the others.


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


_COLUMNS = 300


def plan_rates(plan: Plan, scale: TimeScale, order: Mapping[str, int]) -> Chart:
    """The chart of a plan's rates: all sites stacked under the budget, in the colours of its Gantt.

    Very many sites are drawn as one band, in columns.
    """
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
