"""``headgate lab diligenti2004``: the reproduction as tables in a terminal or a pipe."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console

from headgate_lab.papers.diligenti2004.forms import FORMS
from headgate_lab.papers.diligenti2004.reproduction import Reproduction
from headgate_lab.papers.diligenti2004.trace import COLUMNS, Summary
from headgate_lab.papers.text import lab_console, print_claims, print_table, table

__all__ = ["print_reproduction"]


def print_reproduction(reproduction: Reproduction) -> None:
    """The forms in both worlds, the paper's numbers beside ours, the claims."""
    console = lab_console()
    if reproduction.bed:
        title = "On the bed: wire bytes at the interface over 40 s; rates as parts of L = 140 KB/s"
        _print_forms(console, title, reproduction.bed)
    title = "In virtual time: means over three queues of 300 s; rates as parts of L = 140 KB/s"
    _print_forms(console, title, reproduction.simulated)
    _print_references(console, reproduction)
    print_claims(console, "What the paper says", reproduction.claims)
    print_claims(console, "What Headgate promises", reproduction.promises)


def _print_forms(console: Console, title: str, found: Mapping[str, Summary]) -> None:
    forms = table("", *(head for head, _ in COLUMNS))
    for form in FORMS:
        values = (write(found[form.name]) for _, write in COLUMNS)
        forms.add_row(form.title, *values, style="green" if form is FORMS[-1] else "")
    print_table(console, title, forms)


def _print_references(console: Console, reproduction: Reproduction) -> None:
    heads = ("", "paper", "re-examination", "virtual time", "bed", "why ours differs")
    rows = table(*heads)
    rows.columns[-1].justify = "left"
    for row in reproduction.references:
        cells = (row.what, row.paper, row.examined, row.virtual_time, row.bed, row.reason)
        rows.add_row(*cells)
    title = "The paper / its re-examination, made independently of this project / ours"
    print_table(console, title, rows)
