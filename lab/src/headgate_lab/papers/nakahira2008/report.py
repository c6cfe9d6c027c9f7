"""The reproduction as a chapter of the report."""

from __future__ import annotations

from headgate.report.markup import Markup
from headgate_lab.papers.chapter import Chapter, Part
from headgate_lab.papers.nakahira2008.figures import FIGURES, figure_chart
from headgate_lab.papers.nakahira2008.reproduction import MARKS, Reproduction, as_json
from headgate_lab.papers.page import claims_list, counted, row, rows_table

__all__ = ["chapter"]


def chapter(reproduction: Reproduction) -> Chapter:
    first = reproduction.results[0]
    introduction = (
        f"A low load server crawler, on virtual webs of {reproduction.sites:,} site trees. The"
        " paper prints curves without numbers: what its text says of them is checked, and marked"
        " in Fig. 3."
    )
    parts = (
        Part(
            "What the paper says, and what is found",
            claims_list(reproduction.claims),
        ),
        Part("Load for a share of the external hosts", _loads_table(reproduction)),
        *(
            Part(f"Fig. {number}: {title}", figure_chart(number, first))
            for number, (title, _) in FIGURES.items()
        ),
    )
    return Chapter(
        "nakahira2008",
        "Nakahira et al. 2008: hosts at low load",
        introduction=introduction,
        lots=f"{counted(len(reproduction.results), 'web', 'webs')}, seeds from {first.seed};"
        " figures of the first",
        claims=reproduction.claims,
        parts=parts,
        document=as_json(reproduction),
    )


def _loads_table(reproduction: Reproduction) -> Markup:
    cut, policy = reproduction.mean_loads()
    rows = [
        row("cut at a depth", *(f"{load:.1%}" for load in cut)),
        row("most promising first", *(f"{load:.1%}" for load in policy), ours=True),
    ]
    return rows_table(("", *(f"{mark:.0%}" for mark in MARKS)), rows)
