"""Simulates a line that a crawler shares with a user, to test `bandwidth.make_way`.

One drop-tail queue in front of a line whose rate may change. What the crawler was granted comes in
lumps, a round trip later. The user may have a bulk flow (CUBIC's window, RFC 9438, after slow
start) and asks for a small page five times a second, each on a fresh connection. Probes come back
after distance plus queue and are lost when the queue is full. Time is the world's own, and chance
comes from outside.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from headgate.bandwidth.make_way import DelayController

__all__ = ["Outcome", "SharedLine", "Times"]

STEP_SECONDS = 0.002
_SEGMENT = 1514.0
_FLIGHT = 10 * _SEGMENT
"""What a server sends at once on a fresh connection."""
_LARGEST_LUMP = 10_000.0
_SMALL_BYTES = 11_000.0
_SMALL_EVERY_SECONDS = 0.2
_SENT_AGAIN_SECONDS = 0.25
_CONTROL_SECONDS = 0.05
_USER_ROUND_TRIP = 0.02
_PROBED = {"a": 0.02, "b": 0.04, "c": 0.08, "d": 0.12}
"""Servers and the round trips to them."""

Times = Callable[[float], bool]
"""Whether the user does something at a time."""


@dataclass(slots=True)
class Outcome:
    """The results of an interval."""

    crawled_bytes: float = 0.0
    bulk_bytes: float = 0.0
    line_bytes: float = 0.0
    """What the line could have carried."""
    small_seconds: list[float] = field(default_factory=list)
    """How long each small page took."""

    @property
    def use(self) -> float:
        """The crawler's part of the line."""
        return self.crawled_bytes / self.line_bytes

    def small_p95(self) -> float:
        return float(np.quantile(self.small_seconds, 0.95))


class _Bulk:
    """One download: ``window`` bytes may be under way."""

    def __init__(self) -> None:
        self.window = _FLIGHT
        self.under_way = 0.0
        self._slow_start = True
        self._most = 0.0
        self._lost_at = -math.inf

    def acknowledge(self, amount: float, now: float) -> None:
        self.under_way -= amount
        if self._slow_start:
            self.window += amount
            return
        turning = (self._most * 0.3 / 0.4 / _SEGMENT) ** (1 / 3)
        cubic = self._most + 0.4 * _SEGMENT * (now - self._lost_at - turning) ** 3
        self.window = max(self.window, min(cubic, self.window + 0.5 * amount))

    def lose(self, amount: float, now: float, round_trip: float) -> None:
        self.under_way -= amount
        if now - self._lost_at < round_trip:
            return
        self._slow_start = False
        self._most, self._lost_at = self.window, now
        self.window = max(self.window * 0.7, 2 * _SEGMENT)


class SharedLine:
    """Runs in steps of two milliseconds."""

    def __init__(
        self,
        rate: Callable[[float], float],
        yielding: DelayController | None,
        chance: np.random.Generator,
        *,
        queue_bytes: float = 225_000.0,
        bulk: Times = lambda _: False,
        small: Times = lambda _: False,
        wanted: float = math.inf,
    ) -> None:
        self.now = 0.0
        self.outcome = Outcome()
        self.grant = 0.0
        """The crawler's rate, if nobody is asked for it."""
        self.trips = dict(_PROBED)
        self.probes_answered = True
        self.waiting = 0.0
        """Bytes in the queue."""
        self._rate, self._yielding, self._chance = rate, yielding, chance
        self._queue_bytes, self._bulk_times, self._small_times = queue_bytes, bulk, small
        self._wanted = wanted
        self._queue: deque[tuple[str, float, float]] = deque()
        """(whose, bytes, when it was asked for)."""
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._bulk: _Bulk | None = None
        self._tokens = 0.0
        self._crawled: deque[tuple[float, float]] = deque()
        self._next_control = self._next_small = self._next_probe = 0.0

    def run(self, until: float) -> Outcome:
        """Simulate until then; returns the results since the last call."""
        self.outcome = Outcome()
        while self.now < until:
            self._step()
        return self.outcome

    @property
    def queueing(self) -> float:
        return self.waiting / self._rate(self.now)

    def _step(self) -> None:
        self.now += STEP_SECONDS
        while self._events and self._events[0][0] <= self.now:
            heapq.heappop(self._events)[2]()
        self._user()
        self._crawl()
        if self.now >= self._next_probe:
            self._next_probe += 0.2 / len(self.trips)
            self._probe()
        if self.now >= self._next_control and self._yielding is not None:
            self._next_control += _CONTROL_SECONDS
            came = sum(amount for at, amount in self._crawled if at > self.now - 0.5) / 0.5
            self.grant = self._yielding.step(self.now, came)
        self._serve(self._rate(self.now) * STEP_SECONDS)

    def _user(self) -> None:
        if self._bulk_times(self.now):
            bulk = self._bulk = self._bulk or _Bulk()
            fresh = bulk.window - bulk.under_way
            if fresh >= _SEGMENT:
                bulk.under_way += fresh
                self._arrive("bulk", fresh, self.now)
        else:
            self._bulk = None
        if self.now >= self._next_small:
            self._next_small += _SMALL_EVERY_SECONDS
            if self._small_times(self.now):
                asked = self.now
                self._later(
                    1.5 * _USER_ROUND_TRIP, lambda: self._arrive("small", _SMALL_BYTES, asked)
                )

    def _crawl(self) -> None:
        rate = min(self.grant, self._wanted)
        self._tokens = min(self._tokens + rate * STEP_SECONDS, max(0.02 * rate, 2 * _SEGMENT))
        trips = list(self.trips.values())
        while self._tokens >= 0:
            lump = float(self._chance.uniform(2_000, _LARGEST_LUMP))
            self._tokens -= lump
            trip = trips[int(self._chance.integers(len(trips)))]
            self._later(trip, partial(self._arrive, "crawl", lump, 0.0))

    def _probe(self) -> None:
        server, trip = next(iter(self.trips.items()))
        self.trips[server] = self.trips.pop(server)
        if self.waiting + 100 > self._queue_bytes or not self.probes_answered:
            return
        noise = float(self._chance.exponential(0.001))
        answer = trip + self.queueing + noise
        if self._yielding is not None:
            delay = self._yielding.delay
            self._later(answer, lambda: delay.add(server, answer, self.now))

    def _arrive(self, whose: str, amount: float, asked: float) -> None:
        room = self._queue_bytes - self.waiting
        taken = min(amount, max(room, 0.0))
        if taken:
            self._queue.append((whose, taken, asked))
            self.waiting += taken
        lost = amount - taken
        if lost <= 0:
            return
        if whose == "bulk":
            bulk, trip = self._bulk, _USER_ROUND_TRIP + self.queueing
            if bulk is not None:
                self._later(trip, lambda: bulk.lose(lost, self.now, trip))
        else:
            self._later(_SENT_AGAIN_SECONDS, lambda: self._arrive(whose, lost, asked))

    def _serve(self, room: float) -> None:
        self.outcome.line_bytes += room
        while room > 0 and self._queue:
            whose, amount, asked = self._queue.popleft()
            served = min(amount, room)
            room -= served
            self.waiting -= served
            if served < amount:
                self._queue.appendleft((whose, amount - served, asked))
            self._deliver(whose, served, asked, whole=served == amount)

    def _deliver(self, whose: str, amount: float, asked: float, *, whole: bool) -> None:
        if whose == "crawl":
            self.outcome.crawled_bytes += amount
            self._crawled.append((self.now, amount))
            while self._crawled[0][0] < self.now - 1.0:
                self._crawled.popleft()
        elif whose == "bulk":
            self.outcome.bulk_bytes += amount
            bulk = self._bulk
            if bulk is not None:
                self._later(_USER_ROUND_TRIP, lambda: bulk.acknowledge(amount, self.now))
        elif whole:
            self.outcome.small_seconds.append(self.now - asked + 0.5 * _USER_ROUND_TRIP)

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (self.now + seconds, self._count, what))
