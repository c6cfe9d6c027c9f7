"""The chart of what a focus brought in: relevant pages against pages fetched, a line per site.

Both axes are shares of the whole, so that sites of all sizes can be compared. Had the relevant
pages come evenly, the line would be the diagonal; the higher it lies above, the better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from headgate.model.run_report import FocusReport, RunReport, SiteReport
from headgate.report.charts.line_chart import Axis, ChartLine, line_chart
from headgate.report.charts.svg import colour_class
from headgate.report.markup import Markup, shortened
from headgate.report.phrases import plural
from headgate.report.words import percent

__all__ = ["harvest_chart", "harvest_words", "scorer_troubles"]

_MOST_LINES = 12
_LONGEST_NAME = 28


def harvest_chart(report: RunReport, order: Mapping[str, int]) -> Markup | None:
    """None when no site has a curve."""
    drawn = sorted(_with_curves(report), key=lambda pair: order[pair[0].name])[:_MOST_LINES]
    if not drawn:
        return None
    lines = [_line(site, focus, order[site.name]) for site, focus in drawn]
    even = ChartLine("", [(0.0, 0.0), (1.0, 1.0)], "c-other", "dashed")
    return line_chart(
        "Relevant pages against pages fetched",
        Axis(0.0, 1.0, "of the pages fetched", "{:.0%}".format),
        Axis(0.0, 1.0, "", "{:.0%}".format),
        [even, *lines],
    )


def harvest_words(focus: FocusReport) -> str:
    """
    >>> harvest_words(FocusReport("topic", "food", 100, 20, ((40, 18), (100, 20))))
    '20 of 100 pages relevant; 80 % of them within the first 40 %'
    >>> harvest_words(FocusReport("topic", "food", 50, 3, ((10, 3), (50, 3))))
    '3 of 50 pages relevant; all of them within the first 20 %'
    """
    words = f"{focus.relevant:,} of {plural(focus.pages, 'page')} relevant"
    wanted = math.ceil(4 * focus.relevant / 5)
    needed = next((pages for pages, found in focus.curve if found >= wanted), 0)
    if not focus.relevant or not needed:
        return words
    many = "80 % of them" if wanted < focus.relevant else "all of them"
    which = "it came" if focus.relevant == 1 else many
    return f"{words}; {which} within the first {percent(needed / focus.pages)}"


def scorer_troubles(report: RunReport) -> Iterator[str]:
    """What was wrong with the scorers that users brought."""
    for site in report.sites:
        if site.focus is not None and site.focus.trouble:
            faults = f" ({plural(site.focus.faults, 'link')})" if site.focus.faults else ""
            yield f"{site.name}, scorer {site.focus.order} {site.focus.trouble}{faults}"


def _with_curves(report: RunReport) -> Iterator[tuple[SiteReport, FocusReport]]:
    for site in report.sites:
        if site.focus is not None and site.focus.curve and site.focus.relevant:
            yield site, site.focus


def _line(site: SiteReport, focus: FocusReport, number: int) -> ChartLine:
    about = f" – {shortened(focus.focus, _LONGEST_NAME)}" if focus.focus else ""
    name = f"{shortened(site.name, _LONGEST_NAME)}{about} ({focus.order}): {harvest_words(focus)}"
    points = [(pages / focus.pages, found / focus.relevant) for pages, found in focus.curve]
    return ChartLine(name, [(0.0, 0.0), *points], colour_class(number), number=number)
