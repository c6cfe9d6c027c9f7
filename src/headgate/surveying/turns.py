"""The order of servers: of those that are ready, the one with the most promising page is next.

A server without requests comes before all others. One that did not answer in an earlier survey
comes last, and such servers take at most a quarter of the slots, since they are slow. The value of
a server is looked up when its turn comes, because it falls while it waits.

Costs: O(log servers) for a turn.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence

from headgate.surveying.server_tree import ServerState, ServerTree
from headgate.surveying.yields import PageValues

__all__ = ["Turns"]

_AT_ONCE = -math.inf
_SLOTS_PER_SUSPECT = 4


class Turns:
    """A server is in at most one of the queues, or has a request in flight."""

    def __init__(
        self, trees: Sequence[ServerTree], values: PageValues, least_yield: float, slots: int
    ) -> None:
        self._trees = trees
        self._values = values
        self._least_yield = least_yield
        self._most_suspects = max(slots // _SLOTS_PER_SUSPECT, 1)
        self._ready: list[tuple[float, int]] = []
        self._resting: list[tuple[float, int]] = []
        self._suspects: deque[int] = deque()
        self._tried: set[int] = set()
        """Suspects with a request in flight."""

    @property
    def next_wake(self) -> float | None:
        """When the next server may be contacted again."""
        return self._resting[0][0] if self._resting else None

    @property
    def anyone(self) -> bool:
        """Whether any server is ready, promising or not."""
        return bool(self._ready)

    def suspect(self, tree: ServerTree) -> None:
        """Add a server that did not answer before; it is tried when there is time."""
        self._suspects.append(tree.number)

    def answered(self, tree: ServerTree) -> None:
        """A request to it has ended."""
        self._tried.discard(tree.number)

    def ready(self, tree: ServerTree) -> None:
        heapq.heappush(self._ready, (self._standing(tree), tree.number))

    def rest(self, tree: ServerTree, until: float) -> None:
        heapq.heappush(self._resting, (until, tree.number))

    def wake(self, now: float) -> None:
        while self._resting and self._resting[0][0] <= now:
            self.ready(self._trees[heapq.heappop(self._resting)[1]])

    def take(self) -> ServerTree | None:
        """The next server; None: none is worth a request."""
        return self._most_promising() or self.take_suspect()

    def take_suspect(self) -> ServerTree | None:
        if not self._suspects or len(self._tried) >= self._most_suspects:
            return None
        number = self._suspects.popleft()
        self._tried.add(number)
        return self._trees[number]

    def _most_promising(self) -> ServerTree | None:
        ready = self._ready
        while ready:
            stored, number = ready[0]
            tree = self._trees[number]
            standing = self._standing(tree)
            if standing > stored:
                heapq.heapreplace(ready, (standing, number))
                if ready[0][1] != number:
                    continue
            if -standing < self._least_yield:
                return None
            heapq.heappop(ready)
            return tree
        return None

    def _standing(self, tree: ServerTree) -> float:
        return _AT_ONCE if tree.state is ServerState.WAITING else -tree.queue.best(self._values)
