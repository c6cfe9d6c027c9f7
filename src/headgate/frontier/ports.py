"""What the frontier needs from outside: a place for the URLs that do not fit into memory.

The port knows nothing of order by depth. It keeps lanes, one per depth, and gives the chunks of a
lane back in the order in which they came. Nothing in it has to survive a crash: after one, the
frontier is rebuilt from the journal (:mod:`headgate.frontier.journal`) over an empty spill.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Protocol

__all__ = ["MemorySpill", "Spill"]


class Spill(Protocol):
    """Lanes of chunks, first in, first out. Filled and emptied by URLtodo alone."""

    def append(self, lane: int, urls: Sequence[str]) -> None:
        """Put one chunk, never empty, at the end of a lane.

        A failure raises a WorldFault and leaves the lane as it was.
        """
        ...

    def take(self, lane: int) -> list[str]:
        """Take out the oldest chunk of a lane, whole; asked only for lanes that have one."""
        ...


class MemorySpill:
    """The fake: keeps everything in memory. For tests, and for sites known to be small."""

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
