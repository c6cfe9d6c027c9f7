"""A grid in words for a terminal: its nodes, its tasks, and how one node fares."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.model.grid import NodeListing, NodeStatus, TaskListing
from headgate.model.units import BytesPerSecond, format_rate, format_size
from headgate.report.markup import printable
from headgate.report.phrases import plural

__all__ = ["node_line", "nodes_text", "tasks_text"]


# The nodes and tasks of a grid, in words for a terminal.


def nodes_text(nodes: Sequence[NodeListing]) -> str:
    if not nodes:
        return "no node was invited yet: headgate manager invite NAME"
    rows = [
        (
            node.name, node.group, node.state, str(node.tasks), str(node.committed),
            str(node.lost), str(node.superseded), f"{node.pages:,}", format_size(node.wire_bytes),
            *("" if rate is None else format_rate(rate) for rate in (node.speed, node.bandwidth)),
        )
        for node in nodes
    ]  # fmt: skip
    head = (
        "node", "group", "state", "has", "done", "lost", "doubled", "pages", "bytes", "speed",
        "limit",
    )  # fmt: skip
    return _table([head, *rows], left=3)


def tasks_text(tasks: Sequence[TaskListing]) -> str:
    if not tasks:
        return "no such tasks"
    rows = [
        (
            str(task.id), task.site, task.part, task.state, ", ".join(task.nodes),
            str(task.epoch), str(task.lost),
        )
        for task in tasks
    ]  # fmt: skip
    return _table([("task", "site", "part", "state", "node", "epoch", "lost"), *rows], left=5)


def _table(rows: Sequence[Sequence[str]], left: int) -> str:
    """The first ``left`` columns flush left, the others right; empty columns are left out."""
    columns: list[list[str]] = []
    for number, cells in enumerate(zip(*rows, strict=True)):
        if any(cells[1:]):
            width = max(map(len, cells))
            columns.append([f"{cell:{'<' if number < left else '>'}{width}}" for cell in cells])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def node_line(status: NodeStatus) -> str:
    """How a node of a grid fares, for a terminal.

    >>> node_line(NodeStatus(node="anna", state="working", tasks=("docs",), pages=12, rate=5e5))
    'anna: working; docs; 12 pages, 0 B, now 500 KB/s; 0 results brought'
    """
    parts = [f"{status.node}: {status.state}"]
    if status.tasks:
        more = len(status.tasks) - 3
        parts.append(", ".join(status.tasks[:3]) + (f" and {more} more" if more > 0 else ""))
    got = f"{plural(status.pages, 'page')}, {format_size(status.wire_bytes)}"
    parts.append(f"{got}, now {format_rate(BytesPerSecond(status.rate))}")
    parts.append(f"{plural(status.committed, 'result')} brought")
    if status.to_bring:
        parts.append(f"{status.to_bring:,} to bring")
    if status.lost + status.superseded:
        parts.append(f"{status.lost + status.superseded:,} lost to others")
    if status.given_back:
        parts.append(f"{status.given_back:,} given back")
    return printable("; ".join(parts))
