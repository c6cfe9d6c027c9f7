"""What each policy makes of a budget: freshness and age as rows of marks."""

from __future__ import annotations

from collections.abc import Callable

from headgate.report.charts.bars import MarkKind, MarkRow, mark_rows
from headgate.report.charts.line_chart import Axis
from headgate.report.markup import Markup, element, joined
from headgate_lab.papers.freshness.claims import Cell
from headgate_lab.papers.freshness.replay import Outcome
from headgate_lab.papers.freshness.reproduction import Reproduction

__all__ = ["budget_charts"]

_COLOURS = ("c4", "c0", "c2")


def budget_charts(reproduction: Reproduction) -> Markup:
    """Pages alike, one mark for each budget."""
    cells = [cell for cell in reproduction.outcomes if cell.alike]
    return joined(
        (
            element("h4", "Share of copies that are like their pages"),
            _chart(reproduction, cells, "share of copies", lambda found: found.freshness, "{:.3g}"),
            element("h4", "Mean age of copies"),
            _chart(reproduction, cells, "days", lambda found: found.age, "{:.3g}"),
        )
    )


def _chart(
    reproduction: Reproduction,
    cells: list[Cell],
    caption: str,
    value: Callable[[Outcome], float],
    written: str,
) -> Markup:
    kinds = [
        MarkKind(f"a look each {cell.budget_days:g} days", colour)
        for cell, colour in zip(cells, _COLOURS, strict=False)
    ]
    rows = [
        MarkRow(name, [value(reproduction.outcomes[cell][name]) for cell in cells])
        for name in reproduction.outcomes[cells[0]]
    ]
    values = [found for row in rows for found in row.values if found is not None]
    room = 0.04 * (max(values) - min(values))
    across = Axis(min(values) - room, max(values) + room, caption, written.format)
    return mark_rows(caption, across, kinds, rows)
