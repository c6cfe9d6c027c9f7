"""A run's report as one HTML page.

From top to bottom: in words what was promised and what was kept; the rates under the budget; the
plan against what happened; the sites, the errors, the slow hosts. The frame is that of all pages
(`html_page`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from headgate.model.run_report import RunReport
from headgate.views.chart import for_any_screen
from headgate.views.html_page import document, section
from headgate.views.markup import Markup, element, joined
from headgate.views.plan_words import plural
from headgate.views.report_gantt import MOST_ROWS, gantt_chart
from headgate.views.report_grid import audits_table, nodes_table
from headgate.views.report_harvest import harvest_chart, scorer_troubles
from headgate.views.report_order import order_words
from headgate.views.report_policy import policy_words
from headgate.views.report_promises import Promise, promises
from headgate.views.report_rates import rate_chart
from headgate.views.report_tables import (
    errors_table,
    given_up_table,
    hosts_table,
    left_out_table,
    sites_table,
)
from headgate.views.report_words import (
    ReportWords,
    late_sites,
    restarts_in_words,
    robots_ignored,
    stalls_in_words,
)
from headgate.views.site_colours import site_numbers
from headgate.views.time_scale import TimeScale, report_span

__all__ = ["report_page"]

Scales = tuple[TimeScale, TimeScale]
"""For a wide screen and for a narrow one."""


def report_page(report: RunReport) -> str:
    """The page; the same report gives the same text."""
    words = ReportWords.of(report)
    order = site_numbers(report.sites)
    span = report_span(report)
    scales = (TimeScale(span), TimeScale.narrow(span))
    body = joined(
        (
            _header(report, words),
            element("section", *map(_tile, promises(report)), class_="tiles"),
            _rates(report, scales, order),
            _gantt(report, scales, order),
            section(
                "Harvest of the focus",
                harvest_chart(report, order),
                "Relevant pages against pages fetched. The dashed line: had they come evenly.",
            ),
            section("Stalls of the machine", _lines(stalls_in_words(report))),
            section(
                "Sites whose crawling process died",
                _lines(restarts_in_words(report)),
                "They went on from what was stored, in another process.",
            ),
            section("robots.txt ignored, as configured", _lines(robots_ignored(report))),
            section("Sites", sites_table(report, order)),
            section(
                "Nodes",
                nodes_table(report),
                "Lost: another had to do the task. Doubled: another's result counts.",
            ),
            section("Pages that two nodes brought differently", audits_table(report)),
            section("Errors by kind", errors_table(report), otherwise="There were none."),
            section(
                "Left out, and why",
                left_out_table(report),
                "URLs that were found but not fetched.",
                otherwise="Nothing was.",
            ),
            section(
                "Slowest hosts",
                hosts_table(report.slowest_hosts),
                "Mean time of a fetch: until the first byte (dark), until the last (light).",
            ),
            section("Hosts given up", given_up_table(report.sites)),
            section("Scorers in trouble", _lines(scorer_troubles(report))),
        ),
        "\n",
    )
    return document(f"{words.headline} – Headgate", body)


def _header(report: RunReport, words: ReportWords) -> Markup:
    began = _moment(report.started_at)
    how = f"policy {report.policy}, {plural(report.crawlers, 'crawler')}"
    if report.order is not None:
        how = f"one queue by score over {plural(len(report.sites), 'site')}"
    return element(
        "header",
        element("p", f"Headgate, run {report.stamp}", class_="kicker"),
        element("h1", words.headline),
        element("p", f"{words.amounts}, from {began}; {how}.", class_="amounts"),
        *(element("p", sentence) for sentence in (*policy_words(report), *order_words(report))),
    )


def _moment(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%a %Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return "an unknown moment"


def _tile(promise: Promise) -> Markup:
    return element(
        "div",
        element("h2", promise.what),
        element("p", promise.kept, class_="figure"),
        element("p", promise.promised, class_="note"),
        class_=f"tile {promise.standing}",
    )


def _rates(report: RunReport, scales: Scales, order: dict[str, int]) -> Markup:
    if not report.timeline:
        return Markup("")
    wide, narrow = scales
    charts = for_any_screen(
        rate_chart(report, wide, order), rate_chart(report, narrow, order, told=False)
    )
    note = "What the line carried: the sites stacked, in the colours of the chart below."
    return section("Rates under the budget", charts, note)


def _gantt(report: RunReport, scales: Scales, order: dict[str, int]) -> Markup:
    if not report.sites:
        return Markup("")
    chart = for_any_screen(*(gantt_chart(report, scale, order) for scale in scales))
    left_out = len(report.sites) - MOST_ROWS
    more = f" {plural(left_out, 'more site')} in the table only." if left_out > 0 else ""
    legend = element("p", *_keys(report), more, class_="note")
    return element("section", element("h2", "Planned against real"), legend, chart)


def _keys(report: RunReport) -> Iterator[Markup]:
    """What the marks mean, of those that occur."""
    yield _key("planned", "planned")
    yield _key("real", "crawled")
    if late_sites(report):
        yield _key("late", "after its deadline")
    if any(site.deadline is not None for site in report.sites):
        yield _key("deadline", "deadline")


def _key(kind: str, meaning: str) -> Markup:
    return joined((element("span", class_=f"key {kind}"), meaning, " "))


def _lines(found: Iterable[str]) -> Markup | None:
    lines = [element("p", line) for line in found]
    return joined(lines) if lines else None
