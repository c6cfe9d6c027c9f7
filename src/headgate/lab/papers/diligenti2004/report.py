"""The reproduction as one HTML page that needs nothing else: tables, and the figures as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from headgate.lab.papers.diligenti2004.figures import FIGURES, figure_svg
from headgate.lab.papers.diligenti2004.forms import FORMS
from headgate.lab.papers.diligenti2004.reproduction import FIGURE_SECONDS, Reproduction
from headgate.lab.papers.diligenti2004.trace import COLUMNS, Summary
from headgate.lab.papers.page import claims_table, page, table

__all__ = ["report_html"]


def report_html(reproduction: Reproduction) -> str:
    """The whole page."""
    parts = [
        _introduction(reproduction),
        "<h2>What the paper says, and what is found</h2>",
        claims_table("the paper says", reproduction.claims),
        claims_table("Headgate promises", reproduction.promises),
        "<h2>Beside the paper and its re-examination</h2>",
        _references_table(reproduction),
    ]
    if reproduction.bed:
        parts += ["<h2>On the bed</h2>", _forms_table(reproduction.bed)]
    parts += ["<h2>In virtual time</h2>", _forms_table(reproduction.simulated)]
    parts += [
        f"<figure>{figure_svg(figure, reproduction.traces, FIGURE_SECONDS)}"
        f"<figcaption>{escape(figure.title)}</figcaption></figure>"
        for figure in FIGURES
    ]
    return page("Diligenti et al. 2004, reproduced", "\n".join(parts))


def _introduction(reproduction: Reproduction) -> str:
    where = (
        "Figures are of the bed: bytes per second at the interface, in real time."
        if reproduction.bed
        else "Figures are of virtual time; the bed was not used."
    )
    return (
        "<p>Bandwidth control policy of a focused crawler. Rates are parts of L, which is 140 KB/s;"
        f" seed {reproduction.seed}. {where}</p>"
    )


def _forms_table(found: Mapping[str, Summary]) -> str:
    return table(
        ("", *(head for head, _ in COLUMNS)),
        (
            ('<tr class="ours">' if form is FORMS[-1] else "<tr>")
            + f"<td>{escape(form.title)}</td>"
            + "".join(f"<td>{write(found[form.name])}</td>" for _, write in COLUMNS)
            + "</tr>"
            for form in FORMS
        ),
    )


def _references_table(reproduction: Reproduction) -> str:
    return table(
        ("", "paper", "re-examination", "virtual time", "bed", "why ours differs"),
        (
            "<tr>"
            + "".join(
                f"<td>{escape(cell)}</td>"
                for cell in (row.what, row.paper, row.examined, row.virtual_time, row.bed)
            )
            + f'<td class="text">{escape(row.reason)}</td></tr>'
            for row in reproduction.references
        ),
    )
