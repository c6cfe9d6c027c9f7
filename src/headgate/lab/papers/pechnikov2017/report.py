"""The reproduction as one page."""

from __future__ import annotations

from headgate.lab.papers.page import claims_table, row, rows_table, whole_page
from headgate.lab.papers.pechnikov2017.reproduction import Reproduction
from headgate.lab.papers.pechnikov2017.rivals import BATCH, PULL
from headgate.lab.papers.pechnikov2017.text import hours, ratio_rows
from headgate.views.html_page import section
from headgate.views.markup import Markup

__all__ = ["report_html"]


def report_html(reproduction: Reproduction) -> str:
    """The whole page."""
    introduction = (
        "Sites over office desktops of unequal speed."
        f" {reproduction.instances} instances of 99 sites by a power law, clients with the paper's"
        f" reference times, seed {reproduction.seed}. Makespans are over a clairvoyant bound;"
        " results obtained independently of this project stand in brackets."
    )
    parts = (
        section(
            "What the paper says, and what is found",
            claims_table("the paper says", reproduction.claims),
        ),
        section("Table 1 as a model", _table_1(reproduction)),
        section("Estimates are right", _ratios(reproduction, exact=True)),
        section("Estimates err, clients drift", _ratios(reproduction, exact=False)),
        section("Bounds set before", claims_table("the bound", reproduction.aims)),
    )
    return whole_page("Pechnikov et al. 2017, reproduced", introduction, parts)


def _table_1(reproduction: Reproduction) -> Markup:
    rows = [
        row(f"{r.clients} clients, {r.experiment}", *map(hours, (r.paper, r.ours, r.least, r.most)))
        for r in reproduction.table
    ]
    return rows_table(("run", "paper", "model, mean", "least", "most"), rows)


def _ratios(reproduction: Reproduction, *, exact: bool) -> Markup:
    heads, lines = ratio_rows(reproduction, exact=exact)
    rows = [row(*line, ours=line[0] in (BATCH, PULL)) for line in lines]
    return rows_table(("makespan / bound", *heads), rows)
