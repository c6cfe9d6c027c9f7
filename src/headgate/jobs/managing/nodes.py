"""Lists the nodes of a grid with their states and statistics."""

from __future__ import annotations

from headgate.control.board_rows import BoardStore, NodeFigures
from headgate.model.grid import NodeListing

__all__ = ["node_listing"]

_HERE_SECONDS, _SILENT_SECONDS = 150.0, 86_400.0
"""Since a node was last seen; stored once a minute."""


def node_listing(store: BoardStore, wall: float) -> list[NodeListing]:
    figures = store.figures()
    return [
        NodeListing(
            name=name,
            group=row.group,
            state="revoked" if row.revoked else _state(row.seen, wall),
            seen=row.seen or None,
            slots=row.slots,
            speed=row.speed,
            bandwidth=row.bandwidth,
            tasks=(did := figures.get(name, NodeFigures())).open,
            committed=did.committed,
            superseded=did.superseded,
            lost=did.lost,
            pages=did.pages,
            wire_bytes=did.wire_bytes,
        )
        for name, row in store.nodes().items()
    ]


def _state(seen: float, wall: float) -> str:
    if not seen:
        return "invited"
    if wall - seen <= _HERE_SECONDS:
        return "here"
    return "silent" if wall - seen <= _SILENT_SECONDS else "gone"
