"""Table 1 and the makespans as pictures, with the paper's numbers and those of others beside."""

from __future__ import annotations

from headgate.report.charts.bars import MarkKind, MarkRow, mark_rows
from headgate.report.charts.line_chart import Axis
from headgate.report.markup import Markup, element, joined
from headgate_lab.papers.pechnikov2017.instances import Cell
from headgate_lab.papers.pechnikov2017.reproduction import Reproduction
from headgate_lab.papers.pechnikov2017.text import hours
from headgate_lab.papers.pechnikov2017.verdicts import REFERENCE

__all__ = ["ratios_chart", "table_chart"]

_HOUR = 3600.0


def table_chart(reproduction: Reproduction) -> Markup:
    rows = [
        MarkRow(f"{r.clients} clients, {r.experiment}", (r.paper, r.ours), (r.least, r.most))
        for r in reproduction.table
    ]
    most = max(max(r.paper, r.most) for r in reproduction.table)
    across = Axis(0.0, 1.03 * most, "hours; the bar: all draws", hours, steps=(_HOUR, 2 * _HOUR))
    kinds = (MarkKind("paper", "c4", hollow=True), MarkKind("model, mean", "c0"))
    return mark_rows("Table 1: hours of each run", across, kinds, rows)


def ratios_chart(reproduction: Reproduction, *, exact: bool) -> Markup:
    """Three and five clients at α 2.2; where estimates err, at the largest errors."""
    errors = (0.0, 0.0) if exact else (0.6, 0.3)
    return joined(_cell_chart(reproduction, Cell(clients, 2.2, *errors)) for clients in (3, 5))


def _cell_chart(reproduction: Reproduction, cell: Cell) -> Markup:
    rows = []
    for way, ratio in reproduction.ratios[cell].items():
        known = REFERENCE.get((cell, way))
        rows.append(MarkRow(way, (known[0] if known else None, ratio.mean)))
    values = [value for row in rows for value in row.values if value is not None]
    low, high = min(1.0, *values), max(values)
    across = Axis(
        low - 0.03 * (high - low), high + 0.03 * (high - low), "makespan / bound", "{:.4g}".format
    )
    kinds = (MarkKind("obtained independently", "c4", hollow=True), MarkKind("ours", "c0"))
    return joined((element("h4", cell.name), mark_rows(cell.name, across, kinds, rows)))
