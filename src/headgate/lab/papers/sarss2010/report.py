"""The reproduction as one page."""

from __future__ import annotations

from headgate.lab.papers.page import claims_table, row, rows_table, whole_page
from headgate.lab.papers.sarss2010.overlay import MEASURED
from headgate.lab.papers.sarss2010.reproduction import Reproduction
from headgate.lab.papers.sarss2010.text import COLUMNS, assignment_rows, can_words
from headgate.views.html_page import section

__all__ = ["report_html"]


def report_html(reproduction: Reproduction) -> str:
    """The whole page."""
    fits = [
        row(f"{one.net}, draw {k + 1}", f"{one.with_height:.3f}", f"{one.without:.3f}")
        for rows in reproduction.fits
        for k, one in enumerate(rows)
    ]
    parts = [
        section("Bounds set before", claims_table("the bound", reproduction.aims)),
        section(
            "Vivaldi: median relative error of pairs that were not sampled",
            rows_table(("net", "with height", "without"), fits),
        ),
    ]
    for draws in reproduction.overlays:
        rows = [row(*line, ours=line[0] == MEASURED) for line in assignment_rows(draws)]
        parts.append(section(draws[0].net, rows_table(COLUMNS, rows), can_words(draws)))
    introduction = (
        "Volunteers' machines placed by round-trip times: which of them fetches which host."
        " Measured nets of 490 and 99 machines; some of them crawl, the others stand for hosts."
        " The paper's simulation of recrawl strategies is not reproduced yet."
    )
    return whole_page("SARSS 2010: the overlay, reproduced", introduction, parts)
