"""The reproduction as one page."""

from __future__ import annotations

from headgate.lab.papers.nakahira2008.figures import FIGURES, figure_chart
from headgate.lab.papers.nakahira2008.reproduction import MARKS, Reproduction
from headgate.lab.papers.page import claims_table, figure, row, rows_table, whole_page
from headgate.views.html_page import section
from headgate.views.markup import Markup

__all__ = ["report_html"]


def report_html(reproduction: Reproduction) -> str:
    """The whole page."""
    first = reproduction.results[0]
    introduction = (
        f"A low load server crawler. {len(reproduction.results)} virtual webs of"
        f" {reproduction.sites:,} site trees; figures of the web with seed {first.seed}. The paper"
        " prints curves without numbers: what its text says of them is checked."
    )
    parts = (
        section(
            "What the paper says, and what is found",
            claims_table("the claim", reproduction.claims),
        ),
        section("Load for a share of the external hosts", _loads_table(reproduction)),
        *(
            figure(f"Fig. {number}: {title}", figure_chart(number, first))
            for number, (title, _) in FIGURES.items()
        ),
    )
    return whole_page("Nakahira et al. 2008, reproduced", introduction, parts)


def _loads_table(reproduction: Reproduction) -> Markup:
    cut, policy = reproduction.mean_loads()
    rows = [
        row("cut at a depth", *(f"{load:.1%}" for load in cut)),
        row("most promising first", *(f"{load:.1%}" for load in policy), ours=True),
    ]
    return rows_table(("", *(f"{mark:.0%}" for mark in MARKS)), rows)
