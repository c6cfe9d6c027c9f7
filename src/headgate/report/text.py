"""A run's report for a terminal: a few lines, the rest is on the page."""

from __future__ import annotations

from collections.abc import Iterable

from headgate.model.run_report import RunReport, SiteReport
from headgate.report.charts.harvest import harvest_words, scorer_troubles
from headgate.report.left_out import left_out_words, too_little
from headgate.report.markup import printable
from headgate.report.nodes import grid_words
from headgate.report.phrases import duration_at_least, plural
from headgate.report.words import (
    ReportWords,
    errors_by_kind,
    late_sites,
    nothing_because,
    order_words,
    policy_words,
    restarts_in_words,
    robots_ignored,
    stalls_in_words,
)

__all__ = ["report_text"]

_MOST_NAMED = 5


def report_text(report: RunReport, page: str = "", *, linked: bool = True) -> str:
    """Headline, amounts, and what went wrong; ``page`` is where the report page is, ``linked``
    whether links said what was fetched, and not a program of the user's."""
    words = ReportWords.from_report(report)
    lines = [f"{words.headline}.", f"{words.amounts}.", *policy_words(report), *order_words(report)]
    late = late_sites(report)
    lines += _listed("Late", (f"{site.name} by {duration_at_least(by)}" for site, by in late))
    stopped = (site for site in report.sites if site.stopped_at_deadline)
    lines += _listed(
        "Stopped at the deadline", (f"{s.name} ({plural(s.to_do, 'URL')} left)" for s in stopped)
    )
    bounded = (site for site in report.sites if site.at_its_bound)
    lines += _listed(
        "Ended at a limit",
        (f"{s.name} ({s.reason}, {plural(s.to_do, 'URL')} left)" for s in bounded),
    )
    if not report.nothing_fetched:
        empty = (s for s in report.sites if s.state == "done" and not s.pages)
        lines += _listed("Nothing fetched", (f"{s.name} ({nothing_because(s)})" for s in empty))
    few = ((site, too_little(site)) for site in report.sites if linked)
    lines += _listed("Only one page", (f"{site.name} ({why})" for site, why in few if why))
    lines += _listed("Left out", left_out_words(report))
    unfinished = (site for site in report.sites if not site.settled)
    lines += _listed("Not finished", map(_unfinished, unfinished))
    lines += grid_words(report.grid)
    lines += _listed("Stalled", stalls_in_words(report))
    lines += _listed("Process died, site went on from what was stored", restarts_in_words(report))
    lines += _listed("Errors", (f"{count:,} × {kind}" for kind, count in errors_by_kind(report)))
    lines += _listed("Given up", _given_up(report, "\n".join(lines)))
    lines += _listed("robots.txt ignored, as configured", robots_ignored(report))
    lines += _listed("Focus", _harvests(report))
    lines += _listed("Scorers in trouble", scorer_troubles(report))
    if page:
        lines.append(f"Report: {page}")
    return "\n".join(map(printable, lines))


def _unfinished(site: SiteReport) -> str:
    left = f", {plural(site.to_do, 'URL')} left" if site.to_do else ""
    return f"{site.name} ({site.reason or site.state}{left})"


def _given_up(report: RunReport, said: str) -> Iterable[str]:
    """But for what was said already, as why nothing was fetched of a site."""
    for site in report.sites:
        for host, reason in site.given_up.items():
            if f"{site.name} ({reason})" not in said:
                yield f"{host} ({reason})"


def _harvests(report: RunReport) -> Iterable[str]:
    for site in report.sites:
        if site.focus is not None and site.focus.curve:
            yield f"{site.name} {harvest_words(site.focus)}"


def _listed(heading: str, items: Iterable[str]) -> list[str]:
    """One line, or none when there is nothing to name."""
    found = list(items)
    named = found[:_MOST_NAMED]
    if len(found) > len(named):
        named.append(f"and {len(found) - len(named):,} more")
    return [f"{heading}: {', '.join(named)}."] if named else []
