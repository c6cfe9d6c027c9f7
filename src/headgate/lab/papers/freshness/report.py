"""The replay as one page."""

from __future__ import annotations

from headgate.lab.papers.freshness.reproduction import Reproduction
from headgate.lab.papers.freshness.rivals import HEADGATE
from headgate.lab.papers.freshness.text import COLUMNS, cells
from headgate.lab.papers.page import claims_table, row, rows_table, whole_page
from headgate.views.html_page import section

__all__ = ["report_html"]


def report_html(reproduction: Reproduction) -> str:
    """The whole page."""
    introduction = (
        f"{reproduction.pages} real pages and all their changes in four years, held out from"
        " every choice. A budget of so many days is that of one look at every page each so many"
        " days, if none changed. Ages are in days."
    )
    parts = [section("What is claimed", claims_table("the claim", reproduction.claims))]
    for cell, outcomes in reproduction.outcomes.items():
        rows = [row(name, *cells(found), ours=name == HEADGATE) for name, found in outcomes.items()]
        parts.append(section(cell.name, rows_table(("policy", *COLUMNS), rows)))
    return whole_page("Which policy keeps pages fresh", introduction, parts)
