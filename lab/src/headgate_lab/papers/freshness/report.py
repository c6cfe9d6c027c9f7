"""The replay as a chapter of the report."""

from __future__ import annotations

from headgate_lab.papers.chapter import Chapter, Part
from headgate_lab.papers.freshness.pictures import budget_charts
from headgate_lab.papers.freshness.reproduction import Reproduction, as_json
from headgate_lab.papers.freshness.rivals import HEADGATE
from headgate_lab.papers.freshness.text import COLUMNS, cells
from headgate_lab.papers.page import claims_list, row, rows_table

__all__ = ["chapter"]


def chapter(reproduction: Reproduction) -> Chapter:
    introduction = (
        f"{reproduction.pages} real pages and all their changes in four years, held out from"
        " every choice. A budget of so many days is that of one look at every page each so many"
        " days, if none changed. Ages are in days."
    )
    parts = [
        Part("What is claimed", claims_list(reproduction.claims)),
        Part("Freshness and age against the budget", budget_charts(reproduction)),
    ]
    for cell, outcomes in reproduction.outcomes.items():
        rows = [row(name, *cells(found), ours=name == HEADGATE) for name, found in outcomes.items()]
        parts.append(Part(cell.name, rows_table(("policy", *COLUMNS), rows)))
    seeds = ", ".join(str(seed) for seed in dict.fromkeys(c.seed for c in reproduction.outcomes))
    return Chapter(
        "freshness",
        "Which policy keeps pages fresh, on four years of real changes",
        introduction=introduction,
        lots=f"{'Seeds' if ',' in seeds else 'Seed'} {seeds}",
        claims=reproduction.claims,
        parts=parts,
        document=as_json(reproduction),
    )
