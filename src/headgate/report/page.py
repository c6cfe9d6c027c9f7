"""A run's report as one HTML page, with its promises at the top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from headgate.model.run_report import QuotaReport, RunReport
from headgate.model.units import format_duration, format_rate, format_size
from headgate.report.charts.axes import TimeScale, report_span
from headgate.report.charts.harvest import harvest_chart, scorer_troubles
from headgate.report.charts.run_gantt import MOST_ROWS, gantt_chart
from headgate.report.charts.run_rates import rate_chart
from headgate.report.charts.svg import for_any_screen, site_numbers
from headgate.report.html_page import document, section
from headgate.report.markup import Markup, element, joined
from headgate.report.nodes import audits_table, nodes_table
from headgate.report.phrases import duration_at_least, plural
from headgate.report.tables import (
    errors_table,
    given_up_table,
    hosts_table,
    left_out_table,
    sites_table,
)
from headgate.report.words import (
    ReportWords,
    late_sites,
    order_words,
    percent,
    policy_words,
    reset_day,
    restarts_in_words,
    robots_ignored,
    stalls_in_words,
    why_missed,
)

__all__ = ["promises", "report_page"]

Scales = tuple[TimeScale, TimeScale]
"""For a wide screen and for a narrow one."""


def report_page(report: RunReport) -> str:
    """A run's report as one HTML page.

    From top to bottom: in words what was promised and what was kept; the rates under the budget;
    the plan against what happened; the sites, the errors, the slow hosts. The frame is that of all
    pages (`html_page`).

    The page; the same report gives the same text.
    """
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


_WIDE_LINE = 1e6
_ALLOWED_EXCESS, _ALLOWED_EXCESS_NARROW = 1.05, 1.10
"""Tolerance for the worst second: packets are whole, and on a slow line a second has few of
them."""
_ON_PLAN = 1.05
_LOW_USE = 0.5
"""Servers and politeness may be the reason; still worth a look."""


class Promise(msgspec.Struct, frozen=True):
    """The promises of a run and whether they were kept: the tiles at the top of a report page."""

    what: str
    kept: str
    promised: str
    standing: str = ""
    """"kept", "broken", "low" where nothing was promised and little was had, or empty."""


def promises(report: RunReport) -> list[Promise]:
    made = [_deadlines(report), _use(report), _worst_second(report), _end(report)]
    return made if report.quota is None else [*made, _quota(report.quota)]


def _standing(*, kept: bool) -> str:
    return "kept" if kept else "broken"


def _deadlines(report: RunReport) -> Promise:
    given = [site for site in report.sites if site.deadline is not None]
    if not given:
        return Promise("Deadlines", "none", "no site was given one")
    met = sum(site.met is True for site in given)
    missed = sum(site.met is False for site in given)
    late = late_sites(report)
    if late:
        words = f"latest: {late[0][0].name}, by {duration_at_least(late[0][1])}"
    elif missed:
        first = next(site for site in given if site.met is False)
        words = f"{first.name}: {why_missed(first, report.seconds)}"
    else:
        words = "none missed"
    kept = f"{met:,} of {len(given):,} met"
    return Promise("Deadlines", kept, words, _standing(kept=not missed))


def _use(report: RunReport) -> Promise:
    mean = f"{format_rate(report.mean_rate)} on average"
    if report.utilisation is None:
        return Promise("Use of the line", format_rate(report.mean_rate), "on average, no limit")
    standing = "low" if report.utilisation < _LOW_USE else ""
    words = f"{mean}, while work remained"
    return Promise("Use of the budget", percent(report.utilisation), words, standing)


def _worst_second(report: RunReport) -> Promise:
    if report.peak_rate_1s is None:
        return Promise("Worst second", "none", "the run was shorter than a second")
    figure = format_rate(report.peak_rate_1s)
    rates = [rate for _, rate in report.budget_changes] or [report.budget]
    finite = [rate for rate in rates if rate is not None]
    if len(finite) < len(rates) or not finite or max(finite) <= 0:
        return Promise("Worst second", figure, "no limit was set")
    highest = max(finite)
    share = report.peak_rate_1s / highest
    allowed = _ALLOWED_EXCESS if highest >= _WIDE_LINE else _ALLOWED_EXCESS_NARROW
    words = f"{percent(share)} of {format_rate(highest)}"
    return Promise("Worst second", figure, words, _standing(kept=share <= allowed))


def _quota(quota: QuotaReport) -> Promise:
    """Pages in flight when it ran out are completed, so a little more may have passed."""
    words = f"{format_size(quota.left)} left; new on {reset_day(quota)}"
    kept = quota.used <= quota.bytes * _ALLOWED_EXCESS
    return Promise(f"Of {quota.quota}", format_size(quota.used), words, _standing(kept=kept))


def _end(report: RunReport) -> Promise:
    ended = [site.finished for site in report.sites if site.finished is not None]
    planned = [site.planned_end for site in report.sites if site.planned_end is not None]
    if len(ended) < len(report.sites) or not ended:
        words = f"planned {format_duration(max(planned))}" if planned else "no plan was made"
        return Promise("End of the last site", "not reached", words)
    if not planned:
        return Promise("End of the last site", format_duration(max(ended)), "no plan was made")
    return Promise(
        "End of the last site",
        format_duration(max(ended)),
        f"planned {format_duration(max(planned))}",
        _standing(kept=max(ended) <= _ON_PLAN * max(planned)),
    )
