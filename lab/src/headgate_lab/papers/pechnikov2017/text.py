"""``headgate lab pechnikov2017``: the reproduction as tables in a terminal or a pipe."""

from __future__ import annotations

from headgate_lab.papers.pechnikov2017.reproduction import Reproduction
from headgate_lab.papers.pechnikov2017.rivals import BATCH, PULL, RIVALS
from headgate_lab.papers.pechnikov2017.verdicts import REFERENCE
from headgate_lab.papers.text import lab_console, print_claims, print_table, table

__all__ = ["hours", "print_reproduction", "ratio_rows"]


def hours(seconds: float) -> str:
    """
    >>> hours(12601.0)
    '3:30:01'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def ratio_rows(reproduction: Reproduction, *, exact: bool) -> tuple[list[str], list[list[str]]]:
    """Heads and rows; results obtained independently stand in brackets."""
    cells = [cell for cell in reproduction.ratios if cell.exact == exact]
    rows = []
    for way in RIVALS:
        texts = []
        for cell in cells:
            known = REFERENCE.get((cell, way))
            beside = f" [{known[0]:g}]" if known else ""
            texts.append(f"{reproduction.ratios[cell][way].mean:.4f}{beside}")
        rows.append([way, *texts])
    return [cell.name for cell in cells], rows


def print_reproduction(reproduction: Reproduction) -> None:
    console = lab_console()
    rows = table("clients", "run", "paper", "model, mean", "least", "most", words=2)
    for row in reproduction.table:
        times = (hours(seconds) for seconds in (row.paper, row.ours, row.least, row.most))
        rows.add_row(str(row.clients), row.experiment, *times)
    print_table(console, "Table 1 as a model (hours)", rows)
    for exact, words in ((True, "estimates are right"), (False, "estimates err, clients drift")):
        heads, lines = ratio_rows(reproduction, exact=exact)
        rows = table("makespan / bound", *heads)
        for line in lines:
            rows.add_row(*line, style="green" if line[0] in (BATCH, PULL) else "")
        title = f"{reproduction.instances} instances of 99 sites, {words}; [obtained independently]"
        print_table(console, title, rows)
    print_claims(console, "What the paper says", reproduction.claims)
    print_claims(console, "Bounds set before", reproduction.aims)
