"""The reproduction as a chapter of the report."""

from __future__ import annotations

from headgate.report.markup import Markup, joined
from headgate_lab.papers.chapter import Chapter, Part
from headgate_lab.papers.page import claims_list, row, rows_table
from headgate_lab.papers.pechnikov2017.pictures import ratios_chart, table_chart
from headgate_lab.papers.pechnikov2017.reproduction import Reproduction, as_json
from headgate_lab.papers.pechnikov2017.rivals import BATCH, PULL
from headgate_lab.papers.pechnikov2017.text import hours, ratio_rows

__all__ = ["chapter"]


def chapter(reproduction: Reproduction) -> Chapter:
    introduction = (
        "Sites over office desktops of unequal speed."
        " 99 sites by a power law, clients with the paper's reference times. Makespans are over a"
        " clairvoyant bound;"
        " results obtained independently of this project stand in brackets."
    )
    parts = (
        Part(
            "What the paper says, and what is found",
            claims_list(reproduction.claims),
        ),
        Part("Table 1 as a model", joined((table_chart(reproduction), _table_1(reproduction)))),
        Part(
            "Estimates are right",
            joined((ratios_chart(reproduction, exact=True), _ratios(reproduction, exact=True))),
        ),
        Part(
            "Estimates err, clients drift",
            joined((ratios_chart(reproduction, exact=False), _ratios(reproduction, exact=False))),
        ),
        Part("Bounds set before", claims_list(reproduction.aims)),
    )
    return Chapter(
        "pechnikov2017",
        "Pechnikov et al. 2017: sites over office desktops",
        introduction=introduction,
        lots=f"{reproduction.instances} instances of each kind; seed {reproduction.seed}",
        claims=[*reproduction.claims, *reproduction.aims],
        parts=parts,
        document=as_json(reproduction),
    )


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
