"""The six sites by all policies, with results obtained independently in the same picture."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.report.charts.bars import MarkKind, MarkRow, mark_rows
from headgate.report.charts.line_chart import Axis
from headgate.report.markup import Markup
from headgate_lab.papers.zhu2020.reproduction import Reproduction

__all__ = ["six_sites_charts"]

_KINDS = (MarkKind("obtained independently", "c4", hollow=True), MarkKind("ours", "c0"))


def six_sites_charts(reproduction: Reproduction) -> Iterator[Markup]:
    """Those for which both numbers are there."""
    for instance, figure, caption in (
        ("six sites, 950", "makespan", "latest end, s"),
        ("six sites, 950", "total_time", "sum of times, s"),
        ("six sites, 1300", "lateness", "total lateness, s"),
    ):
        rows = [
            MarkRow(found.policy, found.figures[figure])
            for found in reproduction.references
            if found.instance == instance and figure in found.figures
        ]
        if rows:
            most = max(value for row in rows for value in row.values if value is not None)
            yield mark_rows(
                f"{instance}: {caption}", Axis(0.0, 1.05 * most, caption, _short), _KINDS, rows
            )


def _short(value: float) -> str:
    """
    >>> _short(183.64), _short(200.0)
    ('183.6', '200')
    """
    return f"{value:,.1f}".removesuffix(".0")
