"""URLs that were accepted and not started: in URLtodo, or in the queue of their host."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from headgate.frontier.events import Fetch, JournalEntry, UrlOutcome
from headgate.frontier.politeness import HostPoliteness, PolitenessRules
from headgate.frontier.priority_queue import NEUTRAL, Placed, ScoredQueue, Scores, level_of
from headgate.frontier.scope import host_of, origin_of
from headgate.frontier.url_queue import DepthLanes, Spill, UrlQueue

__all__ = ["BY_DEPTH", "WaitingUrls"]

BY_DEPTH = Placed()
"""Without a focus, depth alone decides."""

_REFILL = 50


class WaitingUrls:
    """URLs that were accepted and not started: each is in URLtodo or on the bench.

    Order by depth. Without a maximum depth, URLs of the next depth may start while some of this
    depth are still in flight. With one, they may not: the depth at which a URL is first found
    decides whether its links are followed, so a page that comes late (a retry, a slow host) could
    otherwise change which pages are crawled. Depths then follow each other strictly, and the pages
    crawled depend on the site alone, not on timing.

    What an earlier run fetched comes after what none did: within a depth if there is a maximum,
    over all depths if not. So the archive of a site that is too large for its deadline grows from
    run to run, even if its server never answers "not modified". Seeds come first all the same.

    With a focus, URLtodo is ordered by score (``scored_todo``), and only few URLs are on the bench,
    as they can no longer be overtaken. When a page has links better than those on the bench, all
    untouched URLs go back into the queue.

    At most ``memory`` URLs are in memory. Dispatch takes from the bench directly.
    """

    def __init__(
        self,
        spill: Spill,
        memory: int,
        pace: PolitenessRules,
        asked_before: Callable[[str], bool],
        *,
        scored: bool,
        strict_levels: bool,
    ) -> None:
        in_todo = memory - memory // 4
        self._scored = ScoredQueue(spill, in_todo, depth_first=strict_levels) if scored else None
        self._by_depth = UrlQueue(spill, in_todo)
        """Empty with a focus."""
        self._lanes = DepthLanes(strict_levels)
        self._asked_before = asked_before
        self.bench = HostQueues(pace)
        self._bench_bound = max(1, memory // 4)
        self._least_room = 1 if scored else max(1, min(_REFILL, self._bench_bound // 4))
        """The bench is refilled if it has this much room: taking one URL costs as much as many."""
        self._strict_levels = strict_levels
        self._level = 0
        """Depth of the URLs last taken out of URLtodo."""
        self._worst_benched = -1
        """With a focus: no untouched URL on the bench is from a later lane than this."""

    @property
    def todo(self) -> UrlQueue | ScoredQueue:
        return self._by_depth if self._scored is None else self._scored

    def __len__(self) -> int:
        return len(self.todo) + len(self.bench)

    def accept(
        self, found: Sequence[str], depth: int, scores: Scores | None, *, first: bool = False
    ) -> Placed:
        """Queue new URLs; with a focus, known ones among the scored may move up.

        ``first``: as if no earlier run had fetched them."""
        asked = frozenset() if first else self._asked(found)
        if self._scored is None:
            self._put(depth, found, asked)
            return BY_DEPTH
        placed = self._scored.accept(depth, found, scores, asked)
        self._reconsider(self._scored)
        return placed

    def recall(self, found: Sequence[str], entry: JournalEntry) -> None:
        """Queue what is left of an entry's URLs, as when it was recorded."""
        if self._scored is None:
            first = entry.outcome is UrlOutcome.FOUND and entry.depth == 0  # seeds
            self._put(entry.depth, found, frozenset() if first else self._asked(found))
            return
        levels = dict(zip(entry.found, entry.levels, strict=False))
        neutral = level_of(NEUTRAL)
        self._scored.put(entry.depth, found, [levels.get(url, neutral) for url in found])
        self._scored.move_up(zip(entry.raised, entry.raised_levels, strict=True))

    def redirect_levels(self, fetch: Fetch) -> bytes:
        """The target of a redirect has the level of its source."""
        return b"" if self._scored is None else bytes([fetch.level])

    def refill(self, slots: int, *, in_flight: bool) -> bool:
        """Move URLs from URLtodo to the bench; False if none may. ``in_flight``: fetches are, at
        most ``slots`` of them."""
        lane, room = self.todo.lane, self._bench_bound - len(self.bench)
        if lane is None or room < self._least_room:
            return False
        scored = self._scored
        depth = self._lanes.depth(lane) if scored is None else scored.lanes.depth(lane)
        if self._strict_levels and depth > self._level and (in_flight or self.bench):
            return False
        self._level = depth
        if scored is None:
            for url in self._by_depth.pop_spread(min(room, _REFILL)):
                self.bench.put(Fetch(url, depth))
        else:
            self._worst_benched = max(self._worst_benched, lane)
            level = scored.lanes.level(lane)
            for url in scored.pop(min(room, max(slots, 1))):
                self.bench.put(Fetch(url, depth, level=level))
        return True

    def check(self) -> None:
        self.todo.check()
        self.bench.check()

    def _asked(self, urls: Sequence[str]) -> frozenset[str]:
        return frozenset(filter(self._asked_before, urls))

    def _put(self, depth: int, urls: Sequence[str], asked: frozenset[str]) -> None:
        if asked:
            self._by_depth.put(
                self._lanes.lane(depth, again=True), [url for url in urls if url in asked]
            )
            urls = [url for url in urls if url not in asked]
        self._by_depth.put(self._lanes.lane(depth, again=False), urls)

    def _reconsider(self, scored: ScoredQueue) -> None:
        """Return untouched URLs of the bench to the queue if it has better ones now."""
        if scored.lane is None or scored.lane >= self._worst_benched:
            return
        self._worst_benched = -1
        by_lane: dict[int, list[str]] = {}
        for fetch in self.bench.give_back():
            by_lane.setdefault(scored.lanes.lane(fetch.depth, fetch.level), []).append(fetch.url)
        for lane, urls in by_lane.items():
            scored.put_back(lane, urls)


class HostQueues:
    """The bench: a queue per origin of the URLs next in turn, which wait until their host is ready.

    URLtodo is one queue. If only its first URL could go, one slow host would block all others of
    the site; from the bench, the first URL of any ready host goes. It is filled from URLtodo only
    as needed and up to a bound. Hosts can still block each other when the bench is full of URLs of
    one of them, but then the whole site waits for that host anyway.

    Retries wait here until they are due. Redirect targets go to the front: they belong to a fetch
    that has begun.

    Origins take turns, except those on hold (their robots.txt is being fetched). URLs of a host
    that was given up are returned at once, for dispatch to drop.

    Filled by dispatch from URLtodo, by retries and redirects; emptied by dispatch.
    """

    def __init__(self, rules: PolitenessRules) -> None:
        self._rules = rules
        self._queues: dict[str, deque[Fetch]] = {}
        """By origin, in round-robin order. No queue is empty."""
        self._paces: dict[str, HostPoliteness] = {}
        """By origin; origins of the same host share one."""
        self._hosts: dict[str, HostPoliteness] = {}
        self._on_hold: set[str] = set()
        self._later: list[tuple[float, int, Fetch]] = []
        """Heap of retries by due time; the number breaks ties in order of arrival."""
        self._number = 0
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def pace(self, origin: str) -> HostPoliteness:
        """The pace of this origin's host."""
        pace = self._paces.get(origin)
        if pace is None:
            pace = self._hosts.setdefault(host_of(origin), HostPoliteness(self._rules))
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
