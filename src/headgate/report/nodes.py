"""The nodes of a run by many machines: how much each did, and the cost of churn."""

from __future__ import annotations

from headgate.model.run_report import GridReport, NodeReport, RunReport
from headgate.model.units import format_size
from headgate.report.html_page import Cell, table
from headgate.report.markup import Markup, element
from headgate.report.phrases import plural
from headgate.report.words import percent

__all__ = ["audits_table", "grid_words", "nodes_table"]

_MOST_NAMED = 5


def grid_words(grid: GridReport | None) -> list[str]:
    """Lines for a terminal; none if one machine did everything."""
    if grid is None:
        return []
    by_share = sorted(grid.nodes, key=lambda node: -node.wire_bytes)
    named = [f"{node.name} {percent(node.share)}" for node in by_share[:_MOST_NAMED]]
    if len(by_share) > len(named):
        named.append(f"and {len(by_share) - len(named):,} more")
    lines = [f"{plural(len(by_share), 'node')}: {', '.join(named)}."] if named else []
    return [*lines, *_churn(grid), *_audits(grid)]


def nodes_table(report: RunReport) -> Markup | None:
    if report.grid is None or not report.grid.nodes:
        return None
    columns = ("node", "group", "tasks", "pages", "bytes", "share", "lost", "doubled", "in vain")
    return table(columns, [_row(node) for node in report.grid.nodes])


def audits_table(report: RunReport) -> Markup | None:
    differing = [] if report.grid is None else [a for a in report.grid.audits if a.differing]
    if not differing:
        return None
    rows = [
        element(
            "tr", element("th", audit.site, scope="row"),
            *(
                element("td", word)
                for word in (
                    audit.first, audit.second, f"{audit.differing:,} of {audit.pages:,}",
                    " ".join(audit.examples),
                )
            ),
        )
        for audit in differing
    ]  # fmt: skip
    return table(("site", "first", "second", "pages that differ", "such as"), rows)


def _churn(grid: GridReport) -> list[str]:
    """Counted in leases: a task may have been lost more than once; whether it was done in the end
    is reported with its site."""
    lost = sum(node.lost for node in grid.nodes)
    overtaken = sum(node.superseded for node in grid.nodes)
    wasted = sum(node.wasted_bytes for node in grid.nodes)
    if not lost + overtaken:
        return []
    useful = sum(node.wire_bytes for node in grid.nodes)
    share = wasted / (wasted + useful) if wasted + useful else 0.0
    ended = f"{plural(lost, 'lease')} ended without a result"
    cost = f"{format_size(wasted)} in vain ({percent(share)})"
    return [f"Churn: {ended}, {overtaken:,} overtaken by another node's; {cost}."]


def _audits(grid: GridReport) -> list[str]:
    if not grid.audits:
        return []
    pages = sum(audit.pages for audit in grid.audits)
    differing = sum(audit.differing for audit in grid.audits)
    return [f"Audits: {differing:,} of {plural(pages, 'page')} differ between two nodes."]


def _row(node: NodeReport) -> Markup:
    cells = (
        Cell(node.group, node.group),
        Cell(f"{node.tasks:,}", node.tasks),
        Cell(f"{node.pages:,}", node.pages),
        Cell(format_size(node.wire_bytes), node.wire_bytes),
        Cell(f"{node.share:.1%}", node.share),
        Cell(f"{node.lost:,}", node.lost),
        Cell(f"{node.superseded:,}", node.superseded),
        Cell(format_size(node.wasted_bytes), node.wasted_bytes),
    )
    head = element("th", node.name, scope="row", data_value=node.name)
    return element("tr", head, *(cell.markup() for cell in cells))
