"""Dispatch: from to do to in flight, as fast as hosts, robots rules and slots let it.

It owns every URL that was accepted and has not come to its end: those in URLtodo, on the bench and
in flight, each in exactly one of the three.

Depth and order. Without a maximum depth, URLs of the next depth may start while some of this depth
are still under way. With one, they may not: the depth at which a URL is first met decides whether
its links are followed, so a page that comes late (a retry, a slow host) could otherwise change
which pages are crawled. Levels then follow each other strictly, and the pages crawled depend on
the site alone, not on timing.

What an earlier run asked for comes after what none did: of the same depth where there is a maximum,
of any depth where there is none. So a site that is too large for its deadline grows from run to
run, also where its server cannot tell "not modified". Seeds come first all the same.

With a focus, URLtodo goes by score (``scored_todo``), and the bench is filled sparingly: a URL on
it has had its turn. When a page brings something better than what lies there, all that was not
begun goes back into the queue.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headgate.frontier.bench import Bench
from headgate.frontier.commands import FINISHED, Command, Done, Fetch, LearnRobots, Wait
from headgate.frontier.events import RobotsLearned
from headgate.frontier.journal import JournalEntry, Outcome
from headgate.frontier.omissions import Omissions
from headgate.frontier.pacing import HostPace, PaceRules
from headgate.frontier.ports import Spill
from headgate.frontier.scope import origin_of
from headgate.frontier.scored_todo import NEUTRAL, Placed, ScoredTodo, Scores, level_of
from headgate.frontier.todo import DepthLanes, UrlTodo
from headgate.model.left_out import Reason
from headgate.model.run_report import MAX_PAGES

__all__ = ["BY_DEPTH", "Dispatch", "DispatchRules", "Flight"]

BY_DEPTH = Placed()
"""Without a focus a URL's depth is its place."""

_DROPS_AT_A_TIME = 25
"""URLs dropped in one go at the most, lest a site closed by robots.txt hold up everything else:
rules made to be dear take milliseconds to ask."""
_REFILL = 50


@dataclass(frozen=True, slots=True)
class DispatchRules:
    """How URLs go out."""

    slots: int = 6
    """Fetches under way at once, over all hosts."""
    memory: int = 1000
    """URLs in memory at the most, to do and on the bench."""
    robots: bool = True
    """Learn robots.txt of an origin before its first fetch."""
    scored: bool = False
    """There is a focus: URLs come with scores and go by them."""
    pace: PaceRules = field(default_factory=PaceRules)


@dataclass(frozen=True, slots=True)
class Flight:
    """A fetch under way."""

    fetch: Fetch
    pace: HostPace
    started: float


class Dispatch:
    """URLs that are accepted and not settled."""

    def __init__(
        self,
        spill: Spill,
        rules: DispatchRules,
        *,
        strict_levels: bool,
        asked_before: Callable[[str], bool],
    ) -> None:
        memory = rules.memory - rules.memory // 4
        self._scored = (
            ScoredTodo(spill, memory, depth_first=strict_levels) if rules.scored else None
        )
        self._by_depth = UrlTodo(spill, memory)
        """Empty with a focus."""
        self._lanes = DepthLanes(strict_levels)
        self._asked_before = asked_before
        self.slots = rules.slots
        self.pages_left: int | None = None
        """No more fetches are begun at once: each may turn out to be a page. None: no bound."""
        self.stopping = ""
        """Why no more fetches begin; empty: they do."""
        self.dropped = Omissions()
        """URLs that ended without a fetch."""
        self.sitemaps = 0
        """Sitemaps on the bench and in flight."""
        self._bench = Bench(rules.pace)
        self._bench_bound = max(1, rules.memory // 4)
        self._flights: dict[str, Flight] = {}
        self._robots: dict[str, Callable[[str], bool]] = {}
        self._unreachable: set[str] = set()
        """Origins without robots rules, of which nothing is asked."""
        self._robots_first = rules.robots
        self._strict_levels = strict_levels
        self._level = 0
        """Depth of the URLs last taken out of URLtodo."""
        self._worst_benched = -1
        """Lane: with a focus, nothing on the bench that was not begun came from a later one."""

    @property
    def todo(self) -> UrlTodo | ScoredTodo:
        return self._by_depth if self._scored is None else self._scored

    def __len__(self) -> int:
        return len(self.todo) + len(self._bench) + len(self._flights)

    @property
    def in_flight(self) -> int:
        return len(self._flights)

    @property
    def seconds_per_request(self) -> float:
        return self._bench.seconds_per_request

    @property
    def sitemaps_waiting(self) -> int:
        return self.sitemaps - sum(flight.fetch.sitemap > 0 for flight in self._flights.values())

    def accept(
        self, found: Sequence[str], depth: int, scores: Scores | None, *, first: bool = False
    ) -> Placed:
        """Queue up new URLs; with a focus, known ones among the scored may move up.

        ``first``: as if none had been asked for by an earlier run."""
        asked = frozenset() if first else self._asked(found)
        if self._scored is None:
            self._put(depth, found, asked)
            return BY_DEPTH
        placed = self._scored.accept(depth, found, scores, asked)
        self._reconsider(self._scored)
        return placed

    def recall(self, found: Sequence[str], entry: JournalEntry) -> None:
        """Queue up what is left of an entry's URLs, as they were when it was recorded."""
        if self._scored is None:
            first = entry.outcome is Outcome.FOUND and entry.depth == 0  # seeds
            self._put(entry.depth, found, frozenset() if first else self._asked(found))
            return
        levels = dict(zip(entry.found, entry.levels, strict=False))
        neutral = level_of(NEUTRAL)
        self._scored.put(entry.depth, found, [levels.get(url, neutral) for url in found])
        self._scored.move_up(zip(entry.raised, entry.raised_levels, strict=True))

    def land(self, url: str) -> Flight:
        """A fetch came to its end; its pace has still to be told how."""
        flight = self._flights.pop(url, None)
        if flight is None:
            raise ValueError(f"{url} is not in flight")
        return flight

    def retry(self, fetch: Fetch, moment: float) -> None:
        self._bench.put_later(fetch, moment)

    def redirect_levels(self, fetch: Fetch) -> bytes:
        """A redirect's target inherits the place of its source."""
        return b"" if self._scored is None else bytes([fetch.level])

    def follow(self, fetch: Fetch) -> None:
        """A redirect's target goes next."""
        self._bench.put_first(fetch)

    def look_into(self, sitemaps: Sequence[str], named: int) -> None:
        """Sitemaps take their turn among the pages of their origins."""
        for url in sitemaps:
            self._bench.put(Fetch(url, 0, sitemap=named))
        self.sitemaps += len(sitemaps)

    def learn(self, event: RobotsLearned) -> None:
        self._robots[event.origin] = event.allows
        if event.unreachable:
            self._unreachable.add(event.origin)
        self._bench.release(event.origin)
        pace = self._bench.pace(event.origin)
        if event.public:
            pace.found_public()
        if event.crawl_delay is not None:
            pace.crawl_delay(event.crawl_delay)

    def commands(self, now: float) -> list[Command]:
        """All that can start now, and what comes after."""
        commands: list[Command] = []
        drops = 0
        slots = self.slots
        if self.pages_left is not None:
            slots = min(slots, self.pages_left)
            if self.pages_left <= 0 and len(self) > 0:
                self.stopping = self.stopping or MAX_PAGES
        while len(self._flights) < slots and drops < _DROPS_AT_A_TIME and not self.stopping:
            fetch = self._bench.next(now)
            if fetch is not None:
                command = self._launch(fetch, now)
                if command is None:
                    drops += 1
                else:
                    commands.append(command)
            elif not self._refill():
                break
        outlook = self._outlook(now)
        if outlook is not None:
            commands.append(outlook)
        return commands

    def check(self) -> None:
        self.todo.check()
        self._bench.check()
        assert all(url == flight.fetch.url for url, flight in self._flights.items())
        by_host = Counter(id(flight.pace) for flight in self._flights.values())
        for flight in self._flights.values():
            assert flight.pace.in_flight == by_host[id(flight.pace)]

    def _asked(self, urls: Sequence[str]) -> frozenset[str]:
        return frozenset(filter(self._asked_before, urls))

    def _put(self, depth: int, urls: Sequence[str], asked: frozenset[str]) -> None:
        if asked:
            self._by_depth.put(
                self._lanes.lane(depth, again=True), [url for url in urls if url in asked]
            )
            urls = [url for url in urls if url not in asked]
        self._by_depth.put(self._lanes.lane(depth, again=False), urls)

    def _launch(self, fetch: Fetch, now: float) -> Command | None:
        origin = origin_of(fetch.url)
        pace = self._bench.pace(origin)
        allows = self._robots.get(origin)
        if pace.given_up:
            self._drop(fetch, Reason.HOST_GIVEN_UP)
            return None
        if allows is None and self._robots_first:
            self._bench.put_first(fetch)
            self._bench.hold(origin)
            return LearnRobots(origin)
        if allows is not None and not allows(fetch.url):
            lost = origin in self._unreachable
            self._drop(fetch, Reason.HOST_GIVEN_UP if lost else Reason.ROBOTS)
            return None
        pace.started(now)
        self._flights[fetch.url] = Flight(fetch, pace, now)
        return fetch

    def _drop(self, fetch: Fetch, reason: Reason) -> None:
        if fetch.sitemap:
            self.sitemaps -= 1
        else:
            self.dropped.note(reason, [fetch.url])

    def _refill(self) -> bool:
        """Bring URLs from URLtodo to the bench; False when none may come."""
        lane, room = self.todo.lane, self._bench_bound - len(self._bench)
        if lane is None or room <= 0:
            return False
        scored = self._scored
        depth = self._lanes.depth(lane) if scored is None else scored.lanes.depth(lane)
        if self._strict_levels and depth > self._level and (self._flights or self._bench):
            return False
        self._level = depth
        if scored is None:
            for url in self._by_depth.take_spread(min(room, _REFILL)):
                self._bench.put(Fetch(url, depth))
        else:
            self._worst_benched = max(self._worst_benched, lane)
            level = scored.lanes.level(lane)
            for url in scored.take(min(room, max(self.slots, 1))):
                self._bench.put(Fetch(url, depth, level=level))
        return True

    def _reconsider(self, scored: ScoredTodo) -> None:
        """Give back what the bench holds if the queue has better now."""
        if scored.lane is None or scored.lane >= self._worst_benched:
            return
        self._worst_benched = -1
        by_lane: dict[int, list[str]] = {}
        for fetch in self._bench.give_back():
            by_lane.setdefault(scored.lanes.lane(fetch.depth, fetch.level), []).append(fetch.url)
        for lane, urls in by_lane.items():
            scored.put_back(lane, urls)

    def _outlook(self, now: float) -> Done | Wait | None:
        if self.stopping:
            return None if self._flights else Done(self.stopping)
        if len(self) == 0:
            return Done(FINISHED)
        if len(self._flights) >= min(self.slots, self.pages_left or self.slots):
            return None
        moment = self._bench.next_moment()
        return None if moment == math.inf else Wait(max(moment, now))
