"""URLtodo: accepted URLs that wait for their turn, in numbered lanes.

All URLs of one lane come out before those of the next: in the order in which they went in, or from
all over what of it is in memory, as a sample. A lane is a depth, halved by whether an earlier run
asked for the URL (`DepthLanes`); with a focus, a level of score and a depth (see ``scored_todo``).
At most ``memory`` of them stay in memory (SARSS 2010: 1000), the rest lies in the spill. Filled by
the URL filter, emptied by the bench.

Each lane has three parts, in this order:

    head   in memory, taken from          └ a small site lives in heads alone
    spill  chunks outside, counted here
    tail   in memory, added to

When memory is full, tails go out chunk by chunk, from the last lane up, until half of it is
free: what is needed last leaves first, and each URL leaves at most once. A head follows only if
that was not enough, which takes several lanes interrupted while being read; its URLs then queue
up again at the end of their own lane.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Sequence
from itertools import islice
from math import gcd

import msgspec

from headgate.frontier.ports import Spill

__all__ = ["DepthLanes", "UrlTodo"]


_DEPTHS = 1 << 32
_GOLDEN = 0.618
_FEW = 8
"""So few are taken in their order."""


class DepthLanes(msgspec.Struct, frozen=True):
    """How depth and whether a URL is asked for again make the number of a lane."""

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
        """All of the head but the first ``keep``."""
        if len(self.head) > keep:
            self.tail.extend(islice(self.head, keep, None))
            self.head = deque(islice(self.head, keep))


class UrlTodo:
    """A queue of lanes. Every lane it keeps has a URL in it."""

    def __init__(self, spill: Spill, memory: int = 1000) -> None:
        self._spill = spill
        self._memory = memory
        self._chunk = max(1, memory // 4)
        self._lanes: dict[int, _Lane] = {}
        self._numbers: list[int] = []
        """Of all lanes, in order."""
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
        """Of the URLs that come out next; None when there are none."""
        return self._numbers[0] if self._numbers else None

    def put(self, number: int, urls: Sequence[str]) -> None:
        """Queue URLs up behind all others of their lane."""
        if not urls:
            return
        lane = self._lane(number)
        (lane.tail if lane.spilled else lane.head).extend(urls)
        self._length += len(urls)
        self._held += len(urls)
        self._relieve()

    def put_back(self, number: int, urls: Sequence[str]) -> None:
        """Queue URLs up before all others of their lane."""
        if not urls:
            return
        self._lane(number).head.extendleft(reversed(urls))
        self._length += len(urls)
        self._held += len(urls)
        self._relieve()

    def take(self, most: int) -> list[str]:
        """Up to so many URLs of the first lane there is; at least one unless empty."""
        head = self._first_head()
        return self._took([head.popleft() for _ in range(min(most, len(head)))])

    def take_spread(self, most: int) -> list[str]:
        """The same from all over what the lane has in memory, not from its front: whatever was
        taken so far is a fair sample, so that its sizes and links tell of the others'."""
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
        """Counts agree, memory is bounded, order is kept: no tail without a spill before it."""
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
        chunk = self._spill.take(number)
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
    """So many different places, the first few of them far apart and evenly so.

    >>> _spread(5, 100)
    [0, 63, 26, 89, 52]
    """
    step = 1 if places <= _FEW else round(places * _GOLDEN)
    while gcd(step, places) != 1:
        step += 1
    return [place * step % places for place in range(count)]
