"""A run's report for a terminal: a few lines, the rest is on the page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headgate.cli.markup import printable
from headgate.cli.plan_words import duration_at_least
from headgate.cli.report_harvest import harvest_words, scorer_troubles
from headgate.cli.report_words import ReportWords, errors_by_kind, late_sites
from headgate.model.run_report import RunReport

__all__ = ["report_text"]

_MOST_NAMED = 5


def report_text(report: RunReport, page: Path | None = None) -> str:
    """Headline, amounts, and what went wrong; ``page`` is where the report page is."""
    words = ReportWords.of(report)
    lines = [f"{words.headline}.", f"{words.amounts}."]
    late = late_sites(report)
    lines += _listed("Late", (f"{site.name} by {duration_at_least(by)}" for site, by in late))
    unfinished = (site for site in report.sites if site.state != "done")
    lines += _listed("Not finished", (f"{s.name} ({s.reason or s.state})" for s in unfinished))
    lines += _listed("Errors", (f"{count:,} × {kind}" for kind, count in errors_by_kind(report)))
    lines += _listed("Given up", _given_up(report))
    lines += _listed("Focus", _harvests(report))
    lines += _listed("Scorers in trouble", scorer_troubles(report))
    if page is not None:
        lines.append(f"Report: {page}")
    return "\n".join(map(printable, lines))


def _given_up(report: RunReport) -> Iterable[str]:
    for site in report.sites:
        for host, reason in site.given_up.items():
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
