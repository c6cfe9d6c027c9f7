"""The reproduction as one page: tables, and the figures."""

from __future__ import annotations

from collections.abc import Mapping

from headgate.lab.papers.diligenti2004.figures import FIGURES, figure_chart
from headgate.lab.papers.diligenti2004.forms import FORMS
from headgate.lab.papers.diligenti2004.reproduction import FIGURE_SECONDS, Reproduction
from headgate.lab.papers.diligenti2004.trace import COLUMNS, Summary
from headgate.lab.papers.page import claims_table, figure, row, rows_table, whole_page
from headgate.views.html_page import section
from headgate.views.markup import Markup, joined

__all__ = ["report_html"]


def report_html(reproduction: Reproduction) -> str:
    """The whole page."""
    claims = (
        claims_table("the paper says", reproduction.claims),
        claims_table("Headgate promises", reproduction.promises),
    )
    parts = (
        section("What the paper says, and what is found", joined(claims)),
        section("Beside the paper and its re-examination", _references_table(reproduction)),
        section("On the bed", _forms_table(reproduction.bed) if reproduction.bed else None),
        section("In virtual time", _forms_table(reproduction.simulated)),
        *(
            figure(shown.title, figure_chart(shown, reproduction.traces, FIGURE_SECONDS))
            for shown in FIGURES
        ),
    )
    return whole_page("Diligenti et al. 2004, reproduced", _introduction(reproduction), parts)


def _introduction(reproduction: Reproduction) -> str:
    where = (
        "Figures are of the bed: bytes per second at the interface, in real time."
        if reproduction.bed
        else "Figures are of virtual time; the bed was not used."
    )
    return (
        "Bandwidth control policy of a focused crawler. Rates are parts of L, which is 140 KB/s;"
        f" seed {reproduction.seed}. {where}"
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
