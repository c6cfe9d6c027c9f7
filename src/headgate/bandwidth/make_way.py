"""Making way: the crawler's total rate, from the queueing delay on its line.

Less than best effort, as LEDBAT (RFC 6817) is for a sender and rLEDBAT (RFC 9840) for a receiver,
but on the rate of a whole crawl, which arrives as evenly as it is granted, instead of one
connection's window. ``share`` is what the line is thought to have for us, and the rate follows it
and the delay of the moment:

    rate = share × (1 + (target − queueing) / settling time)

FOLLOW The queue sums up what comes in too fast, so share and queue swing; they do not where share
drifts at (target − queueing) / (4 × settling²). Far below what the line gave us when it was last
full, share grows exponentially instead; beyond that, with the queue empty, as CUBIC does (RFC
9438): slowly at first, then ever faster. Drifting is for a line that is steady. A queue beyond
three targets says that the line has become slower, and what comes meanwhile is what it has: the
rate falls below that at once, the deeper the longer the queue, until it is gone. DRAIN The queue is
long, or will not fall. If it is ours, half of the rate lets it fall as fast as half of the line
carries, and we go on a little below what the line gave. STEP BACK It does not fall, or the line
gives us less than it used to: others use it. Share shrinks to the floor within a second and stays
there until the queue is gone for a while. If it has to step back again soon, it waits twice as long
the next time.

A standing queue hides the distance; when it has not been seen for long, the rate dips until the
queue is empty. If no server answers, the line is dead or full, and share shrinks. Pure: the caller
measures and acts.
"""

from __future__ import annotations

import math
from collections import deque
from enum import Enum, auto

import msgspec

from headgate.bandwidth.queueing_delay import LineDelay, StandingQueue, StillWatch

__all__ = ["DelayController", "MakingWay"]

TARGET_SECONDS = 0.004
"""Tolerated queueing delay. RFC 6817 allows 100 ms; we want the latency of an idle line."""
LONG_SECONDS = 0.03
STUBBORN_ABOVE_SECONDS = 0.009
STUBBORN_SECONDS = 1.0
"""After so long above the target, the queue counts as one that does not fall."""
EMPTY_SECONDS = 0.002

SETTLING_SECONDS = 0.6
DRIFT_SECONDS_SQUARED = 4 * SETTLING_SECONDS**2
LEAST_FACTOR, GREATEST_FACTOR = 0.3, 1.05
KNEE = 3.0
"""Queue in targets, beyond which the line counts as slower."""
STEEP_SECONDS = 0.06
"""So much queue beyond the knee would reduce the rate to zero, but for the least factor."""

FIRST_RATE = 100_000.0
GROW_SECONDS = 0.5
NEARLY_FULL = 0.95
CUBIC = 0.008
OWN_RATE_FACTOR = 2.0
"""Share does not grow beyond so many times the actual rate: whether the line has more is
unknown."""

DRAIN_PART = 0.5
DRAIN_GRACE_SECONDS = 0.4
"""Time until a lower rate takes effect: a round trip, the queue and the probes."""
EXPECTED_FALL = 0.6 * (1 - DRAIN_PART)
AGAIN_SECONDS = 1.0
LESS_THAN_BEFORE = 0.75

SHRINK_SECONDS = 0.15
BLIND_SHRINK_SECONDS = 1.0
SHORTEST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 8.0
SOON_SECONDS = 10.0
FLOOR_PART = 0.01

DIP_EVERY_SECONDS = 45.0
DIP_SECONDS = 0.5
DIP_PART = 0.5
LONGEST_STEP_SECONDS = 0.25


class Phase(Enum):
    FOLLOW = auto()
    DRAIN = auto()
    STEP_BACK = auto()


class DelayController:
    """Answers go to ``delay``; `step` is called about twenty times a second.

    Invariant: floor <= rate <= ceiling, whatever was heard.
    """

    def __init__(self, ceiling: float, floor: float | None = None) -> None:
        self.delay = LineDelay()
        self._ceiling = ceiling
        self.phase = Phase.FOLLOW
        self._floor = floor
        self._share = self._rate = FIRST_RATE
        self._full = FullLine(FIRST_RATE)
        self._now = -math.inf
        self._since = -math.inf
        """Start of the current phase."""
        self._standing = StandingQueue()
        self._busy_since = self._idle_since = math.inf
        self._empty_at = self._drained_at = self._returned_at = -math.inf
        self._dip_until = -math.inf
        self._peak = 0.0
        self._quiet_since = math.inf
        self._wait = SHORTEST_WAIT_SECONDS
        self._still = StillWatch()

    @property
    def floor(self) -> float:
        """Least rate, whatever others do."""
        if self._floor is not None:
            return min(self._floor, self._ceiling)
        return FLOOR_PART * min(self._ceiling, self._full.most)

    @property
    def rate(self) -> float:
        """Bytes per second for all together."""
        return self._bounded(self._rate)

    @property
    def making_way(self) -> bool:
        return self.phase is Phase.STEP_BACK

    @property
    def given_up(self) -> float:
        """Bytes per second that we leave to others."""
        if not self.making_way:
            return 0.0
        return max(min(self._full.rate, self._full.most, self._ceiling) - self.rate, 0.0)

    def set_ceiling(self, rate: float) -> None:
        """The budget, which holds however free the line is."""
        self._ceiling = rate

    def step(self, now: float, came: float) -> float:
        """The rate from now on; ``came``: our own rate over the last half second or so."""
        seconds = min(max(now - self._now, 0.0), LONGEST_STEP_SECONDS)
        if self._now == -math.inf:
            seconds, self._empty_at = 0.0, now
        self._now = max(now, self._now)
        self._full.carried(came)
        queueing = self.delay.queueing(now)
        if queueing is None:
            self._rate = self._share = self._bounded(
                self._share * math.exp(-seconds / BLIND_SHRINK_SECONDS)
            )
            return self.rate
        if queueing <= EMPTY_SECONDS:
            self._empty_at = now
        match self.phase:
            case Phase.FOLLOW:
                self._follow(queueing, came, seconds)
            case Phase.DRAIN:
                self._drain(queueing)
            case Phase.STEP_BACK:
                self._step_back(queueing, seconds)
        self._share = self._bounded(self._share)
        self._rate = self._answer(queueing, came) * (DIP_PART if self._dipping else 1.0)
        return self.rate

    def _answer(self, queueing: float, came: float) -> float:
        """Update the share by the current delay."""
        beyond = queueing - KNEE * self._target
        if beyond <= 0:
            return self._share * _factor(self._target - queueing)
        steep = _factor(self._target - queueing) - beyond / STEEP_SECONDS
        return min(self._share, came) * max(steep, LEAST_FACTOR)

    def _follow(self, queueing: float, came: float, seconds: float) -> None:
        standing = self._standing.with_next(queueing, self._now)
        busy = standing > STUBBORN_ABOVE_SECONDS * self._full.patience
        self._busy_since = min(self._busy_since, self._now) if busy else math.inf
        idle = standing < self._target / 2 and not self._dipping
        self._idle_since = min(self._idle_since, self._now) if idle else math.inf
        long = queueing > LONG_SECONDS * self._full.patience
        if long or self._now - self._busy_since > STUBBORN_SECONDS:
            self._leave_full(queueing, came)
        elif self._dipping:
            if queueing <= EMPTY_SECONDS:
                self._dip_until = self._now
        else:
            if self._now - self._empty_at > DIP_EVERY_SECONDS:
                self._dip_until = self._now + DIP_SECONDS
                self._empty_at = self._now
            if standing > self._target:
                self._full.drift(came, seconds)
            self._share = self._drifted(standing, came, seconds)

    def _drifted(self, standing: float, came: float, seconds: float) -> float:
        error = self._target - standing
        pace = error / DRIFT_SECONDS_SQUARED
        if error > 0 and self._share < NEARLY_FULL * self._full.rate:
            pace = error / self._target / GROW_SECONDS
        elif self._idle_since < math.inf:
            cubic = 3 * CUBIC * (self._now - self._idle_since) ** 2
            pace = max(pace, min(cubic, 1 / GROW_SECONDS))
        share = self._share * math.exp(pace * seconds)
        most = max(OWN_RATE_FACTOR * came, FIRST_RATE, self._share)
        return min(share, most)

    def _leave_full(self, queueing: float, came: float) -> None:
        """The line is full: find out whether by us. What others take still counts as capacity,
        unless it is still missing a while later: then the line itself has become slower."""
        before = min(self._full.rate, self._share)
        others = self._full.known and came < LESS_THAN_BEFORE * before
        if not others or self._soon:
            self._full.reach(min(self._share, came))
        self._busy_since = self._idle_since = math.inf
        if others:
            self._begin_stepping_back()
            self._share = self.floor
        elif self._now - self._drained_at < AGAIN_SECONDS:
            self._begin_stepping_back()
        else:
            self._enter(Phase.DRAIN)
            self._share = DRAIN_PART * self._full.rate
            self._peak = queueing

    def _drain(self, queueing: float) -> None:
        if queueing <= self._target:
            self._enter(Phase.FOLLOW)
            self._drained_at = self._now
            self._share = NEARLY_FULL * self._full.rate
            return
        falling_for = self._now - self._since - DRAIN_GRACE_SECONDS
        if falling_for < 0:
            self._peak = max(self._peak, queueing)
        elif queueing > max(self._peak - EXPECTED_FALL * falling_for, 0.0):
            self._begin_stepping_back()

    def _begin_stepping_back(self) -> None:
        longer = min(2 * self._wait, LONGEST_WAIT_SECONDS)
        self._wait = longer if self._soon else SHORTEST_WAIT_SECONDS
        self._quiet_since = math.inf
        self._still.restart()
        self._enter(Phase.STEP_BACK)

    def _step_back(self, queueing: float, seconds: float) -> None:
        if queueing > self._target:
            self._share *= math.exp(-seconds / SHRINK_SECONDS)
            self._quiet_since = math.inf
            if self._still.is_the_way(queueing, self._now):
                self.delay.way_changed()
            return
        self._quiet_since = min(self._quiet_since, self._now)
        if self._now - self._quiet_since >= self._wait:
            self._enter(Phase.FOLLOW)
            self._returned_at = self._now

    @property
    def _target(self) -> float:
        return TARGET_SECONDS * self._full.patience

    @property
    def _soon(self) -> bool:
        return self._now - self._returned_at < SOON_SECONDS

    @property
    def _dipping(self) -> bool:
        return self._now < self._dip_until

    def _enter(self, phase: Phase) -> None:
        self.phase, self._since = phase, self._now
        self._dip_until = -math.inf
        self._standing.clear()

    def _bounded(self, rate: float) -> float:
        return min(max(rate, self.floor), self._ceiling)

    def check(self) -> None:
        self.delay.check()
        assert self.floor <= self.rate <= self._ceiling
        assert self.floor <= self._bounded(self._share) <= self._ceiling
        assert SHORTEST_WAIT_SECONDS <= self._wait <= LONGEST_WAIT_SECONDS


def _factor(error: float) -> float:
    """
    >>> _factor(0.0), _factor(0.004) > 1, _factor(-9.0)
    (1.0, True, 0.3)
    """
    return min(max(1 + error / SETTLING_SECONDS, LEAST_FACTOR), GREATEST_FACTOR)


FAST_RATE = 1_000_000.0
"""On slower lines, longer delays are tolerated, by the square root of how much slower they are: a
burst of ours takes longer in full proportion, but people's patience does not grow as much."""
SLOWEST_PART = 0.3
"""As a part of the highest rate ever: if a full line gives us less, others use it."""


class FullLine(msgspec.Struct):
    """What the line is known to carry for us, and how much delay is tolerated on it.

    Rates in bytes per second.
    """

    most: float
    """Highest rate ever seen."""
    rate: float = math.inf
    """Our rate when the line was last full; infinite: it never was."""

    def carried(self, rate: float) -> None:
        """So much came over the line, full or not."""
        self.most = max(self.most, rate)

    def reach(self, rate: float) -> None:
        """The line is full at this rate of ours."""
        self.rate = rate

    def drift(self, rate: float, seconds: float) -> None:
        """The line has been full at this rate for so long."""
        if self.known:
            self.rate += (rate - self.rate) * seconds

    @property
    def known(self) -> bool:
        return math.isfinite(self.rate)

    @property
    def patience(self) -> float:
        """Factor on tolerated delays: on a slow line, a few packets take many milliseconds."""
        if not self.known:
            return 1.0
        line = max(min(self.rate, self.most), SLOWEST_PART * self.most)
        return math.sqrt(max(FAST_RATE / line, 1.0))


_OWN_RATE_SECONDS = 0.5
_PLAN_FOLLOWS_SECONDS = 4.0
_WORTH_PLANNING = 1.1
_HELD_BACK = 0.9


class MakingWay:
    """Making way: a crawl's total rate while others use the line, and the rate that the plan uses.

        the line's delay ──► DelayController ──rate, 20 times a second──► the fleet's total
                                        └──rate, smoothed──────────► the manager's plan

    The plan follows at once when the line has more, and over some seconds when it has less;
    meanwhile the total holds. Pure: the caller measures delay and bytes, and acts.

    Stepped at even intervals, by a clock that stops while the machine is suspended.
    """

    def __init__(self, now: float, floor: float | None = None) -> None:
        self.given_bytes = self.given_seconds = 0.0
        """What was left to others so far: bytes, and the time in which we yielded."""
        self._controller = DelayController(math.inf, floor)
        self._stepped = now
        self._carried: deque[tuple[float, float]] = deque(((now, 0.0),))
        self._planned = 0.0
        self._told: tuple[float, bool] | None = None

    @property
    def making_way(self) -> bool:
        return self._controller.making_way

    @property
    def rate(self) -> float:
        """The total rate now."""
        return self._controller.rate

    def heard(self, address: str, trip_seconds: float, at: float) -> None:
        """A probe came back."""
        self._controller.delay.add(address, trip_seconds, at)

    def set_ceiling(self, rate: float) -> None:
        """The budget, which holds however free the line is."""
        self._controller.set_ceiling(rate)

    def step(self, now: float, carried: int) -> tuple[float, bool] | None:
        """Compute the rate, from the bytes ``carried`` for us so far. Returns news for the plan:
        what the line has for us, and whether we are held below it at the moment; None: no change
        worth planning for."""
        seconds, self._stepped = now - self._stepped, now
        rate = self._controller.step(now, self._own_rate(now, carried))
        if self._controller.making_way:
            self.given_seconds += seconds
            self.given_bytes += self._controller.given_up * seconds
        return self._news(rate, seconds)

    def _own_rate(self, now: float, carried: int) -> float:
        self._carried.append((now, carried))
        while len(self._carried) > 2 and self._carried[1][0] <= now - _OWN_RATE_SECONDS:
            self._carried.popleft()
        at, then = self._carried[0]
        return max((carried - then) / (now - at), 0.0) if now > at else 0.0

    def _news(self, rate: float, seconds: float) -> tuple[float, bool] | None:
        fading = self._planned * math.exp(-seconds / _PLAN_FOLLOWS_SECONDS)
        self._planned = max(rate, fading)
        held_back = rate < _HELD_BACK * self._planned
        told_rate, told_held_back = self._told or (0.0, not held_back)
        near = told_rate / _WORTH_PLANNING < self._planned < told_rate * _WORTH_PLANNING
        if near and held_back == told_held_back:
            return None
        self._told = (self._planned, held_back)
        return self._told
