"""The state of a grid node, as shown to users."""

from __future__ import annotations

import msgspec

__all__ = ["NodeStatus"]


class NodeStatus(msgspec.Struct, frozen=True, kw_only=True):
    node: str
    state: str
    """``working``, ``idle``, or why it does nothing."""
    tasks: tuple[str, ...] = ()
    """Sites being crawled."""
    to_bring: int = 0
    """Results that the manager does not have yet."""
    committed: int = 0
    """Since the node was started, like all counters below."""
    superseded: int = 0
    given_back: int = 0
    lost: int = 0
    pages: int = 0
    """Of results delivered and tasks in progress."""
    wire_bytes: int = 0
    rate: float = 0.0
    """Bytes per second, lately."""
