"""URLtodo: accepted URLs in numbered lanes, and the port for those that do not fit into memory."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Sequence
from itertools import islice
from math import gcd
from typing import Protocol

import msgspec

__all__ = ["DepthLanes", "MemorySpill", "Spill", "UrlQueue"]


# URLtodo: a queue of accepted URLs in numbered lanes.
#
# All URLs of a lane come before those of the next: first in, first out, or as a sample of those in
# memory. A lane is a depth, and whether an earlier run fetched the URL (`DepthLanes`); with a
# focus, a level of score and a depth (see ``scored_todo``). At most ``memory`` URLs are in memory
# (SARSS 2010: 1000), the rest is in the spill. Filled by the URL filter, emptied by the bench.
#
# Each lane has three parts, in this order:
#
#     head   in memory, taken from; all there is for a small site
#     spill  chunks outside, counted here
#     tail   in memory, added to
#
# When memory is full, tails are spilled chunk by chunk, beginning with the last lane, until half of
# memory is free: what is needed last goes first, and each URL at most once. Heads are spilled only
# if that was not enough, which happens if several lanes were interrupted while being read; their
# URLs are then queued again at the end of their lane.


_DEPTHS = 1 << 32
_GOLDEN = 0.618
_FEW = 8
"""Up to this many are taken in order."""


class DepthLanes(msgspec.Struct, frozen=True):
    """Encodes depth, and whether a URL is fetched again, as the number of a lane."""

    depth_first: bool

    def lane(self, depth: int, *, again: bool) -> int:
        return 2 * depth + again if self.depth_first else again * _DEPTHS + depth

    def depth(self, lane: int) -> int:
        return lane // 2 if self.depth_first else lane % _DEPTHS


class _Lane(msgspec.Struct):
    head: deque[str] = msgspec.field(default_factory=deque)
    spilled: int = 0
    """URLs in the spill."""
    tail: list[str] = msgspec.field(default_factory=list)

    def __len__(self) -> int:
        return len(self.head) + self.spilled + len(self.tail)

    def move_to_tail(self, keep: int) -> None:
        """Move all of the head but the first ``keep`` URLs."""
        if len(self.head) > keep:
            self.tail.extend(islice(self.head, keep, None))
            self.head = deque(islice(self.head, keep))


class UrlQueue:
    """A queue of lanes, none of which is empty."""

    def __init__(self, spill: Spill, memory: int = 1000) -> None:
        self._spill = spill
        self._memory = memory
        self._chunk = max(1, memory // 4)
        self._lanes: dict[int, _Lane] = {}
        self._numbers: list[int] = []
        """Of all lanes, sorted."""
        self._held = 0
        """URLs in memory."""
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def in_memory(self) -> int:
        return self._held

    @property
    def lane(self) -> int | None:
        """The lane of the URLs that come next; None if empty."""
        return self._numbers[0] if self._numbers else None

    def put(self, number: int, urls: Sequence[str]) -> None:
        """Append URLs to their lane."""
        if not urls:
            return
        lane = self._lane(number)
        (lane.tail if lane.spilled else lane.head).extend(urls)
        self._length += len(urls)
        self._held += len(urls)
        self._relieve()

    def put_back(self, number: int, urls: Sequence[str]) -> None:
        """Put URLs at the front of their lane."""
        if not urls:
            return
        self._lane(number).head.extendleft(reversed(urls))
        self._length += len(urls)
        self._held += len(urls)
        self._relieve()

    def pop(self, most: int) -> list[str]:
        """Take at most this many URLs of the first lane; at least one unless empty."""
        head = self._first_head()
        return self._took([head.popleft() for _ in range(min(most, len(head)))])

    def pop_spread(self, most: int) -> list[str]:
        """The same, but evenly spread over the lane's head, not from its front: what was taken so
        far is then a fair sample, from which sizes and links of the others can be estimated."""
        head = self._first_head()
        places = _spread(min(most, len(head)), len(head))
        taken = [head[place] for place in places]
        rest = list(head)
        for place in sorted(places, reverse=True):
            del rest[place]
        head.clear()
        head.extend(rest)
        return self._took(taken)

    def _first_head(self) -> deque[str]:
        if not self._numbers:
            return deque()
        number = self._numbers[0]
        lane = self._lanes[number]
        if not lane.head:
            self._load(number, lane)
        return lane.head

    def _took(self, taken: list[str]) -> list[str]:
        if not taken:
            return taken
        number = self._numbers[0]
        lane = self._lanes[number]
        self._length -= len(taken)
        self._held -= len(taken)
        if not lane:
            del self._lanes[number], self._numbers[0]
        self._relieve()
        return taken

    def check(self) -> None:
        """Assert that counts agree, memory is bounded, and no tail is without a spill."""
        assert self._numbers == sorted(self._lanes)
        assert self._length == sum(len(lane) for lane in self._lanes.values())
        assert self._held == sum(len(x.head) + len(x.tail) for x in self._lanes.values())
        assert self._held <= self._memory
        assert all(lane.spilled or not lane.tail for lane in self._lanes.values())
        assert all(len(lane) for lane in self._lanes.values())

    def _lane(self, number: int) -> _Lane:
        lane = self._lanes.get(number)
        if lane is None:
            lane = self._lanes[number] = _Lane()
            insort(self._numbers, number)
        return lane

    def _load(self, number: int, lane: _Lane) -> None:
        chunk = self._spill.pop(number)
        lane.head.extend(chunk)
        lane.spilled -= len(chunk)
        self._held += len(chunk)
        if not lane.spilled:
            lane.head.extend(lane.tail)
            lane.tail.clear()

    def _relieve(self) -> None:
        if self._held <= self._memory:
            return
        for number in reversed(self._numbers):
            lane = self._lanes[number]
            if not lane.spilled:
                lane.move_to_tail(keep=self._chunk if number == self.lane else 0)
            self._spill_tail(number, lane)
            if 2 * self._held <= self._memory:
                return
        for number in reversed(self._numbers):
            if self._held <= self._memory:
                return
            self._lanes[number].move_to_tail(keep=0)
            self._spill_tail(number, self._lanes[number])

    def _spill_tail(self, number: int, lane: _Lane) -> None:
        while lane.tail:
            chunk = lane.tail[: self._chunk]
            self._spill.append(number, chunk)
            del lane.tail[: self._chunk]
            lane.spilled += len(chunk)
            self._held -= len(chunk)


def _spread(count: int, places: int) -> list[int]:
    """So many distinct places, the first of them evenly spread.

    >>> _spread(5, 100)
    [0, 63, 26, 89, 52]
    """
    step = 1 if places <= _FEW else round(places * _GOLDEN)
    while gcd(step, places) != 1:
        step += 1
    return [place * step % places for place in range(count)]


# The port of the frontier: an overflow queue for the URLs that do not fit into memory.
#
# It has numbered lanes, each a FIFO queue of chunks. Nothing in it has to survive a crash: after
# one, the frontier is rebuilt from the journal (:mod:`headgate.frontier.events`) with an empty
# spill.


class Spill(Protocol):
    """FIFO queues of chunks. Used by URLtodo alone."""

    def append(self, lane: int, urls: Sequence[str]) -> None:
        """Append a chunk, never empty, to a lane.

        A failure raises a WorldFault and leaves the lane as it was.
        """
        ...

    def pop(self, lane: int) -> list[str]:
        """Remove and return the oldest chunk of a lane; called only for lanes that have one."""
        ...


class MemorySpill:
    """A spill in memory, for tests and for sites known to be small."""

    def __init__(self) -> None:
        self.lanes: dict[int, deque[tuple[str, ...]]] = {}

    def append(self, lane: int, urls: Sequence[str]) -> None:
        self.lanes.setdefault(lane, deque()).append(tuple(urls))

    def pop(self, lane: int) -> list[str]:
        chunks = self.lanes[lane]
        chunk = chunks.popleft()
        if not chunks:
            del self.lanes[lane]
        return list(chunk)

    def __len__(self) -> int:
        return sum(len(chunk) for chunks in self.lanes.values() for chunk in chunks)
