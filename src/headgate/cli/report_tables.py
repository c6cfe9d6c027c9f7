"""The tables of a report page: sites, errors by kind, the slowest hosts, hosts given up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from headgate.cli.markup import Markup, element, joined, shortened
from headgate.cli.plan_words import duration_at_least, foreseen_end, plural
from headgate.cli.report_words import error_meaning, errors_by_kind, late_by
from headgate.cli.site_colours import colour_class
from headgate.model.run_report import HostFigures, RunReport, SiteReport
from headgate.model.units import format_duration, format_size

__all__ = ["errors_table", "given_up_table", "hosts_table", "sites_table"]

_MOST_ROWS = 1000
_BAR = 160.0
_LONGEST_NAME = 40
_SITE_COLUMNS = (
    *("site", "state", "pages", "content", "on the line", "errors"),
    *("started", "finished", "planned end", "foreseen", "deadline", "met"),
)

_IN_WORDS = frozenset(("state", "meaning", "on", "site", "reason"))
"""Columns that read from the left."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """What is shown, and the value by which the column is sorted."""

    shown: str
    value: str | float
    class_: str | None = None

    def markup(self) -> Markup:
        return element("td", self.shown, class_=self.class_, data_value=_sortable(self.value))


def sites_table(report: RunReport, order: Mapping[str, int]) -> Markup:
    """All sites in order of their starts; a click on a heading sorts them otherwise."""
    sites = sorted(report.sites, key=lambda site: order[site.name])
    rows = [_site_row(site, order[site.name], report.seconds) for site in sites[:_MOST_ROWS]]
    table = _table(_SITE_COLUMNS, rows, class_="sites")
    left_out = len(sites) - len(rows)
    if not left_out:
        return table
    return joined((table, element("p", f"… {plural(left_out, 'more site')}: see report.json")))


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
    return _table(("kind", "meaning", "times", "", "on"), rows)


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
    return _table(("host", "fetches", "first byte", "whole fetch", ""), rows)


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
    return _table(("host", "site", "reason"), rows) if rows else None


def _table(columns: Sequence[str], rows: Sequence[Markup], class_: str | None = None) -> Markup:
    names = (
        element("th", name, scope="col", class_="label" if name in _IN_WORDS else None)
        for name in columns
    )
    head = element("thead", element("tr", *names))
    table = element("table", head, element("tbody", joined(rows, "\n")), class_=class_)
    return element("div", table, class_="scroll")


def _site_row(site: SiteReport, number: int, now: float) -> Markup:
    cells = (cell.markup() for cell in _site_cells(site, now))
    swatch = element("span", class_=f"swatch {colour_class(number)}")
    shown = shortened(site.name, _LONGEST_NAME)
    name = element("th", swatch, shown, scope="row", data_value=site.name, title=site.name)
    return element("tr", name, *cells, data_site=number)


def _site_cells(site: SiteReport, now: float) -> Iterator[_Cell]:
    errors = sum(site.errors.values())
    yield _Cell(site.state, site.state, "label")
    yield _Cell(f"{site.pages:,}", site.pages)
    yield _Cell(format_size(site.bytes), site.bytes)
    yield _Cell(format_size(site.wire_bytes), site.wire_bytes)
    yield _Cell(f"{errors:,}" if errors else "", errors)
    for moment in (site.started, site.finished, site.planned_end):
        yield _moment(moment)
    foreseen = site.foreseen_end
    yield _Cell(foreseen_end(foreseen), foreseen.likely if foreseen else float("inf"))
    yield _moment(site.deadline)
    yield _met(site, now)


def _moment(seconds: float | None) -> _Cell:
    if seconds is None:
        return _Cell("", float("inf"))
    return _Cell(format_duration(seconds), seconds)


def _met(site: SiteReport, now: float) -> _Cell:
    """Sorted by how late, the latest last; sites without a deadline before all others."""
    if site.deadline is None:
        return _Cell("", float("-inf"))
    if site.met is None:
        return _Cell("open", 0.0)
    if site.met:
        spare = site.deadline - (site.finished or 0.0)
        return _Cell(f"✓ {format_duration(max(spare, 0.0))} to spare", -spare, "met")
    late = late_by(site, now)
    return _Cell(f"✗ {duration_at_least(late)} late" if late else "✗ not done", late, "late")


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


def _sortable(value: str | float) -> str:
    """Text that JavaScript's Number() reads back, infinity included."""
    if isinstance(value, str):
        return value
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return f"{value:g}" if isinstance(value, float) else str(value)
