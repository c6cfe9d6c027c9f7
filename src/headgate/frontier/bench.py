"""The bench: a queue per origin of the URLs next in turn, which wait until their host is ready.

URLtodo is one queue. If only its first URL could go, one slow host would block all others of the
site; from the bench, the first URL of any ready host goes. It is filled from URLtodo only as needed
and up to a bound. Hosts can still block each other when the bench is full of URLs of one of them,
but then the whole site waits for that host anyway.

Retries wait here until they are due. Redirect targets go to the front: they belong to a fetch that
has begun.

Origins take turns, except those on hold (their robots.txt is being fetched). URLs of a host that
was given up are returned at once, for dispatch to drop.
"""

from __future__ import annotations

import math
from collections import deque
from heapq import heappop, heappush

from headgate.frontier.commands import Fetch
from headgate.frontier.pacing import HostPace, PaceRules
from headgate.frontier.scope import host_of, origin_of

__all__ = ["Bench"]


class Bench:
    """Filled by dispatch from URLtodo, by retries and redirects; emptied by dispatch."""

    def __init__(self, rules: PaceRules) -> None:
        self._rules = rules
        self._queues: dict[str, deque[Fetch]] = {}
        """By origin, in round-robin order. No queue is empty."""
        self._paces: dict[str, HostPace] = {}
        """By origin; origins of the same host share one."""
        self._hosts: dict[str, HostPace] = {}
        self._on_hold: set[str] = set()
        self._later: list[tuple[float, int, Fetch]] = []
        """Heap of retries by due time; the number breaks ties in order of arrival."""
        self._number = 0
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def pace(self, origin: str) -> HostPace:
        """The pace of this origin's host."""
        pace = self._paces.get(origin)
        if pace is None:
            pace = self._hosts.setdefault(host_of(origin), HostPace(self._rules))
            self._paces[origin] = pace
        return pace

    @property
    def seconds_per_request(self) -> float:
        """Least time per request that politeness to all hosts of the site requires; 0: no bound is
        known."""
        least = [pace.seconds_per_request for pace in self._hosts.values() if not pace.given_up]
        return 1.0 / sum(1.0 / seconds for seconds in least) if least and min(least) > 0 else 0.0

    def put(self, fetch: Fetch) -> None:
        self._queue(fetch).append(fetch)
        self._length += 1

    def put_first(self, fetch: Fetch) -> None:
        self._queue(fetch).appendleft(fetch)
        self._length += 1

    def put_later(self, fetch: Fetch, moment: float) -> None:
        self._number += 1
        heappush(self._later, (moment, self._number, fetch))
        self._length += 1

    def give_back(self) -> list[Fetch]:
        """Remove and return all untouched URLs, in order for each origin."""
        given: list[Fetch] = []
        for origin, queue in list(self._queues.items()):
            given += [fetch for fetch in queue if fetch.untouched]
            kept = deque([fetch for fetch in queue if not fetch.untouched])
            if kept:
                self._queues[origin] = kept
            else:
                del self._queues[origin]
        self._length -= len(given)
        return given

    def next(self, now: float) -> Fetch | None:
        """Remove and return the next URL whose host is ready; None if no host is."""
        fetch = self.first(now)
        if fetch is None:
            return None
        origin = origin_of(fetch.url)
        queue = self._queues.pop(origin)
        queue.popleft()
        self._length -= 1
        if queue:
            self._queues[origin] = queue
        return fetch

    def first(self, now: float) -> Fetch | None:
        """Return what `next` would, without removing it."""
        while self._later and self._later[0][0] <= now:
            _, _, fetch = heappop(self._later)
            self._queue(fetch).appendleft(fetch)
        for origin, queue in self._queues.items():
            pace = self.pace(origin)
            if pace.ready(now) and (pace.given_up or origin not in self._on_hold):
                return queue[0]
        return None

    def next_moment(self) -> float:
        """When a URL becomes ready by the passing of time; infinite if it takes an event."""
        moments = [self._later[0][0]] if self._later else []
        for origin in self._queues:
            pace = self.pace(origin)
            if pace.given_up:
                moments.append(-math.inf)
            elif origin not in self._on_hold:
                moments.append(pace.opens)
        return min(moments, default=math.inf)

    def hold(self, origin: str) -> None:
        self._on_hold.add(origin)

    def release(self, origin: str) -> None:
        self._on_hold.discard(origin)

    def check(self) -> None:
        assert all(self._queues.values())
        waiting = sum(len(queue) for queue in self._queues.values())
        assert self._length == waiting + len(self._later)
        for pace in self._hosts.values():
            pace.check()

    def _queue(self, fetch: Fetch) -> deque[Fetch]:
        return self._queues.setdefault(origin_of(fetch.url), deque())
