"""The port of the frontier: an overflow queue for the URLs that do not fit into memory.

It has numbered lanes, each a FIFO queue of chunks. Nothing in it has to survive a crash: after one,
the frontier is rebuilt from the journal (:mod:`headgate.frontier.journal`) with an empty spill.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Protocol

__all__ = ["MemorySpill", "Spill"]


class Spill(Protocol):
    """FIFO queues of chunks. Used by URLtodo alone."""

    def append(self, lane: int, urls: Sequence[str]) -> None:
        """Append a chunk, never empty, to a lane.

        A failure raises a WorldFault and leaves the lane as it was.
        """
        ...

    def take(self, lane: int) -> list[str]:
        """Remove and return the oldest chunk of a lane; called only for lanes that have one."""
        ...


class MemorySpill:
    """A spill in memory, for tests and for sites known to be small."""

    def __init__(self) -> None:
        self.lanes: dict[int, deque[tuple[str, ...]]] = {}

    def append(self, lane: int, urls: Sequence[str]) -> None:
        self.lanes.setdefault(lane, deque()).append(tuple(urls))

    def take(self, lane: int) -> list[str]:
        chunks = self.lanes[lane]
        chunk = chunks.popleft()
        if not chunks:
            del self.lanes[lane]
        return list(chunk)

    def __len__(self) -> int:
        return sum(len(chunk) for chunks in self.lanes.values() for chunk in chunks)
