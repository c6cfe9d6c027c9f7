"""A run's report as one HTML page, with its promises at the top."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from headgate.model.run_report import HostFigures, QuotaReport, RunReport, SiteReport
from headgate.model.units import format_duration, format_rate, format_size
from headgate.report.charts.axes import TimeScale, report_span
from headgate.report.charts.harvest import harvest_chart, scorer_troubles
from headgate.report.charts.run_charts import MOST_ROWS, gantt_chart, rate_chart
from headgate.report.charts.svg import for_any_screen, site_numbers
from headgate.report.html_page import Cell, data_table, document, section, table
from headgate.report.left_out import left_out_rows
from headgate.report.markup import Markup, element, joined, shortened
from headgate.report.nodes import audits_table, nodes_table
from headgate.report.phrases import duration_at_least, foreseen_end, plural
from headgate.report.words import (
    ReportWords,
    error_meaning,
    errors_by_kind,
    late_by,
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
    words = ReportWords.from_report(report)
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


# The tables of a report page: sites, errors by kind, the slowest hosts, hosts given up.


_MOST_ROWS = 1000
_BAR = 160.0
_LONGEST_NAME = 40
_SITE_COLUMNS = (
    *("site", "state", "met", "deadline", "finished", "planned end", "foreseen"),
    *("started", "pages", "content", "on the line", "errors"),
)


def sites_table(report: RunReport, order: Mapping[str, int]) -> Markup:
    """All sites in order of their starts; a click on a heading sorts them otherwise."""
    sites = sorted(report.sites, key=lambda site: order[site.name])
    rows = [
        (site.name, order[site.name], tuple(_site_cells(site, report.seconds)))
        for site in sites[:_MOST_ROWS]
    ]
    found = data_table(_SITE_COLUMNS, rows)
    left_out = len(sites) - len(rows)
    if not left_out:
        return found
    return joined((found, element("p", f"… {plural(left_out, 'more site')}: see report.json")))


def errors_table(report: RunReport) -> Markup | None:
    """None when there were none."""
    errors = errors_by_kind(report)
    if not errors:
        return None
    most = errors[0][1]
    rows = [
        element(
            "tr",
            element("td", kind),
            element("td", error_meaning(kind), class_="label"),
            element("td", f"{count:,}"),
            element("td", _bar((count / most, "error"))),
            element("td", _named(report, kind), class_="words"),
        )
        for kind, count in errors
    ]
    return table(("kind", "meaning", "times", "", "on"), rows)


def left_out_table(report: RunReport) -> Markup | None:
    """None when nothing was."""
    rows = left_out_rows(report)
    return table(("reason", "meaning", "URLs", "on", "such as"), rows) if rows else None


def hosts_table(hosts: Sequence[HostFigures]) -> Markup | None:
    """None when there are none."""
    if not hosts:
        return None
    slowest = max(1e-9, *(host.mean_seconds for host in hosts))
    rows = [
        element(
            "tr",
            element("td", host.host, title=host.host),
            element("td", f"{host.fetches:,}"),
            element("td", _seconds(host.mean_first_byte_seconds)),
            element("td", _seconds(host.mean_seconds)),
            element("td", _host_bar(host, slowest)),
        )
        for host in hosts
    ]
    return table(("host", "fetches", "first byte", "whole fetch", ""), rows)


def given_up_table(sites: Iterable[SiteReport]) -> Markup | None:
    """None when no host was."""
    rows = [
        element(
            "tr",
            element("td", host),
            element("td", shortened(site.name, _LONGEST_NAME), class_="label"),
            element("td", reason, class_="words"),
        )
        for site in sites
        for host, reason in site.given_up.items()
    ]
    return table(("host", "site", "reason"), rows) if rows else None


def _site_cells(site: SiteReport, now: float) -> Iterator[Cell]:
    errors = sum(site.errors.values())
    yield Cell(site.state, site.state, "label")
    yield _met(site, now)
    for moment in (site.deadline, site.finished, site.planned_end):
        yield _moment_cell(moment)
    foreseen = site.foreseen_end
    yield Cell(foreseen_end(foreseen), foreseen.likely if foreseen else float("inf"))
    yield _moment_cell(site.started)
    yield Cell(f"{site.pages:,}", site.pages)
    yield Cell(format_size(site.bytes), site.bytes)
    yield Cell(format_size(site.wire_bytes), site.wire_bytes)
    yield Cell(f"{errors:,}" if errors else "", errors)


def _moment_cell(seconds: float | None) -> Cell:
    if seconds is None:
        return Cell("", float("inf"))
    return Cell(format_duration(seconds), seconds)


def _met(site: SiteReport, now: float) -> Cell:
    """Sorted by how late, the latest last; sites without a deadline before all others."""
    if site.deadline is None:
        return Cell("", float("-inf"))
    if site.met is None:
        return Cell("open", 0.0)
    if site.met:
        spare = site.deadline - (site.finished or 0.0)
        return Cell(f"✓ {format_duration(max(spare, 0.0))} to spare", -spare, "met")
    late = late_by(site, now)
    words = f"{duration_at_least(late)} late" if late else why_missed(site, now)
    return Cell(f"✗ {words}", late, "late")


def _named(report: RunReport, kind: str) -> str:
    """The sites that had most errors of a kind."""
    counts = [(site.errors[kind], site.name) for site in report.sites if site.errors.get(kind)]
    names = [name for _, name in sorted(counts, key=lambda pair: (-pair[0], pair[1]))]
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    return ", ".join(shortened(name, _LONGEST_NAME) for name in names[:3]) + more


def _host_bar(host: HostFigures, slowest: float) -> Markup:
    first_byte = min(host.mean_first_byte_seconds, host.mean_seconds)
    return _bar(
        (first_byte / slowest, "first-byte"),
        ((host.mean_seconds - first_byte) / slowest, "transfer"),
    )


def _bar(*parts: tuple[float, str]) -> Markup:
    """Shares of a full bar, one after the other."""
    rects = []
    at = 0.0
    for share, kind in parts:
        rects.append(element("rect", class_=kind, x=at, y=0, width=share * _BAR, height=10))
        at += share * _BAR
    return element(
        "svg", *rects, class_="bar", width=_BAR, height=10, role="img", aria_hidden="true"
    )


def _seconds(seconds: float) -> str:
    """
    >>> _seconds(0.0312), _seconds(2.5)
    ('31 ms', '2.5s')
    """
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else format_duration(seconds)
