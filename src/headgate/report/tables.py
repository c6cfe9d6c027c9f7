"""The tables of a report page: sites, errors by kind, the slowest hosts, hosts given up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headgate.model.run_report import HostFigures, RunReport, SiteReport
from headgate.model.units import format_duration, format_size
from headgate.report.html_page import Cell, data_table, table
from headgate.report.left_out import left_out_rows
from headgate.report.markup import Markup, element, joined, shortened
from headgate.report.phrases import duration_at_least, foreseen_end, plural
from headgate.report.words import error_meaning, errors_by_kind, late_by, why_missed

__all__ = ["errors_table", "given_up_table", "hosts_table", "left_out_table", "sites_table"]

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
        yield _moment(moment)
    foreseen = site.foreseen_end
    yield Cell(foreseen_end(foreseen), foreseen.likely if foreseen else float("inf"))
    yield _moment(site.started)
    yield Cell(f"{site.pages:,}", site.pages)
    yield Cell(format_size(site.bytes), site.bytes)
    yield Cell(format_size(site.wire_bytes), site.wire_bytes)
    yield Cell(f"{errors:,}" if errors else "", errors)


def _moment(seconds: float | None) -> Cell:
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
