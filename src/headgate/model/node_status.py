"""How a node of a grid fares, for whoever looks on."""

from __future__ import annotations

import msgspec

__all__ = ["NodeStatus"]


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    state: str
    """``working``, ``idle``, or why nothing is done."""
    tasks: tuple[str, ...] = ()
    """Sites being crawled."""
    to_bring: int = 0
    """Results that the manager does not have yet."""
    committed: int = 0
    """In this life of the node, as all that follow."""
    superseded: int = 0
    given_back: int = 0
    lost: int = 0
    pages: int = 0
    """Of results that were brought and of tasks under way."""
    wire_bytes: int = 0
    rate: float = 0.0
    """Bytes per second, lately."""
