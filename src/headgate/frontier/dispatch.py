"""Dispatch, the scheduler of a frontier: starts fetches as fast as hosts, robots.txt and slots
allow.

It owns every URL that was accepted and has not ended: those in URLtodo, on the bench and in flight,
each in exactly one of the three.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence

import msgspec

from headgate.frontier.events import (
    FINISHED,
    Command,
    Done,
    Fetch,
    LearnRobots,
    Ready,
    RobotsLearned,
    Wait,
)
from headgate.frontier.host_queues import WaitingUrls
from headgate.frontier.politeness import HostPoliteness, PolitenessRules
from headgate.frontier.scope import origin_of
from headgate.frontier.url_filter import SkippedUrls
from headgate.frontier.url_queue import Spill
from headgate.model.run_report import MAX_PAGES, Reason

__all__ = ["Dispatch", "DispatchRules", "Flight"]

_DROPS_AT_A_TIME = 25
"""Most URLs dropped at once, so that a site closed by robots.txt does not block everything else:
hostile rules take milliseconds to check."""


_MOST_ROBOTS_BYTES = 64 << 20
_LEAST_ROBOTS_BYTES = 1_000


def _size(robots: RobotsLearned) -> int:
    return max(robots.held_bytes, _LEAST_ROBOTS_BYTES)


class DispatchRules(msgspec.Struct, frozen=True):
    """How fetches are started."""

    slots: int = 6
    """Fetches under way at once, over all hosts."""
    memory: int = 1000
    """Most URLs in memory, to do and on the bench."""
    robots: bool = True
    """Fetch robots.txt of an origin before anything else of it."""
    scored: bool = False
    """There is a focus: URLs are fetched in the order of their scores."""
    pace: PolitenessRules = msgspec.field(default_factory=PolitenessRules)
    in_turns: bool = False
    """Fetches wait for turns: Ready says what could go, and each Turn starts one."""


class Flight(msgspec.Struct, frozen=True):
    """A fetch under way."""

    fetch: Fetch
    pace: HostPoliteness
    started: float


class Dispatch:
    """URLs that were accepted and have not ended."""

    def __init__(
        self,
        spill: Spill,
        rules: DispatchRules,
        *,
        strict_levels: bool,
        asked_before: Callable[[str], bool],
    ) -> None:
        self.waiting = WaitingUrls(
            spill,
            rules.memory,
            rules.pace,
            asked_before,
            scored=rules.scored,
            strict_levels=strict_levels,
        )
        self._host_queues = self.waiting.bench
        self._in_turns = rules.in_turns
        self._slots = 0 if rules.in_turns else rules.slots
        self._stopping = ""
        """Why no more fetches are started; empty while they are."""
        self.dropped = SkippedUrls()
        """URLs that ended without a fetch."""
        self.sitemaps = 0
        """Sitemaps on the bench and in flight."""
        self._flights: dict[str, Flight] = {}
        self._robots: OrderedDict[str, RobotsLearned] = OrderedDict()
        """By origin, the least recently used first."""
        self._robots_bytes = 0
        self._robots_first = rules.robots

    def __len__(self) -> int:
        return len(self.waiting) + len(self._flights)

    @property
    def in_flight(self) -> int:
        return len(self._flights)

    @property
    def sitemaps_waiting(self) -> int:
        return self.sitemaps - sum(flight.fetch.sitemap > 0 for flight in self._flights.values())

    def allow(self, slots: int) -> None:
        """So many fetches may be in flight from now on."""
        self._slots = slots

    def allow_one(self) -> None:
        """One more fetch may start now."""
        self._slots = len(self._flights) + 1

    def stop(self, reason: str) -> None:
        """Start no more fetches."""
        self._stopping = reason

    def land(self, url: str) -> Flight:
        """Remove a fetch that has ended; the caller tells its pace how."""
        flight = self._flights.pop(url, None)
        if flight is None:
            raise ValueError(f"{url} is not in flight")
        self.sitemaps -= flight.fetch.sitemap > 0
        return flight

    def again(self, fetch: Fetch, moment: float | None = None) -> None:
        """Queue a retry for a later time; without one, a redirect's target, which goes next."""
        self.sitemaps += fetch.sitemap > 0
        if moment is None:
            self._host_queues.put_first(fetch)
        else:
            self._host_queues.put_later(fetch, moment)

    def look_into(self, sitemaps: Sequence[str], named: int) -> None:
        """Queue sitemaps among the pages of their origins."""
        for url in sitemaps:
            self._host_queues.put(Fetch(url, 0, sitemap=named))
        self.sitemaps += len(sitemaps)

    def learn(self, event: RobotsLearned) -> None:
        self._keep_robots(event)
        self._host_queues.release(event.origin)
        pace = self._host_queues.pace(event.origin)
        if event.public:
            pace.found_public()
        if event.crawl_delay is not None:
            pace.crawl_delay(event.crawl_delay)

    def commands(self, now: float, pages_left: int | None) -> list[Command]:
        """All that can start now, and then Ready, Wait or Done.

        ``pages_left`` bounds the fetches in flight, as each may turn out to be a page; None: no
        bound."""
        commands: list[Command] = []
        drops = 0
        slots = self._slots
        if pages_left is not None:
            slots = min(slots, pages_left)
            if pages_left <= 0 and len(self) > 0:
                self._stopping = self._stopping or MAX_PAGES
        while len(self._flights) < slots and drops < _DROPS_AT_A_TIME and not self._stopping:
            fetch = self._host_queues.next(now)
            if fetch is not None:
                command = self._launch(fetch, now)
                if command is None:
                    drops += 1
                else:
                    commands.append(command)
            elif not self.waiting.refill(self._slots, in_flight=bool(self._flights)):
                break
        if self._in_turns and not self._stopping:
            self._slots = 0
            ready = self._ready(now, commands, pages_left)
            if ready is not None:
                return [*commands, ready]
        outlook = self._outlook(now, pages_left)
        if outlook is not None:
            commands.append(outlook)
        return commands

    def check(self) -> None:
        self.waiting.check()
        assert all(url == flight.fetch.url for url, flight in self._flights.items())
        by_host = Counter(id(flight.pace) for flight in self._flights.values())
        for flight in self._flights.values():
            assert flight.pace.in_flight == by_host[id(flight.pace)]

    def _keep_robots(self, event: RobotsLearned) -> None:
        """Of very many origins, or with large files, the least recently used is learned again."""
        before = self._robots.pop(event.origin, None)
        self._robots[event.origin] = event
        self._robots_bytes += _size(event) - (0 if before is None else _size(before))
        while self._robots_bytes > _MOST_ROBOTS_BYTES and len(self._robots) > 1:
            self._robots_bytes -= _size(self._robots.popitem(last=False)[1])

    def _ready(self, now: float, commands: list[Command], pages_left: int | None) -> Ready | None:
        """What could be fetched next. URLs before it that must be dropped, or need robots.txt
        first, are handled."""
        if pages_left is not None and len(self._flights) >= pages_left:
            return None
        for _ in range(_DROPS_AT_A_TIME):
            fetch = self._host_queues.first(now)
            while fetch is None and self.waiting.refill(1, in_flight=bool(self._flights)):
                fetch = self._host_queues.first(now)
            if fetch is None:
                return None
            if self._obstacle(fetch) is None:
                return Ready(fetch.url, fetch.level)
            self._host_queues.next(now)
            command = self._launch(fetch, now)
            commands += [] if command is None else [command]
        return None

    def _obstacle(self, fetch: Fetch) -> Reason | LearnRobots | None:
        """Why it must be dropped, or what must come first; None: it may be fetched."""
        origin = origin_of(fetch.url)
        if self._host_queues.pace(origin).given_up:
            return Reason.HOST_GIVEN_UP
        robots = self._robots.get(origin)
        if robots is None:
            return LearnRobots(origin) if self._robots_first else None
        self._robots.move_to_end(origin)
        if robots.allows(fetch.url):
            return None
        return Reason.HOST_GIVEN_UP if robots.unreachable else Reason.ROBOTS

    def _launch(self, fetch: Fetch, now: float) -> Command | None:
        obstacle = self._obstacle(fetch)
        if isinstance(obstacle, Reason):
            self._drop(fetch, obstacle)
            return None
        if obstacle is not None:
            self._host_queues.put_first(fetch)
            self._host_queues.hold(obstacle.origin)
            return obstacle
        pace = self._host_queues.pace(origin_of(fetch.url))
        pace.started(now)
        self._flights[fetch.url] = Flight(fetch, pace, now)
        return fetch

    def _drop(self, fetch: Fetch, reason: Reason) -> None:
        if fetch.sitemap:
            self.sitemaps -= 1
        else:
            self.dropped.record(reason, [fetch.url])

    def _outlook(self, now: float, pages_left: int | None) -> Done | Wait | None:
        if self._stopping:
            return None if self._flights else Done(self._stopping)
        if len(self) == 0:
            return Done(FINISHED)
        slots = len(self._flights) + 1 if self._in_turns else self._slots
        if len(self._flights) >= min(slots, pages_left or slots):
            return None
        moment = self._host_queues.next_moment()
        return None if moment == math.inf else Wait(max(moment, now))
