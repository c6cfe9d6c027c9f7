"""Whose turn it is: which server is asked next, how many at once, and for what."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from headgate.features.survey.strategy.events import Allows, FetchPage, FetchRobots
from headgate.features.survey.strategy.rules import SurveyRules
from headgate.features.survey.strategy.server_tree import ServerState, ServerTree
from headgate.features.survey.strategy.yields import PageValues
from headgate.reading.urls import origin

__all__ = ["Later", "RequestChoice", "ServerSlots", "ServerTurns"]

_AT_ONCE = -math.inf
_SLOTS_PER_SUSPECT = 4


class ServerTurns:
    """The order of servers: of those that are ready, the one with the most promising page is next.

    A server without requests comes before all others. One that did not answer in an earlier survey
    comes last, and such servers take at most a quarter of the slots, since they are slow. The value
    of a server is looked up when its turn comes, because it falls while it waits.

    Costs: O(log servers) for a turn.

    A server is in at most one of the queues, or has a request in flight.
    """

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

    def pop(self) -> ServerTree | None:
        """The next server; None: none is worth a request."""
        return self._most_promising() or self.pop_suspect()

    def pop_suspect(self) -> ServerTree | None:
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


_PATIENCE_SECONDS = 1.0
_REQUESTS_PER_SLOT = 4


class ServerSlots:
    """How many servers are contacted at once.

    A slow server should not block others: after a second its request gives its slot to another. At
    most four times as many requests as slots are in flight.

    Requests in flight, one per server.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._quick: dict[int, float] = {}
        """When each began, the oldest first."""
        self._slow: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._quick) + len(self._slow)

    def free(self, now: float) -> bool:
        """Whether one more request may begin."""
        while (due := self.next_free) is not None and due <= now:
            number = next(iter(self._quick))
            self._slow[number] = self._quick.pop(number)
        return len(self._quick) < self._count and len(self) < _REQUESTS_PER_SLOT * self._count

    @property
    def next_free(self) -> float | None:
        """When a slot will become free, if no request ends before."""
        began = next(iter(self._quick.values()), None)
        return None if began is None else began + _PATIENCE_SECONDS

    def begin(self, server: int, now: float) -> None:
        self._quick[server] = now

    def end(self, server: int) -> float:
        """A request has ended; returns when it began."""
        return self._quick.pop(server) if server in self._quick else self._slow.pop(server)

    def check(self) -> None:
        began = list(self._quick.values())
        assert began == sorted(began)
        assert len(self) <= _REQUESTS_PER_SLOT * self._count
        assert not self._slow.keys() & self._quick.keys()


_ROBOTS_AND_PAGE = 2
"""Least number of requests for a further origin."""
_REFUSALS_AT_A_TIME = 50
"""Forbidden pages of one server that are skipped at a time, so that it does not hold up the
others."""


@dataclass(frozen=True, slots=True)
class Later:
    """Many pages were forbidden, and more are to be checked: other servers go first."""


class RequestChoice:
    """Which request a server gets next: its most promising page, under robots.txt and within its
    caps.

    The load on a server is bounded by ``most_requests`` and ``most_bytes``, including robots.txt
    and redirects. robots.txt is fetched before the first page of an origin.

    Remembers the rules of each origin of a server until that is closed.
    """

    def __init__(self, rules: SurveyRules, values: PageValues) -> None:
        self._rules = rules
        self._values = values
        self._robots: dict[int, dict[str, Allows]] = {}
        """By server and origin."""

    def learned(self, tree: ServerTree, place: str, allows: Allows) -> None:
        """What robots.txt of an origin allows."""
        self._robots.setdefault(tree.number, {})[place] = allows

    def forget(self, tree: ServerTree) -> None:
        """Nothing more is requested of this server."""
        self._robots.pop(tree.number, None)

    def next(self, tree: ServerTree) -> FetchPage | FetchRobots | Later | None:
        """The next request; None: nothing is left that may be requested."""
        refusals = 0
        while tree.waiting and not self.spent(tree):
            if refusals == _REFUSALS_AT_A_TIME:
                return Later()
            asked = tree.pop(self._values)
            if tree.rule.used_up(asked.url):
                continue
            place = origin(asked.url)
            allows = self._robots.get(tree.number, {}).get(place)
            if allows is None:
                if not self.room_for_an_origin(tree):
                    continue
                tree.queue.put_back(asked)
                left = self._rules.most_requests - tree.requests
                return FetchRobots(tree.number, place, left - 1, self._bytes_left(tree))
            if allows(asked.url):
                tree.rule.fetched(asked.url)
                most = min(self._bytes_left(tree), self._rules.most_page_bytes)
                return FetchPage(tree.number, asked, most)
            refusals += 1
        return None

    def spent(self, tree: ServerTree) -> bool:
        """Whether its caps leave no room for another request."""
        return not self._room(tree, 1)

    def room_for_an_origin(self, tree: ServerTree) -> bool:
        """Whether its caps leave room for robots.txt of another origin and a page."""
        return self._room(tree, _ROBOTS_AND_PAGE)

    def _room(self, tree: ServerTree, requests: int) -> bool:
        return (
            tree.requests + requests <= self._rules.most_requests
            and tree.wire_bytes < self._rules.most_bytes
        )

    def _bytes_left(self, tree: ServerTree) -> int:
        return max(self._rules.most_bytes - tree.wire_bytes, 1)
