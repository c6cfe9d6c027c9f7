"""A plan as a page and as a picture: the verdict, and when each site is crawled at which rate."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from headgate.model.plan import Plan, PlannedSite
from headgate.model.units import format_duration, format_rate, format_size
from headgate.views.chart import Chart, for_any_screen, stacked
from headgate.views.gantt import chart_span, worth_showing
from headgate.views.html_page import document, section
from headgate.views.markup import Markup, element, joined
from headgate.views.page_tables import Cell, data_table
from headgate.views.plan_gantt import MOST_ROWS, highest_rate, plan_gantt
from headgate.views.plan_rates import plan_rates
from headgate.views.plan_words import PlanWords, foreseen_end, mean_rate, plural, time_to_spare
from headgate.views.time_scale import TimeScale

__all__ = ["plan_page", "plan_picture"]

_MOST_ROWS = 1000
_LINE_LENGTH, _LINE_HEIGHT = 105, 20.0
_UNKNOWN = float("inf")


def plan_page(plan: Plan, began: str = "") -> str:
    """The page; the same plan gives the same text."""
    words = PlanWords.of(plan)
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
    words = PlanWords.of(plan).headline
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
