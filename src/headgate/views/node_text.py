"""How a node of a grid fares, for a terminal."""

from __future__ import annotations

from headgate.model.node_status import NodeStatus
from headgate.model.units import BytesPerSecond, format_rate, format_size
from headgate.views.markup import printable
from headgate.views.plan_words import plural

__all__ = ["node_line"]


def node_line(status: NodeStatus) -> str:
    """
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
