"""The nodes and tasks of a grid, in words for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.model.grid import NodeListing, TaskListing
from headgate.model.units import format_rate, format_size

__all__ = ["nodes_text", "tasks_text"]


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
