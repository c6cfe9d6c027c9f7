"""The reproduction as a chapter of the report: tables, and the figures."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.report.markup import Markup
from headgate_lab.papers.chapter import Chapter, Part
from headgate_lab.papers.diligenti2004.figures import FIGURES, figure_chart
from headgate_lab.papers.diligenti2004.forms import FORMS
from headgate_lab.papers.diligenti2004.reproduction import FIGURE_SECONDS, Reproduction, as_json
from headgate_lab.papers.diligenti2004.trace import COLUMNS, Summary
from headgate_lab.papers.page import claims_list, row, rows_table

__all__ = ["chapter"]


def chapter(reproduction: Reproduction) -> Chapter:
    parts = (
        Part("What the paper says, and what is found", claims_list(reproduction.claims)),
        Part("What Headgate promises", claims_list(reproduction.promises)),
        Part("Beside the paper and its re-examination", _references_table(reproduction)),
        *(
            Part(shown.title, figure_chart(shown, reproduction.traces, FIGURE_SECONDS))
            for shown in FIGURES
        ),
        *([Part("On the bed", _forms_table(reproduction.bed))] if reproduction.bed else []),
        Part("In virtual time", _forms_table(reproduction.simulated)),
    )
    return Chapter(
        "diligenti2004",
        "Diligenti et al. 2004: admission of downloads by estimates",
        introduction=_introduction(reproduction),
        lots=f"Three queues in virtual time; seed {reproduction.seed}",
        claims=[*reproduction.claims, *reproduction.promises],
        parts=parts,
        document=as_json(reproduction),
    )


def _introduction(reproduction: Reproduction) -> str:
    where = (
        "Figures are of the bed: bytes per second at the interface, in real time."
        if reproduction.bed
        else "Figures are of virtual time; the bed was not used."
    )
    return (
        "Bandwidth control policy of a focused crawler. Rates are parts of L, which is 140 KB/s."
        f" {where}"
    )


def _forms_table(found: Mapping[str, Summary]) -> Markup:
    rows = [
        row(
            form.title,
            *(write(found[form.name]) for _, write in COLUMNS),
            ours=form is FORMS[-1],
        )
        for form in FORMS
    ]
    return rows_table(("", *(head for head, _ in COLUMNS)), rows)


def _references_table(reproduction: Reproduction) -> Markup:
    rows = [
        row(
            found.what,
            found.paper,
            found.examined,
            found.virtual_time,
            found.bed,
            words=found.reason,
        )
        for found in reproduction.references
    ]
    heads = ("", "paper", "re-examination", "virtual time", "bed", "why ours differs")
    return rows_table(heads, rows)
