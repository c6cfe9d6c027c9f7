"""The grid's part of a report: what each node did, and what lost leases cost."""

from __future__ import annotations

from headgate.control.board_rows import BoardStore
from headgate.model.run_report import AuditReport, GridReport, NodeReport

__all__ = ["grid_report"]


def grid_report(store: BoardStore, run: str) -> GridReport:
    nodes, figures = store.nodes(), store.figures(run)
    whole = sum(done.wire_bytes for done in figures.values())
    return GridReport(
        nodes=tuple(
            NodeReport(
                name=name,
                group=nodes[name].group if name in nodes else "",
                tasks=done.committed,
                pages=done.pages,
                wire_bytes=done.wire_bytes,
                share=done.wire_bytes / whole if whole else 0.0,
                lost=done.lost,
                superseded=done.superseded,
                wasted_bytes=done.wasted_bytes,
            )
            for name, done in sorted(figures.items())
        ),
        leases=sum(done.leases for done in figures.values()),
        audits=tuple(
            AuditReport(
                audit.site, audit.first, audit.second, audit.pages, audit.differing, audit.examples
            )
            for audit in store.audits(run)
        ),
    )
